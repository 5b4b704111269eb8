/** The part of the package that is used; it ships without types. */
declare module 'grpc-js-health-check' {
  import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

  export interface HealthCheckRequest {
    readonly service: string;
  }
  export interface HealthCheckResponse {
    readonly status: string;
  }
  export const servingStatus: {
    readonly UNKNOWN: 'UNKNOWN';
    readonly SERVING: 'SERVING';
    readonly NOT_SERVING: 'NOT_SERVING';
    readonly SERVICE_UNKNOWN: 'SERVICE_UNKNOWN';
  };
  export const service: ServiceDefinition & {
    readonly Watch: MethodDefinition<HealthCheckRequest, HealthCheckResponse>;
  };
}

/** The public interface of the package. */
export type { TokenSource } from './bearer-token.js';
export type { RouteClientOptions, TlsFiles } from './channel.js';
export type { CallOptions } from './call-options.js';
export type { ErrorDetail } from './error-details.js';
export { type FieldViolation, RouteClientError, type StatusName } from './route-client-error.js';
export { type CreateOptions, createRouteClient, type RouteClient } from './route-client.js';
export type { CheckedRoute, Route, RouteDefinition } from './route.js';

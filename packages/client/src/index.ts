/** The public interface of the package. */
export type { TokenSource } from './bearer-token.js';
export type { RouteClientOptions, TlsFiles } from './channel.js';
export type { CallOptions, CreateOptions } from './call-options.js';
export type { ErrorDetail } from './error-details.js';
export type { FieldViolation, RouteClientErrorInit, StatusName } from './route-client-error.js';
export { RouteClientError } from './route-client-error.js';
export { createRouteClient, type RouteClient } from './route-client.js';
export type { CheckedRoute, Route, RouteDefinition, StoredCreate } from './route.js';

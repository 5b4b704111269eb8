/** The description of a metric. */
export interface MetricDescription {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
  /** The upper bounds of the buckets of a histogram. */
  readonly buckets?: readonly number[];
}

/** In seconds: from a response from memory to the default deadline. */
const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
/** Up to the most calls of one statement. */
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64];

const METHOD = ['grpc_type', 'grpc_service', 'grpc_method'];

/**
 * Every metric of the service, in addition to prom-client's defaults for a Node process. Names and labels of calls
 * follow go-grpc-middleware, those of requests follow OpenTelemetry's semantic conventions for HTTP.
 */
export const METRICS = {
  callsStarted: {
    name: 'grpc_server_started_total',
    type: 'counter',
    labels: METHOD,
    help: 'Calls that have come over gRPC.',
  },
  callsHandled: {
    name: 'grpc_server_handled_total',
    type: 'counter',
    labels: [...METHOD, 'grpc_code'],
    help: 'Calls over gRPC that have ended, whatever their code.',
  },
  callSeconds: {
    name: 'grpc_server_handling_seconds',
    type: 'histogram',
    labels: METHOD,
    help: 'Time from the head of a call over gRPC to its answer, in seconds.',
    buckets: SECONDS,
  },
  activeCalls: {
    name: 'grpc_server_active_calls',
    type: 'gauge',
    labels: METHOD,
    help: 'Calls over gRPC that are under way.',
  },
  requestSeconds: {
    name: 'http_server_request_duration_seconds',
    type: 'histogram',
    labels: ['http_request_method', 'http_route', 'http_response_status_code'],
    help: 'Time from the head of a REST request to its answer, in seconds.',
    buckets: SECONDS,
  },
  activeRequests: {
    name: 'http_server_active_requests',
    type: 'gauge',
    labels: [],
    help: 'REST requests that are under way.',
  },
  refusals: {
    name: 'route_registry_refusals_total',
    type: 'counter',
    labels: ['face', 'reason'],
    help: 'Calls and requests that were refused or failed, by the reason in the error.',
  },
  connections: {
    name: 'route_registry_database_connections',
    type: 'gauge',
    labels: ['state'],
    help: 'Connections to the database, used or free.',
  },
  waitingForConnection: {
    name: 'route_registry_database_connection_waiters',
    type: 'gauge',
    labels: [],
    help: 'Statements that wait for a free connection to the database.',
  },
  batchSize: {
    name: 'route_registry_statement_batch_size',
    type: 'histogram',
    labels: ['operation'],
    help: 'Calls that one statement serves.',
    buckets: BATCH_SIZES,
  },
  statementSeconds: {
    name: 'route_registry_statement_duration_seconds',
    type: 'histogram',
    labels: ['operation'],
    help: 'Time from sending a statement to its end, in seconds.',
    buckets: SECONDS,
  },
  statementFailures: {
    name: 'route_registry_statement_failures_total',
    type: 'counter',
    labels: ['operation', 'code'],
    help: 'Statements that failed, each attempt, by the code of the database, its driver or a socket.',
  },
  statementRetries: {
    name: 'route_registry_statement_retries_total',
    type: 'counter',
    labels: ['operation'],
    help: 'Statements that were sent again, such as after a deadlock or a failover.',
  },
  cacheHits: {
    name: 'route_registry_cache_hits_total',
    type: 'counter',
    labels: ['cache'],
    help: 'Look-ups that a cache has answered.',
  },
  cacheMisses: {
    name: 'route_registry_cache_misses_total',
    type: 'counter',
    labels: ['cache'],
    help: 'Look-ups that a cache could not answer.',
  },
  cacheEntries: {
    name: 'route_registry_cache_entries',
    type: 'gauge',
    labels: ['cache'],
    help: 'Entries that a cache can answer from now.',
  },
  cacheBytes: {
    name: 'route_registry_cache_bytes',
    type: 'gauge',
    labels: ['cache'],
    help: 'Memory that a cache has filled, in bytes, for caches that know.',
  },
  logLinesLeftOut: {
    name: 'route_registry_log_lines_left_out_total',
    type: 'counter',
    labels: ['kind'],
    help: 'Lines about refusals and causes that the log left out, since there were too many in a second.',
  },
  ready: {
    name: 'route_registry_ready',
    type: 'gauge',
    labels: [],
    help: '1 while /readyz answers 200, else 0.',
  },
  checkOk: {
    name: 'route_registry_check_ok',
    type: 'gauge',
    labels: ['check'],
    help: '1 while a check of /readyz passes, else 0.',
  },
  draining: {
    name: 'route_registry_draining',
    type: 'gauge',
    labels: [],
    help: '1 from the signal to stop on, else 0.',
  },
  schemaVersion: {
    name: 'route_registry_schema_version',
    type: 'gauge',
    labels: [],
    help: 'The migrations that the schema of the database has, as many as this version needs.',
  },
  buildInfo: {
    name: 'route_registry_build_info',
    type: 'gauge',
    labels: ['version', 'role'],
    help: 'Always 1; the labels say what runs.',
  },
} as const satisfies Record<string, MetricDescription>;

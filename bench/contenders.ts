import type { Operation, Wire } from './load/load.js';
import type { TargetName } from './testbed.js';

/** The four kinds of requests that are measured. A get requests any of the stored routes. */
export const KINDS = [
  { name: 'gRPC get', wire: 'grpc', operation: 'get' },
  { name: 'REST get', wire: 'http', operation: 'get' },
  { name: 'gRPC create', wire: 'grpc', operation: 'create' },
  { name: 'REST create', wire: 'http', operation: 'create' },
] as const satisfies readonly { name: string; wire: Wire; operation: Operation }[];

export type Kind = (typeof KINDS)[number];

/** An implementation that serves some of the four kinds of requests: a row of the first table. */
interface Contender {
  /** Its title in the table, as Markdown. */
  readonly title: string;
  /** Its name in the chart and in the names of scenarios. */
  readonly name: string;
  /** Overrides `name` for some kinds. */
  readonly names?: Readonly<Partial<Record<Kind['name'], string>>>;
  /** `limit`: a baseline that does less than the service has to do. */
  readonly role: 'own' | 'peer' | 'limit';
  /** The server that handles each kind. */
  readonly targets: Readonly<Partial<Record<Kind['name'], TargetName>>>;
}

/** The rows of the first table. The separate gateway is next to the Go peers, whose gateway also calls over gRPC. */
export const CONTENDERS: readonly Contender[] = [
  {
    title: '**Route Registry**, one process',
    name: 'Route Registry',
    role: 'own',
    targets: both('service', 'service'),
  },
  {
    title: '**Route Registry**, gateway in a separate process',
    name: 'Route Registry, separate gateway',
    role: 'own',
    targets: { 'REST get': 'gateway', 'REST create': 'gateway' },
  },
  {
    title: 'Go: grpc-go and grpc-gateway, with a cache',
    name: 'Go, with a cache',
    role: 'peer',
    targets: both('go with a cache', 'go with a cache'),
  },
  {
    title: 'Go: the same, one query per call',
    name: 'Go',
    role: 'peer',
    targets: both('go', 'go'),
  },
  {
    title: 'Fastify, jsonwebtoken and mysql2',
    name: 'Fastify',
    role: 'peer',
    targets: { 'REST get': 'fastify', 'REST create': 'fastify' },
  },
  {
    title: 'A tutorial: Express, grpc-js and Knex',
    name: 'Tutorial',
    role: 'peer',
    targets: both('tutorial', 'tutorial gateway'),
  },
  {
    title: '*Limits: a bare grpc-js echo, a bare Express app*',
    name: 'bare server',
    names: { 'gRPC get': 'bare grpc-js echo', 'REST get': 'bare Express app' },
    role: 'limit',
    targets: { 'gRPC get': 'echo', 'REST get': 'app' },
  },
  {
    title: '*Limit of a separate gateway: a bare hop*',
    name: 'bare hop',
    role: 'limit',
    targets: { 'REST get': 'hop' },
  },
];

/** The service as `npm start` starts it, which the text below the table reports. */
export const LOGGING: Contender = {
  title: '',
  name: 'Route Registry, with log lines',
  role: 'own',
  targets: both('logging', 'logging'),
};

/** The name of a contender for this kind of request. */
export function nameFor(kind: Kind, { name, names }: Contender): string {
  return names?.[kind.name] ?? name;
}

/** The name of the scenario that sends this kind of request to a contender. */
export function scenarioName(kind: Kind, contender: Contender): string {
  return `${kind.name}: ${nameFor(kind, contender)}`;
}

function both(grpc: TargetName, http: TargetName): Record<Kind['name'], TargetName> {
  return { 'gRPC get': grpc, 'gRPC create': grpc, 'REST get': http, 'REST create': http };
}

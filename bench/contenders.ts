import type { Operation, Wire } from './load/load.js';
import type { TargetName } from './testbed.js';

/** The four kinds of requests that everybody is asked: of gets, any of the stored routes. */
export const KINDS = [
  { name: 'gRPC get', wire: 'grpc', operation: 'get' },
  { name: 'REST get', wire: 'http', operation: 'get' },
  { name: 'gRPC create', wire: 'grpc', operation: 'create' },
  { name: 'REST create', wire: 'http', operation: 'create' },
] as const satisfies readonly { name: string; wire: Wire; operation: Operation }[];

export type Kind = (typeof KINDS)[number];

/** Somebody who answers some of the four kinds, and so a row of the first table. */
interface Contender {
  /** In the table, as Markdown. */
  readonly title: string;
  /** In the chart and the names of scenarios. */
  readonly name: string;
  /** The same where it differs from kind to kind. */
  readonly names?: Readonly<Partial<Record<Kind['name'], string>>>;
  /** `limit`: it does less than the service has to do. */
  readonly role: 'own' | 'peer' | 'limit';
  /** The server that answers each kind. */
  readonly targets: Readonly<Partial<Record<Kind['name'], TargetName>>>;
}

/** The rows of the first table. The gateway apart stands between the service and the two whose shape it has. */
export const CONTENDERS: readonly Contender[] = [
  {
    title: '**Route Registry**, one process',
    name: 'Route Registry',
    role: 'own',
    targets: both('service', 'service'),
  },
  {
    title: '**Route Registry**, the gateway apart',
    name: 'Route Registry, gateway apart',
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
    title: 'Go: the same, a query a call',
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
    title: '*Limit of a gateway apart: a bare hop*',
    name: 'bare hop',
    role: 'limit',
    targets: { 'REST get': 'hop' },
  },
];

/** The service as `npm start` starts it, which the text below the table names. */
export const LOGGING: Contender = {
  title: '',
  name: 'Route Registry, with log lines',
  role: 'own',
  targets: both('logging', 'logging'),
};

/** What a contender is called where it answers this kind. */
export function nameFor(kind: Kind, { name, names }: Contender): string {
  return names?.[kind.name] ?? name;
}

/** The name of the scenario in which a contender is asked one kind. */
export function scenarioName(kind: Kind, contender: Contender): string {
  return `${kind.name}: ${nameFor(kind, contender)}`;
}

function both(grpc: TargetName, http: TargetName): Record<Kind['name'], TargetName> {
  return { 'gRPC get': grpc, 'gRPC create': grpc, 'REST get': http, 'REST create': http };
}

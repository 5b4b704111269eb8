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

/** An implementation that serves some of the four kinds of requests: a row of the first two tables. */
export interface Contender {
  /** Its title in the table, as Markdown. */
  readonly title: string;
  /** Its name in the chart and in the names of scenarios. */
  readonly name: string;
  /**
   * `bare`: a server that answers without a token, a database or a check, and does less than any service has to. The
   * table of rates leaves it out.
   */
  readonly role: 'own' | 'peer' | 'bare';
  /** Whether its gets come from memory once they have been read; else each is a query, or a part of one. */
  readonly cached?: boolean;
  /** The server that handles each kind. */
  readonly targets: Readonly<Partial<Record<Kind['name'], TargetName>>>;
  /** What its creates send; default: creates without a key. Such a row has no bar in the chart. */
  readonly creates?: Operation;
}

/** The service in one process, which the others are compared with. */
export const OWN: Contender = {
  title: '**Route Registry**, cached',
  name: 'Route Registry',
  role: 'own',
  cached: true,
  targets: { ...gets('service', 'service'), ...creates('service', 'service') },
};

/** The service in two processes. */
export const APART: Contender = {
  title: '**Route Registry**, separate gateway, cached',
  name: 'separate gateway',
  role: 'own',
  cached: true,
  targets: { 'REST get': 'gateway', 'REST create': 'gateway' },
};

/** What the documentation of grpc-js and Express leads to: two processes, too. */
export const TUTORIAL: Contender = {
  title: 'Tutorial, not cached',
  name: 'Tutorial',
  role: 'peer',
  targets: { ...gets('tutorial', 'tutorial gateway'), ...creates('tutorial', 'tutorial gateway') },
};

/** The rows of the first two tables: with a cache, without one, and the bare servers. */
export const CONTENDERS: readonly Contender[] = [
  OWN,
  {
    title: '– each create with a key',
    name: 'Route Registry, with keys',
    role: 'own',
    targets: creates('service', 'service'),
    creates: 'create with key',
  },
  {
    title: '– 1 % of the creates repeat one',
    name: 'Route Registry, 1 % repeats',
    role: 'own',
    targets: creates('service', 'service'),
    creates: 'create, 1 % repeats',
  },
  APART,
  {
    title: '– *its hop alone*',
    name: 'bare hop',
    role: 'bare',
    targets: { 'REST get': 'hop' },
  },
  {
    title: 'Go, cached',
    name: 'Go',
    role: 'peer',
    cached: true,
    targets: gets('go with a cache', 'go with a cache'),
  },
  {
    title: '**Route Registry**, not cached (`ROUTE_CACHE_MIB=0`)',
    name: 'Route Registry',
    role: 'own',
    targets: gets('uncached', 'uncached'),
  },
  {
    title: 'Go, not cached',
    name: 'Go',
    role: 'peer',
    targets: { ...gets('go', 'go'), ...creates('go', 'go') },
  },
  {
    title: 'Fastify, not cached',
    name: 'Fastify',
    role: 'peer',
    targets: { 'REST get': 'fastify', 'REST create': 'fastify' },
  },
  TUTORIAL,
  {
    title: '*Bare grpc-js echo*',
    name: 'bare grpc-js echo',
    role: 'bare',
    targets: { 'gRPC get': 'echo' },
  },
  {
    title: '*Bare `node:http`*',
    name: 'bare node:http',
    role: 'bare',
    targets: { 'REST get': 'node:http' },
  },
  {
    title: '*Bare Express app*',
    name: 'bare Express app',
    role: 'bare',
    targets: { 'REST get': 'express' },
  },
];

/** The name of the scenario that sends this kind of request to a contender. */
export function scenarioName(kind: Kind, { name, cached = false }: Contender): string {
  return `${kind.name}: ${name}${cached && kind.operation === 'get' ? ', cached' : ''}`;
}

function gets(grpc: TargetName, http: TargetName): Contender['targets'] {
  return { 'gRPC get': grpc, 'REST get': http };
}

function creates(grpc: TargetName, http: TargetName): Contender['targets'] {
  return { 'gRPC create': grpc, 'REST create': http };
}

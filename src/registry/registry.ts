import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import { Failure, type Violation } from './failure.js';
import type { RouteStore, Signal } from './route-store.js';
import { readDefinition, type Route, type RouteDefinition, sameDefinition } from './route.js';
import { countCodePoints, quote } from './text.js';

/**
 * The longest id that a client chooses, for a create (`request_id`) or for a call (`x-request-id`), in characters: long
 * enough for a UUID with a prefix, short enough for an index.
 */
export const CLIENT_ID_MAX = 128;
/** The syntax of such an id: visible ASCII characters. */
export const CLIENT_ID_SYNTAX = /^[\x21-\x7e]+$/;

/** The most fields named in a message; the violations list them all. */
const MAX_NAMED_FIELDS = 8;

/** An idempotency key, and the name under which the request has it: the field of a violation. */
interface IdempotencyKey {
  readonly field: string;
  readonly value: string;
}

/** The route to create, and its caller. */
export interface CreateCommand {
  readonly definition: RouteDefinition;
  /** The token's `sub`. */
  readonly caller: string;
  /**
   * The caller's idempotency key, the field `request_id` (AIP-155), from every place in the request that has a key; all
   * must be equal. If empty, each call creates a route.
   */
  readonly idempotencyKeys: readonly IdempotencyKey[];
}

/** The result of a create. */
interface Created {
  readonly route: Route;
  /** Whether an earlier request with the same idempotency key stored the route. */
  readonly replayed: boolean;
}

interface RegistryOptions {
  readonly store: RouteStore;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Generates a UUIDv7 with this time, in milliseconds since the epoch. */
  readonly newId: (nowMs: number) => string;
}

/** The registry of routes: create and get, independent of transport and database. */
export class Registry {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /**
   * Stores a new route, or returns the route that the same caller created with the same idempotency key.
   *
   * @throws Failure `ROUTE_INVALID` with every violation, up to where the reading of the path stops, `ROUTE_EXISTS`,
   *   `REQUEST_ID_REUSED`, `STORE_UNAVAILABLE`
   */
  async create(command: CreateCommand, signal?: Signal): Promise<Created> {
    const { store, now, newId } = this.#options;
    const { definition, shape, caller, idempotencyKey } = validate(command);
    const nowMs = now();
    const route: Route = { id: newId(nowMs), ...definition, createdAt: new Date(nowMs) };
    const stored = await store.insert({ route, caller, idempotencyKey, shape }, signal);
    switch (stored.outcome) {
      case 'inserted':
        return { route, replayed: false };
      case 'repeated':
        requireSame(stored.route, definition);
        return { route: stored.route, replayed: true };
      case 'duplicate':
        throw routeExists(definition, stored.id);
    }
  }

  /**
   * Runs every check of `create` and stores nothing (AIP-163).
   *
   * @throws Failure as `create` would
   */
  async check(command: CreateCommand, signal?: Signal): Promise<RouteDefinition> {
    const { store } = this.#options;
    const { definition, shape, caller, idempotencyKey } = validate(command);
    const earlier =
      idempotencyKey === undefined
        ? undefined
        : await store.findByIdempotencyKey(caller, idempotencyKey, signal);
    if (earlier !== undefined) {
      requireSame(earlier, definition);
    } else {
      const first = await store.findDuplicate(shape, signal);
      if (first !== undefined) throw routeExists(definition, first);
    }
    return definition;
  }

  /**
   * The route with this identifier.
   *
   * @throws Failure `ROUTE_INVALID` for an empty identifier, `ROUTE_NOT_FOUND`, `STORE_UNAVAILABLE`
   */
  async get(id: string, signal?: Signal): Promise<Route> {
    if (id === '')
      throw routeInvalid({
        violations: [{ field: 'route_id', description: 'Must be the id of a route; got none.' }],
        complete: true,
      });
    const route = await this.#options.store.find(id, signal);
    if (route === undefined)
      throw new Failure('ROUTE_NOT_FOUND', `There is no route with the id ${quote(id)}.`);
    return route;
  }
}

/** A command without violations, and what its checks have found. */
interface ValidCommand {
  readonly definition: RouteDefinition;
  /** The text that duplicates share. */
  readonly shape: string;
  /** The token's `sub`. */
  readonly caller: string;
  /** Undefined for none. */
  readonly idempotencyKey: string | undefined;
}

/**
 * Checks a command. The definition is copied, so that nothing else that it may hold is stored.
 *
 * @throws Failure `ROUTE_INVALID`
 */
function validate(command: CreateCommand): ValidCommand {
  const { caller, idempotencyKeys } = command;
  const { method, path, middleware, handler } = command.definition;
  const definition: RouteDefinition = { method, path, middleware, handler };
  const { violations: ofDefinition, complete, shape } = readDefinition(definition);
  const violations = [
    ...ofDefinition.map((violation) => ({ ...violation, field: `route.${violation.field}` })),
    ...checkIdempotencyKeys(idempotencyKeys),
  ];
  if (violations.length > 0) throw routeInvalid({ violations, complete });
  return { definition, shape, caller, idempotencyKey: idempotencyKeys[0]?.value };
}

function checkIdempotencyKeys(idempotencyKeys: readonly IdempotencyKey[]): Violation[] {
  const violations = idempotencyKeys
    .filter(({ value }) => value.length > CLIENT_ID_MAX || !CLIENT_ID_SYNTAX.test(value))
    .map(({ field, value }) => {
      const length = countCodePoints(value);
      const got = length > CLIENT_ID_MAX ? length : quote(value);
      return { field, description: `Must be 1 to ${CLIENT_ID_MAX} visible ASCII characters; got ${got}.` };
    });
  const [first, ...others] = idempotencyKeys;
  if (first !== undefined && others.some(({ value }) => value !== first.value)) {
    violations.push({ field: first.field, description: 'Must be given once; got different values.' });
  }
  return violations;
}

/** What is wrong with a request: at least one violation. */
interface Violations {
  readonly violations: readonly Violation[];
  /** Whether these are all violations; if not, there may be more. */
  readonly complete: boolean;
}

function routeInvalid(found: Violations): Failure {
  return new Failure('ROUTE_INVALID', messageOf(found), { violations: found.violations });
}

/**
 * Tells the violation if there is only one; otherwise the fields, and the number of violations if they do not show it.
 */
function messageOf({ violations, complete }: Violations): string {
  const [first, ...others] = violations;
  if (first !== undefined && others.length === 0)
    return `The request is not valid. ${first.field}: ${first.description}`;

  const fields = [...new Set(violations.map(({ field }) => field))];
  const named = fields.slice(0, MAX_NAMED_FIELDS).join(', ');
  // Counted, since a response may have no room for all violations.
  const count = complete ? `${violations.length} violations` : `${violations.length} or more violations`;
  if (fields.length > MAX_NAMED_FIELDS)
    return `The request is not valid: ${count}, the first ones of ${named}.`;
  if (violations.length > fields.length) return `The request is not valid: ${count} of ${named}.`;
  return `The request is not valid: ${named}.`;
}

/** Refuses a repeated create of another route than the first. */
function requireSame(first: Route, definition: RouteDefinition): void {
  if (sameDefinition(first, definition)) return;
  throw new Failure('REQUEST_ID_REUSED', 'The idempotency key was already used for another route.', {
    metadata: { route_id: first.id },
  });
}

function routeExists({ method, path }: RouteDefinition, firstId: string): Failure {
  return new Failure(
    'ROUTE_EXISTS',
    `A route for ${method} ${quote(path)} already exists; parameter names make no difference.`,
    { metadata: { route_id: firstId } },
  );
}

const RANDOM_BYTES = 16;
/** Random bytes for many ids at a time: a system call for each id would cost more than the rest of its generation. */
const random = new Uint8Array(256 * RANDOM_BYTES);
/** How many of them are used up. */
let used = random.length;

/**
 * A new UUIDv7 (RFC 9562) in canonical lower case.
 *
 * @param nowMs its time, in milliseconds since the epoch
 */
export function newRouteId(nowMs: number): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  const begin = used;
  used += RANDOM_BYTES;
  return v7({ msecs: nowMs, random: random.subarray(begin, used) });
}

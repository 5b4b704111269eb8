import { DEADLINE_PASSED, Failure } from '../registry/failure.js';
import {
  CLASSES,
  type Consequences,
  type DriverError,
  type EngineErrors,
  type ErrorClass,
  fieldsOfError,
} from './error-classes.js';
import type { EngineName } from './engines/engine.js';
import { mysqlErrors } from './engines/mysql-errors.js';
import { sqliteErrors } from './engines/sqlite-errors.js';

const BY_ENGINE: Readonly<Record<EngineName, EngineErrors>> = { mysql: mysqlErrors, sqlite: sqliteErrors };

/** What the first engine says that knows the error. */
function firstOf<Fact>(read: (errors: EngineErrors) => Fact | undefined): Fact | undefined {
  for (const errors of Object.values(BY_ENGINE)) {
    const fact = read(errors);
    if (fact !== undefined) return fact;
  }
  return undefined;
}

/** The name of Knex's error for a connection or a response that did not arrive in time. */
const TIMEOUT = 'KnexTimeoutError';

/** What Node calls for a new connection. */
const CONNECTING: ReadonlySet<string | undefined> = new Set(['connect', 'getaddrinfo']);

/** Codes of Node's sockets, once a connection is open. */
const BY_CODE: ReadonlyMap<string | undefined, ErrorClass> = new Map([
  ['ECONNRESET', 'lost'],
  ['EPIPE', 'lost'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETUNREACH', 'unreachable'],
  ['ETIMEDOUT', 'unreachable'],
]);

/** What an error of the database means. */
export interface ErrorMeaning extends Consequences {
  readonly kind: ErrorClass;
}

/** Says what an error of the database, of its driver or of Knex means: the only place that judges it. */
export function classify(error: unknown): ErrorMeaning {
  const fields = fieldsOfError(error);
  const kind = firstOf(({ classOf }) => classOf(fields)) ?? classOfConnection(fields);
  return { kind, ...CLASSES[kind] };
}

/** The class of an error that no database has answered. */
function classOfConnection({ code, name, syscall, errors }: DriverError): ErrorClass {
  if (name === TIMEOUT) return 'unreachable';
  // Whatever kept a connection from being opened, be it on this machine; an address may stand for several.
  if (errors !== undefined || CONNECTING.has(syscall)) return 'unreachable';
  return BY_CODE.get(code) ?? 'other';
}

/** Whether the error comes from a database or its driver. */
export function isOfDatabase(error: unknown): boolean {
  const { code, errno } = fieldsOfError(error);
  return code !== undefined || errno !== undefined;
}

/**
 * An error of the database or its driver, without the statement and its values. It has no stack: a stack would show
 * only the driver, and there may be many errors per second.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  /** The code of the server, of Node's sockets or of SQLite: `ER_DUP_ENTRY`, `ECONNREFUSED` or `SQLITE_BUSY`. */
  readonly code: string | undefined;
  /** The server's error number, such as 1062, or a lower number of the operating system. */
  readonly errno: number | undefined;

  /**
   * An error without a code and a number means that there was no response in time.
   *
   * @param address `host:port`; undefined for the embedded database
   */
  constructor(error: Pick<DriverError, 'code' | 'errno' | 'sql'>, address?: string) {
    const { code, errno } = error;
    super(sentenceOf(error, address === undefined ? 'database' : `database at ${address}`));
    delete this.stack;
    this.code = code;
    this.errno = errno;
  }
}

function sentenceOf(error: DriverError, database: string): string {
  const answer = firstOf(({ answerIn }) => answerIn(error));
  if (answer !== undefined) return `The ${database} answered ${answer}.`;
  const fault = error.code ?? error.errno;
  if (fault === undefined) return `The ${database} did not answer in time.`;
  return `The connection to the ${database} failed: ${fault}.`;
}

/** The sessions of MySQL are not as the service needs them, so it does not use them. */
export class UnfitSession extends Error {
  override readonly name = 'UnfitSession';

  /** @param fault what is wrong with the sessions: continues "Sessions of the database …" */
  constructor(fault: string) {
    super(`Sessions of the database ${fault}.`);
    delete this.stack;
  }
}

/**
 * Translates a driver's error for the rest of the service and the log: to `STORE_UNAVAILABLE` if the database is
 * unavailable, to `DEADLINE_EXCEEDED` if the server stopped the statement at its time limit, and otherwise to a
 * `DatabaseError`. None of them holds the statement or its values, unlike the messages of Knex and the drivers. Returns
 * any other error unchanged.
 *
 * @param address `host:port` of the database; undefined for the embedded database
 */
export function translate(error: unknown, address?: string): unknown {
  if (error instanceof UnfitSession) return storeUnavailable(error);
  const { errno, code, sql, name } = fieldsOfError(error);
  const timedOut = name === TIMEOUT;
  if (!isOfDatabase(error) && !timedOut) return error;
  const bare = new DatabaseError(timedOut ? {} : { code, errno, sql }, address);
  const { failure } = classify(error);
  if (failure === 'DEADLINE_EXCEEDED') return new Failure(failure, DEADLINE_PASSED, { cause: bare });
  return failure === undefined ? bare : storeUnavailable(bare);
}

/** The error for a database that is unavailable, or too slow to provide a connection. */
export function storeUnavailable(cause: unknown): Failure {
  return new Failure('STORE_UNAVAILABLE', 'The route store is unavailable. Try again.', { cause });
}

/** What a class of errors means for the statement. */
export interface Consequences {
  /**
   * When another attempt may succeed, possibly over another connection: at once, or only when the database can be reached
   * again. Undefined if it would fail in the same way.
   */
  readonly retry?: 'at once' | 'when reached';
  /** Whether the failed attempt of an `INSERT` may have stored its rows all the same. */
  readonly mayHaveStored?: true;
  /** How callers see it; undefined if it is an error of the service, or of the call's values. */
  readonly failure?: 'STORE_UNAVAILABLE' | 'DEADLINE_EXCEEDED';
}

const UNAVAILABLE = { failure: 'STORE_UNAVAILABLE' } as const;

export const CLASSES = {
  /** A value of a row, or the length of the statement. */
  'row refused': {},
  /** The statement itself; any other statement of its kind would be refused, too. */
  'statement refused': {},
  'login refused': UNAVAILABLE,
  /** Too many connections or statements at the moment. */
  crowded: { ...UNAVAILABLE, retry: 'when reached' },
  /** The statement exceeded the server's time limit, and a retry would take as long. */
  late: { failure: 'DEADLINE_EXCEEDED' },
  /** Somebody held a lock on a row, or on the table, for too long. Each further attempt would wait as long. */
  locked: UNAVAILABLE,
  deadlock: { ...UNAVAILABLE, retry: 'at once' },
  /** The connection, and older ones, lead to a server that cannot execute the statement. Nothing was stored. */
  'wrong server': { ...UNAVAILABLE, retry: 'at once' },
  /** The server, or a proxy before it, says only that the statement failed. */
  doubtful: { ...UNAVAILABLE, retry: 'at once', mayHaveStored: true },
  /** The connection was lost, whatever was in progress on it. */
  lost: { ...UNAVAILABLE, retry: 'at once', mayHaveStored: true },
  /**
   * No connection, or no response in time. An `INSERT` that fails in this way was sent over a connection that was open, and
   * then lost in silence.
   */
  unreachable: { ...UNAVAILABLE, retry: 'when reached', mayHaveStored: true },
  /** Another process kept the embedded database locked for longer than a statement waits. */
  busy: { ...UNAVAILABLE, retry: 'at once' },
  /** The embedded database's file cannot be used, or the server is not trusted; its next certificate may be valid. */
  unusable: UNAVAILABLE,
  /** Any other error, of a database or not. */
  other: {},
} as const satisfies Record<string, Consequences>;

export type ErrorClass = keyof typeof CLASSES;

/** How the errors of one database and its driver are read. */
export interface EngineErrors {
  /** The class of an error; undefined for an error that does not come from this database or driver. */
  readonly classOf: (error: DriverError) => ErrorClass | undefined;
  /** What the database answered, and what the operator can do about it, as the end of a sentence; undefined as above. */
  readonly answerIn: (error: DriverError) => string | undefined;
}

/** The fields of errors from the drivers and Knex. */
export interface DriverError {
  readonly errno?: number | undefined;
  readonly sqlState?: string | undefined;
  readonly code?: string | undefined;
  readonly name?: string | undefined;
  /** The statement. */
  readonly sql?: string | undefined;
  /** What Node called in vain. */
  readonly syscall?: string | undefined;
  /** Why none of several addresses could be reached. */
  readonly errors?: readonly unknown[] | undefined;
  readonly fatal?: boolean | undefined;
}

/** The fields of whatever was thrown. Their types are not checked. */
export function fieldsOfError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}

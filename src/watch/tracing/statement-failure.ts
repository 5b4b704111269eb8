import type { Attributes } from '@opentelemetry/api';

/** The lowest error number of a MySQL server; lower ones are the operating system's. */
const FIRST_SERVER_ERROR = 1000;
/** The `error.type` of an unknown error. */
const OTHER = '_OTHER';

/** The fields of a store error that are used here. */
interface StoreError {
  readonly errno?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/**
 * Why a statement failed (OpenTelemetry semantic conventions, database client spans): `db.response.status_code` is
 * MySQL's error number or SQLite's result code; `error.type` is the same, or the code of a connection that failed, such
 * as `ECONNRESET`.
 */
export function failureOf(error: unknown): Attributes {
  const { cause = error } = factsOf(error);
  const { errno, code } = factsOf(cause);
  const ofServer = typeof errno === 'number' && errno >= FIRST_SERVER_ERROR;
  if (!ofServer && typeof code !== 'string') return { 'error.type': OTHER };
  const type = ofServer ? String(errno) : String(code);
  const answered = ofServer || type.startsWith('SQLITE_');
  return answered ? { 'db.response.status_code': type, 'error.type': type } : { 'error.type': type };
}

function factsOf(error: unknown): StoreError {
  return typeof error === 'object' && error !== null ? error : {};
}

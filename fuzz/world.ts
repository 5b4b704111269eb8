import type { GrpcSessions } from './grpc/grpc-sessions.js';
import type { Ledger } from './ledger.js';
import type { RestConnections } from './rest/rest-connections.js';

/** The environment of a case. */
export interface World {
  /** `host:port` of each protocol. */
  readonly grpc: string;
  readonly http: string;
  /** Tokens that the service accepts: one with full access, one for reading only. */
  readonly token: string;
  readonly readToken: string;
  /** The ids of the routes that exist before the first case. */
  readonly ids: readonly string[];
  readonly sessions: GrpcSessions;
  readonly connections: RestConnections;
  readonly ledger: Ledger;
}

/** The outcome of a case. */
export interface Outcome {
  /** The code of each response, for the statistics, by protocol. */
  readonly answers: readonly string[];
  /** Violations of the contract; empty if the case passed. */
  readonly problems: readonly string[];
}

/** One case, ready to be sent. */
export interface FuzzCase {
  /** The bytes or the call that it sends first, in readable form. */
  readonly shown: () => string;
  /** @param signal aborts when the case takes too long; the case must then close everything it has open */
  send(signal: AbortSignal): Promise<Outcome>;
}

/** Bytes as text: everything but printable ASCII is escaped, and the text is cut after 4 KiB. */
export function escaped(bytes: Buffer): string {
  const cut = bytes.length > SHOWN_BYTES ? `… (${bytes.length} bytes)` : '';
  return (
    JSON.stringify(bytes.toString('latin1', 0, SHOWN_BYTES)).replace(
      /[\x7f-\xff]/g,
      (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
    ) + cut
  );
}

const SHOWN_BYTES = 4_096;

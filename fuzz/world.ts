import type { GrpcSessions } from './grpc/grpc-sessions.js';
import type { Ledger } from './ledger.js';
import type { RestConnections } from './rest/rest-connections.js';

/** A route that was there before the first case. */
export interface StoredRoute {
  readonly id: string;
  /** The body of its GET. */
  readonly body: string;
}

/** The surroundings of a case. */
export interface World {
  /** `host:port` of each protocol. */
  readonly grpc: string;
  readonly http: string;
  /** Tokens that the service accepts: for everything, and for gets only. */
  readonly token: string;
  readonly readToken: string;
  readonly routes: readonly StoredRoute[];
  readonly sessions: GrpcSessions;
  readonly connections: RestConnections;
  readonly ledger: Ledger;
  /** Resolves when the service has read everything that was sent before, and has had time to answer it. */
  readonly hasRead: () => Promise<void>;
}

/** The end of a case. */
export interface Outcome {
  /** The code of each answer, for the count of them. */
  readonly answers: readonly string[];
  /** Everything that must not happen; empty for a good end. */
  readonly problems: readonly string[];
}

/** One case, ready to be sent. */
export interface FuzzCase {
  /** Everything that it sends first, for people. */
  readonly shown: () => string;
  /** @param signal is aborted when the case has lasted too long, and must end whatever it has open */
  send(signal: AbortSignal): Promise<Outcome>;
}

/** Bytes with everything escaped that is not visible ASCII, cut after 4 KiB. */
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

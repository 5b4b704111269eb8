import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { renewStreams } from './session-streams.js';

/** A call of a method that nobody registered goes here, … */
export const UNKNOWN_METHOD = '/unknown.Service/Method';
/** … with its own path in this metadata. */
export const UNKNOWN_PATH_KEY = 'x-unknown-path';

/** gRPC over HTTP/2: a TimeoutValue is at most 8 digits and a unit. */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
/** What no timeout exceeds, in milliseconds: a longer one would overflow in grpc-js, into the past. */
const LONGEST_MS = 99_999_999;

/**
 * The server of grpc-js, which reads three things of a call's headers wrongly or not at all: a second
 * `authorization`, which Node drops without a word; a `grpc-timeout` that is none, or days long; and the path of
 * a method that is not here, which grpc-js answers below all code of ours. They are set right before it reads them.
 */
export class StrictServer extends Server {
  /**
   * Listens without TLS and returns the port.
   *
   * @throws Error when the address can not be had
   */
  async listen(address: string): Promise<number> {
    if (address.startsWith('unix:')) await removeDeadSocket(address.slice('unix:'.length));
    const port = await new Promise<number>((resolve, reject) => {
      this.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    // grpc-js shows these two to nobody; a test of each header tells when that changes.
    const methods = Reflect.get(this, 'handlers') as ReadonlyMap<string, unknown>;
    const listeners = Reflect.get(this, 'http2Servers') as ReadonlyMap<Http2Server, unknown>;
    for (const listener of listeners.keys()) {
      listener.on('session', renewStreams);
      listener.prependListener('stream', (...[, headers, , rawHeaders]: StreamEvent) => {
        correct(headers, rawHeaders, methods);
        correctTimeout(headers);
      });
    }
    return port;
  }
}

/** What Node tells with a stream; `rawHeaders` alternates names and values. */
type StreamEvent = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
];

function correct(
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  methods: ReadonlyMap<string, unknown>,
): void {
  const path = String(headers[':path']);
  // A caller that names the place of unknown methods is as unknown: what it says of its path is not believed.
  if (path === UNKNOWN_METHOD || !methods.has(path)) {
    headers[':path'] = UNKNOWN_METHOD;
    headers[UNKNOWN_PATH_KEY] = path;
  }
  if (rawHeaders.indexOf('authorization') === rawHeaders.lastIndexOf('authorization')) return;
  const given = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === 'authorization');
  headers.authorization = given.join(', ');
}

function correctTimeout(headers: IncomingHttpHeaders): void {
  const given = headers['grpc-timeout'];
  if (given === undefined) return;
  const [, digits, unit = ''] = TIMEOUT.exec(String(given)) ?? [];
  if (digits === undefined) headers['grpc-timeout'] = 'none';
  else if (Number(digits) * (UNIT_MS[unit] ?? 0) > LONGEST_MS) headers['grpc-timeout'] = `${LONGEST_MS}m`;
}

/** A process that was killed leaves its socket behind; one on which nobody listens is in the way. */
async function removeDeadSocket(path: string): Promise<void> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await rm(path);
  } finally {
    socket.destroy();
  }
}

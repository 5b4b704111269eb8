import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { Server, ServerCredentials } from '@grpc/grpc-js';

/** A call of a method that nobody registered goes here, … */
export const UNKNOWN_METHOD = '/unknown.Service/Method';
/** … with its own path in this metadata. */
export const UNKNOWN_PATH_KEY = 'x-unknown-path';

/** gRPC over HTTP/2: TimeoutValue is at most 8 digits, then a unit. */
const TIMEOUT = /^\d{1,8}[HMSmun]$/;
/** Timeouts that are days long, whatever their digits; grpc-js would let them overflow into the past. */
const LONG_TIMEOUT = /^0*(?:[1-9]\d{2,}H|[1-9]\d{4,}M|[1-9]\d{6,}S)$/;
const LONGEST_TIMEOUT = '99H';

/**
 * The server of grpc-js, which reads three things of a call's headers wrongly or not at all: a second
 * `authorization`, which Node drops without a word; a `grpc-timeout` that is none, or days long; and the path of
 * a method that is not here, which grpc-js answers below all code of ours. They are set right before it reads them.
 */
export class StrictServer extends Server {
  /**
   * Listens without TLS and returns the port.
   *
   * @param limitMs longest time of a call that has no shorter timeout, from its first byte on
   * @param limited the paths of the methods for which that holds
   * @throws Error when the address can not be had
   */
  async listen(address: string, limitMs: number, limited: ReadonlySet<string>): Promise<number> {
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
      listener.prependListener('stream', (...[, headers, , rawHeaders]: StreamEvent) => {
        correct(headers, rawHeaders, methods);
        const path = String(headers[':path']);
        if (limited.has(path)) headers['grpc-timeout'] ??= `${limitMs}m`;
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
  if (!methods.has(path)) {
    headers[':path'] = UNKNOWN_METHOD;
    headers[UNKNOWN_PATH_KEY] = path;
  }
  const given = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === 'authorization');
  if (given.length > 1) headers.authorization = given.join(', ');
  const timeout = headers['grpc-timeout'];
  if (timeout === undefined) return;
  if (typeof timeout !== 'string' || !TIMEOUT.test(timeout)) headers['grpc-timeout'] = 'none';
  else if (LONG_TIMEOUT.test(timeout)) headers['grpc-timeout'] = LONGEST_TIMEOUT;
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

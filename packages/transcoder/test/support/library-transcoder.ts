import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { TranscoderLog } from '../../src/hooks.js';
import type { TranscoderOptions } from '../../src/options.js';
import { createTranscoder, type Transcoder } from '../../src/transcoder.js';
import { libraryDescriptorSet } from './library-contract.js';
import { LibraryServer } from './library-server.js';
import { opening } from './opening.js';

/** A transcoder in front of a library, on a loopback port. */
export interface RunningTranscoder {
  readonly origin: string;
  /** The lines of the log, as JSON values. */
  readonly log: readonly LogLine[];
  /** The number of open connections. */
  readonly connections: () => Promise<number>;
  /** The figures of the cache of replies. */
  readonly replyCache: () => Transcoder['replyCache'];
  /** Ends the streams, and the requests whose bodies have not arrived. */
  end(): void;
  close(): Promise<void>;
}

/** A line of the log. */
export interface LogLine {
  readonly level: keyof TranscoderLog;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const REQUEST_ID = /^[a-z]{1,8}$/;

/**
 * Starts a library, a transcoder in front of it, and an HTTP server.
 *
 * @param options replace those of the transcoder.
 * @param limits options of the HTTP server.
 * @param before puts middleware in front of the transcoder. Default: none.
 */
export async function startTranscoder(
  options: Partial<TranscoderOptions> = {},
  limits: ServerOptions = {},
  before = (handler: Transcoder['handler']): RequestListener => handler,
): Promise<RunningTranscoder> {
  const library = new LibraryServer();
  const log: LogLine[] = [];
  const ids = requestIds();
  const transcoder = createTranscoder({
    descriptorSet: libraryDescriptorSet,
    upstream: library,
    guard: library.guard,
    realm: 'library',
    forwardedHeaders: new Map([
      ['authorization', 'mask'],
      ['idempotency-key', 'refuse'],
      ['traceparent', 'drop'],
    ]),
    json: { omit: 'unassigned', milliseconds: true },
    requestIdOf: (header = '') => (REQUEST_ID.test(header) ? header : `made-${ids.next().value}`),
    log: collectingLog(log),
    ...options,
  });

  // Without Node's check of `Host`, the transcoder's own is tested.
  const server = createServer({ requireHostHeader: false, ...limits }, before(transcoder.handler))
    .on('checkContinue', transcoder.onCheckContinue)
    .on('clientError', transcoder.onClientError)
    .on('connect', transcoder.onConnect);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    origin: `http://127.0.0.1:${port}`,
    log,
    connections: promisify(server.getConnections.bind(server)),
    replyCache: () => transcoder.replyCache,
    end: transcoder.close,
    close: () => closed(server),
  };
}

/** Starts the same as `startTranscoder`, and closes it when the test ends. */
export async function openTranscoder(
  ...args: Parameters<typeof startTranscoder>
): Promise<RunningTranscoder> {
  return opening(await startTranscoder(...args));
}

function* requestIds(): Generator<number, never> {
  for (let id = 1; ; id += 1) yield id;
}

function collectingLog(lines: LogLine[]): TranscoderLog {
  const add = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } });
  };
  return { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}

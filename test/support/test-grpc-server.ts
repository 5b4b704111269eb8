import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Authenticator } from '../../src/auth/authenticator.js';
import type { Method } from '../../src/calls/call.js';
import { serviceNamesOf } from '../../src/calls/service.js';
import { Health } from '../../src/grpc/health.js';
import { type GrpcServer, type GrpcTimes, type ServerTls, startGrpcServer } from '../../src/grpc/server.js';
import type { ObserveStreamingCall } from '../../src/grpc/streaming-calls.js';
import type { Limits } from '../../src/settings/config.js';
import { type BytesMethod, bytesMethod } from './bytes-method.js';
import { LIMITS } from './grpc-limits.js';
import { loggedPipeline } from './logged-pipeline.js';

/** Returns the request message. */
export const ECHO = '/test.Service/Echo';
/** Requires a token, and returns the request message. */
export const GUARDED = '/test.Service/Guarded';
/** Responds after a call of `completeCalls`. */
export const SLOW = '/test.Service/Slow';

/** A gRPC server with the three test methods. */
export interface TestServer extends GrpcServer {
  readonly health: Health;
  /** The parsed lines of the log. */
  readonly log: Record<string, unknown>[];
  /** Resolves when this many slow calls are waiting. */
  waitingCalls(calls: number): Promise<void>;
  /** Completes all waiting slow calls. */
  completeCalls(): void;
}

/** The options of a test server. */
export interface TestServerOptions {
  /** Default: a port of this machine. */
  readonly address?: string;
  readonly limits?: Partial<Limits>;
  readonly times?: Partial<GrpcTimes>;
  readonly tls?: ServerTls;
  /** Default: one to which no token is valid. */
  readonly authenticator?: Authenticator;
  /** Handles the method `GUARDED`. Default: it returns the request message. */
  readonly handle?: BytesMethod['handle'];
  /** Default: true. */
  readonly reflection?: boolean;
  readonly mostStreamingCalls?: number;
  readonly observeStreaming?: ObserveStreamingCall;
  readonly onConnectionError?: (reason: string) => void;
}

const echo: BytesMethod['handle'] = (message) => message;
const REFUSING: Authenticator = {
  authenticate: () => ({ ok: false, reason: 'TOKEN_MISSING', message: 'No token.' }),
};

/** Starts a test server. It is closed when the test ends. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { limits = {}, times = {}, tls, reflection = true, authenticator = REFUSING, ...more } = options;
  const { mostStreamingCalls, observeStreaming, onConnectionError } = more;
  const { address = '127.0.0.1:0', handle = echo } = more;
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { level: 'debug' },
    { write: (line) => log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const waiting: (() => void)[] = [];
  let notice: () => void = () => undefined;
  const slow: BytesMethod['handle'] = (message) =>
    new Promise((resolve) => {
      waiting.push(() => {
        resolve(message);
      });
      notice();
    });
  const own = [
    bytesMethod(ECHO, 'public', echo),
    bytesMethod(GUARDED, { scope: 's' }, handle),
    bytesMethod(SLOW, 'public', slow),
  ];
  const health = new Health(serviceNamesOf(own));
  const methods: Method[] = [...own, ...health.methods()];
  const all = { ...LIMITS, ...limits };
  const server = await startGrpcServer({
    address,
    methods,
    pipeline: loggedPipeline(methods, { ...all, authenticator }, logger),
    health,
    reflection,
    limits: all,
    times,
    tls,
    mostStreamingCalls,
    observeStreaming,
    onConnectionError,
  });
  onTestFinished(() => server.close(0));
  return {
    ...server,
    health,
    log,
    async waitingCalls(calls) {
      while (waiting.length < calls) await new Promise<void>((resolve) => (notice = resolve));
    },
    completeCalls() {
      for (const answerCall of waiting.splice(0)) answerCall();
    },
  };
}

/** Opens an HTTP/2 connection to the server. It is destroyed when the test ends. */
export function connectTo({ address }: { readonly address: string }): ClientHttp2Session {
  const [, path] = /^unix:(.*)/.exec(address) ?? [];
  const createConnection = path === undefined ? undefined : () => connectSocket(path);
  const session = connect(path === undefined ? `http://${address}` : 'http://x', { createConnection });
  onTestFinished(() => {
    session.destroy();
  });
  return session.on('error', () => undefined);
}

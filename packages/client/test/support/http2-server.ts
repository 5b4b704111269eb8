import { once } from 'node:events';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import type { status } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';

type Answer = (session: ServerHttp2Session, stream: ServerHttp2Stream) => void;

/** Starts a bare HTTP/2 server. Each stream gets the answer in its place, and those beyond the last one, that. */
export async function startHttp2Server(
  ...answers: readonly Answer[]
): Promise<{ readonly address: string; readonly streams: () => number }> {
  const sessions = new Set<ServerHttp2Session>();
  let streams = 0;
  const server = createServer().on('session', (session) => {
    sessions.add(session);
    session.on('stream', (stream) => {
      const nextAnswer = answers[streams++] ?? answers.at(-1);
      nextAnswer?.(
        session,
        stream.on('error', () => undefined),
      );
    });
  });
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
  });
  return { address: await listen(server), streams: () => streams };
}

/** Lets a server listen until the test ends. Returns its `host:port`. */
export async function listen(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Ends a call with a trailers-only response. */
export function answer(stream: ServerHttp2Stream, code: status): void {
  const head = { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(code) };
  stream.respond(head, { endStream: true });
}

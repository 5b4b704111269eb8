import { type ClientHttp2Stream, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { frameMessage, outcomeOf, requestOn } from '../support/http2-call.js';
import { figure } from './rig/figures.js';
import { startProcess } from './rig/service-process.js';

const WATCH = '/grpc.health.v1.Health/Watch';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const LIST_SERVICES = frameMessage(Buffer.from([0x3a, 0x00]));
/** More streams than one connection may have. */
const STREAMS = 300;
/** How many calls others make meanwhile, one after the other. */
const CALLS_OF_OTHERS = 50;

/** Makes a call over a new connection. @returns its code, or undefined if the connection is closed */
async function callAlone(grpc: string, path: string, body: Buffer): Promise<number | undefined> {
  const session = connect(`http://${grpc}`).on('error', () => undefined);
  try {
    return (await outcomeOf(requestOn(session, path).end(body))).code;
  } catch {
    return undefined;
  } finally {
    session.destroy();
  }
}

it.each([
  // A watch lasts although its client has ended the request; a reflection call lasts only until then.
  {
    what: 'health watches',
    path: WATCH,
    begin: (stream: ClientHttp2Stream) => stream.end(frameMessage(new Uint8Array())),
  },
  {
    what: 'reflection calls',
    path: REFLECTION,
    begin: (stream: ClientHttp2Stream) => stream.write(LIST_SERVICES),
  },
])(
  'one connection with as many $what as it may have leaves reflection to others',
  async ({ what, path, begin }) => {
    const service = await startProcess({ DATABASE_URL: 'sqlite::memory:' });
    const hog = connect(`http://${service.grpc}`).on('error', () => undefined);
    onTestFinished(() => {
      hog.destroy();
    });
    for (let count = 0; count < STREAMS; count++)
      begin(
        requestOn(hog, path)
          .on('error', () => undefined)
          .resume(),
      );
    // Time for them to arrive before the calls of others.
    await sleep(200);

    const codes: unknown[] = [];
    for (let count = 0; count < CALLS_OF_OTHERS; count++)
      codes.push(await callAlone(service.grpc, REFLECTION, LIST_SERVICES));
    const answered = codes.filter((code) => code === status.OK).length;
    figure(`reflection beside ${what} of one connection`, { answered });
    expect(codes).toEqual(codes.map(() => status.OK));
  },
);

import { afterAll, beforeAll } from 'vitest';
import { httpRequest, type HttpRequest, type HttpResponse } from './http-request.js';
import { type LogLine, type RunningTranscoder, startTranscoder } from './library-transcoder.js';
import { memberRequest } from './member-request.js';

/** A transcoder in front of a library, as `startTranscoder` starts it, that several tests share. */
interface SharedTranscoder {
  readonly origin: string;
  readonly log: readonly LogLine[];
  readonly send: (request: HttpRequest) => Promise<HttpResponse>;
  /** Sends a request with the credentials of a member. */
  readonly call: (...request: Parameters<typeof memberRequest>) => Promise<HttpResponse>;
}

/** A transcoder for the tests of this file or `describe`: it starts before the first and closes after the last. */
export function sharedTranscoder(): SharedTranscoder {
  let gateway: RunningTranscoder;
  beforeAll(async () => {
    gateway = await startTranscoder();
  });
  afterAll(() => gateway.close());

  const send = (request: HttpRequest): Promise<HttpResponse> => httpRequest(gateway.origin, request);
  return {
    get origin() {
      return gateway.origin;
    },
    get log() {
      return gateway.log;
    },
    send,
    call: (...request) => send(memberRequest(...request)),
  };
}

import {
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import { failureReply } from './failure-reply.js';
import { CallError, deadlineExceeded, requestTooLarge, toFailure } from './failures.js';
import { GUARD_ONLY_KEY } from './interceptors.js';
import type { Pipeline } from './pipeline.js';
import { requestIdOf } from './request-id.js';

type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/**
 * Completes the statuses that grpc-js makes by itself (a passed deadline, a message that it can't read) with
 * the code, text and details that the same failure has everywhere else. What is wrong with a message is told
 * only to those whom the guard lets pass.
 *
 * grpc-js sends these statuses straight from its innermost call, below every interceptor, so that call's own
 * method is wrapped. They are the ones without metadata.
 */
export function completeFrameworkStatus(pipeline: Pipeline): ServerInterceptor {
  return ({ path }, innermost) => {
    let metadata = new Metadata();
    let failed = false;
    const send = innermost.sendStatus.bind(innermost);
    innermost.sendStatus = (sent) => {
      if (sent.code === status.OK || (sent.metadata !== null && sent.metadata !== undefined)) {
        send(sent);
      } else if (!failed) {
        // Every further piece of an unreadable message would fail again.
        failed = true;
        void complete(sent.code, path, metadata, pipeline).then(send);
      }
    };
    return new ServerInterceptingCall(innermost, {
      start(next) {
        next({
          onReceiveMetadata(received, proceed) {
            metadata = received;
            proceed(received);
          },
        });
      },
    });
  };
}

async function complete(
  code: SentStatus['code'],
  path: string,
  metadata: Metadata,
  pipeline: Pipeline,
): Promise<SentStatus> {
  const failure = failureReply(toFailure(failureOf(code)), requestIdOf(metadata));
  const verdict = code === status.DEADLINE_EXCEEDED ? failure : await askGuard(path, metadata, pipeline);
  // UNIMPLEMENTED: a method that grpc-js serves by itself, to everybody.
  const passed = verdict.code === status.OK || verdict.code === status.UNIMPLEMENTED;
  const { code: told, details, trailers } = passed ? failure : verdict;
  return { code: told, details, metadata: trailers };
}

function askGuard(path: string, metadata: Metadata, pipeline: Pipeline): ReturnType<Pipeline> {
  const asking = metadata.clone();
  asking.set(GUARD_ONLY_KEY, '1');
  return pipeline({
    path,
    message: new Uint8Array(),
    metadata: asking,
    deadline: Infinity,
    signal: new AbortController().signal,
  });
}

function failureOf(code: SentStatus['code']): CallError {
  if (code === status.DEADLINE_EXCEEDED) return deadlineExceeded();
  if (code === status.RESOURCE_EXHAUSTED) return requestTooLarge();
  return new CallError('REQUEST_MALFORMED', 'The request can not be read.');
}

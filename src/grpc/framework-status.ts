import {
  Metadata,
  ServerInterceptingCall,
  type ServerInterceptingCallInterface,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import { failureReply } from './failure-reply.js';
import { CallError, deadlineExceeded, requestTooLarge, toFailure } from './failures.js';
import { requestIdOf } from './request-id.js';

type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

/**
 * Completes the statuses that grpc-js makes by itself (a passed deadline, a message that it can't read) with
 * the code, text and details that the same failure has everywhere else.
 *
 * grpc-js sends them straight from its innermost call, below every interceptor, so that call's own method is
 * wrapped. Its own statuses are the ones without metadata.
 */
export const completeFrameworkStatus: ServerInterceptor = (_method, innermost) => {
  let metadata = new Metadata();
  const sendStatus = innermost.sendStatus.bind(innermost);
  innermost.sendStatus = (sent) => {
    const ours = sent.code === status.OK || (sent.metadata !== null && sent.metadata !== undefined);
    sendStatus(ours ? sent : complete(sent, metadata));
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

function complete(sent: SentStatus, metadata: Metadata): SentStatus {
  const { code, details, trailers } = failureReply(toFailure(failureOf(sent.code)), requestIdOf(metadata));
  return { code, details, metadata: trailers };
}

function failureOf(code: SentStatus['code']): CallError {
  if (code === status.DEADLINE_EXCEEDED) return deadlineExceeded();
  if (code === status.RESOURCE_EXHAUSTED) return requestTooLarge();
  return new CallError('REQUEST_MALFORMED', 'The request can not be read.');
}

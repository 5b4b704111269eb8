import { status } from '@grpc/grpc-js';
import type { CallMetadata, Cancellation, Reply } from '../calls/call.js';
import { failureReply } from '../calls/failure-reply.js';
import { CallError, deadlineExceeded, requestTooLarge, toCallFailure } from '../calls/failures.js';
import { GUARD_ONLY, REQUEST_ID } from '../calls/metadata-keys.js';
import type { Pipeline } from '../calls/pipeline.js';
import { requestIdOf } from '../calls/request-id.js';

/**
 * Replaces a status that grpc-js generates (a passed deadline, a message that it cannot read) with the code, text and
 * details that the same failure has everywhere else. Only callers that the guard lets pass are told what is wrong with
 * a message.
 */
export function completeReply(
  code: status,
  path: string,
  metadata: CallMetadata,
  pipeline: Pipeline,
): Reply | Promise<Reply> {
  const failure = failureReply(toCallFailure(failureOf(code)), requestIdOf(metadata.get(REQUEST_ID)[0]));
  if (code === status.DEADLINE_EXCEEDED) return failure;
  const choose = (verdict: Reply): Reply => (passes(verdict) ? failure : verdict);
  const verdict = askGuard(path, metadata, pipeline);
  return verdict instanceof Promise ? verdict.then(choose) : choose(verdict);
}

const STAYS: Cancellation = { cancelled: false, onCancelled: () => undefined };

function askGuard(path: string, metadata: CallMetadata, pipeline: Pipeline): Reply | Promise<Reply> {
  const asking: CallMetadata = { get: (key) => (key === GUARD_ONLY ? ['1'] : metadata.get(key)) };
  return pipeline({
    path,
    message: new Uint8Array(),
    metadata: asking,
    deadline: Infinity,
    cancellation: STAYS,
  });
}

/** UNIMPLEMENTED: a method that grpc-js itself serves, to everybody. */
function passes({ code }: Reply): boolean {
  return code === status.OK || code === status.UNIMPLEMENTED;
}

function failureOf(code: status): CallError {
  if (code === status.DEADLINE_EXCEEDED) return deadlineExceeded();
  if (code === status.RESOURCE_EXHAUSTED) return requestTooLarge();
  return new CallError('REQUEST_MALFORMED', 'The request cannot be read.');
}

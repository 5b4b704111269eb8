import { status } from '@grpc/grpc-js';
import {
  type CallError,
  compressionUnsupported,
  deadlineExceeded,
  requestTooLarge,
  requestUnreadable,
} from '../calls/failures.js';

/**
 * The failure for which grpc-js itself ends a call with this code, while it reads the request.
 *
 * @param maxMessageBytes the largest request message, in bytes
 * @param takesCompressed whether the method takes compressed messages
 */
export function failureBehind(code: status, maxMessageBytes: number, takesCompressed: boolean): CallError {
  if (code === status.DEADLINE_EXCEEDED) return deadlineExceeded();
  if (code === status.RESOURCE_EXHAUSTED) return requestTooLarge(maxMessageBytes);
  if (code === status.UNIMPLEMENTED && !takesCompressed) return compressionUnsupported();
  return requestUnreadable();
}

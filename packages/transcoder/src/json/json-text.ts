import { malformed } from '../failures/failure.js';
import type { SentJson } from '../fields/json-value.js';
import { parseJson } from './json-parser.js';

/**
 * The JSON value of a body, which must be UTF-8 without a byte order mark.
 *
 * @throws HttpFailure `REQUEST_MALFORMED`.
 */
export function parseJsonText(bytes: Uint8Array): SentJson {
  return parseJson(utf8Text(bytes));
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE_ORDER_MARK = '\uFEFF';

function utf8Text(bytes: Uint8Array): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed('The body is not UTF-8.');
  }
  if (text.startsWith(BYTE_ORDER_MARK))
    throw malformed('The body begins with a byte order mark; none is allowed.');
  return text;
}

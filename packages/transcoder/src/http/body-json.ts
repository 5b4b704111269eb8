import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { malformed } from '../failures/failure.js';
import { isObject, type SentJson } from '../fields/json-value.js';
import { parseJsonText } from '../json/json-text.js';
import { isHttpBodyJson } from '../message/http-body.js';
import type { Binding, BodyBinding } from '../template/binding.js';
import { isJsonType, requireJsonType } from './content-type.js';
import type { Exchange } from './exchange.js';

/** Whether a body for a `google.api.HttpBody` is its JSON form, which grpc-gateway takes in place of the bytes. */
export function isEnvelope(exchange: Exchange, bodyBytes: Uint8Array): boolean {
  return (!exchange.sent.has('content-type') || isJsonType(exchange)) && isHttpBodyJson(bodyBytes);
}

/**
 * The JSON value of a body; undefined for none.
 *
 * @param lenient whether to take what grpc-gateway takes.
 * @throws HttpFailure `REQUEST_MALFORMED` or `CONTENT_TYPE_UNSUPPORTED`
 */
export function bodyJson(
  binding: Binding,
  exchange: Exchange,
  bodyBytes: Uint8Array,
  lenient: boolean,
): SentJson | undefined {
  if (bodyBytes.length === 0) return jsonOfAbsentBody(binding, lenient);
  if (binding.body === undefined) {
    refuseUnexpectedBody(bodyBytes, lenient);
    return undefined;
  }

  if (!lenient) requireJsonType(exchange);
  return parseJsonText(bodyBytes);
}

/** What the request has in place of a body: undefined for nothing. @throws HttpFailure if it must have a body */
function jsonOfAbsentBody({ method, body }: Binding, lenient: boolean): SentJson | undefined {
  if (body === undefined) return undefined;
  // An absent body stands for an empty message, except where the JSON form is not an object of fields, such as that of a
  // Timestamp: then a body is required.
  const isFieldsOfRequest = body === '*' && !hasCustomJsonRepresentation(method.input);
  if (isFieldsOfRequest) return undefined;
  // grpc-gateway takes an absent body for an empty message in a field, too.
  if (lenient && isPlainMessage(body)) return {};
  throw malformed('The request has no body; this method takes one.');
}

/** Whether the body is a message field whose JSON form is an object of its fields. */
function isPlainMessage(body: BodyBinding): boolean {
  return (
    typeof body === 'object' && body.fieldKind === 'message' && !hasCustomJsonRepresentation(body.message)
  );
}

/** @throws HttpFailure unless the body counts as an absent one: `{}` with `lenient` */
function refuseUnexpectedBody(bodyBytes: Uint8Array, lenient: boolean): void {
  const json = lenient ? parseJsonText(bodyBytes) : undefined;
  const isEmptyObject = isObject(json) && Object.keys(json).length === 0;
  if (!isEmptyObject) throw malformed('The request has a body; this method takes none.');
}

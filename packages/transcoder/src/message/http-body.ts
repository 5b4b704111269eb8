import { fromBinary, type JsonObject, type JsonValue, type Message } from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { isObject } from '../fields/json-value.js';
import type { Binding } from '../template/binding.js';

/** The fields of a `google.api.HttpBody` that HTTP carries. */
interface HttpBody {
  contentType: string;
  data: Uint8Array;
}

/**
 * The JSON form of a request body without its bytes, which `setData` adds: in base64, they would take three times the
 * memory.
 */
export function httpBodyJson(contentType: string | undefined): JsonObject {
  return contentType === undefined ? {} : { contentType };
}

/** The names of the fields of a `google.api.HttpBody` in JSON. */
const MEMBERS: ReadonlySet<string> = new Set(['contentType', 'content_type', 'data', 'extensions']);

/** Whether bytes are a JSON object with no members but the fields of a `google.api.HttpBody`. */
export function isHttpBodyJson(bytes: Uint8Array): boolean {
  try {
    const json = JSON.parse(Buffer.from(bytes).toString()) as JsonValue;
    return isObject(json) && Object.keys(json).every((key) => MEMBERS.has(key));
  } catch {
    return false;
  }
}

/** Puts the bytes of a body into its request message, which is the `google.api.HttpBody` or has it as a field. */
export function setData({ method, body }: Binding, message: Message, data: Uint8Array): void {
  const request = reflect(method.input, message);
  const holder = typeof body === 'object' ? (request.get(body) as ReflectMessage) : request;
  (holder.message as unknown as HttpBody).data = data;
}

/** The `google.api.HttpBody` that a serialized response message is or has as a field. @throws Error if the message cannot be decoded */
export function httpBodyIn({ method, responseBody }: Binding, message: Uint8Array): HttpBody {
  const response = reflect(method.output, fromBinary(method.output, message));
  const holder = responseBody === undefined ? response : (response.get(responseBody) as ReflectMessage);
  return holder.message as unknown as HttpBody;
}

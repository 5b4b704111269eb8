import type { JsonValue } from '@bufbuild/protobuf';
import type { TranscoderOptions } from '../../src/options.js';
import { fieldsOf, httpRequest } from './http-request.js';
import { openTranscoder } from './library-transcoder.js';

/** Sends a JSON body, and returns the status with the JSON of the response or, of a refusal, the fields that it names. */
export type Echo = (method: string, path: string, json?: JsonValue) => Promise<[status: number, JsonValue]>;

/** Starts a transcoder in front of a server that replies with the bytes of each request. */
export async function startEcho(options: Partial<TranscoderOptions>): Promise<Echo> {
  const gateway = await openTranscoder({
    guard: undefined,
    json: {},
    upstream: { unary: ({ message }) => ({ code: 0, details: '', answered: true, message }) },
    ...options,
  });
  return async (method, path, json) => {
    const response = await httpRequest(gateway.origin, {
      method,
      path,
      ...(json === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(json) }),
    });
    const { status, text } = response;
    return [status, status < 400 ? (JSON.parse(text) as JsonValue) : (fieldsOf(response) as JsonValue)];
  };
}

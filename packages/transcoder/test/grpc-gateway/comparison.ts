import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { equals, fromBinary, type JsonObject, type JsonValue, type Message } from '@bufbuild/protobuf';
import { createTranscoder } from '../../src/transcoder.js';
import { isObject } from '../../src/fields/json-value.js';
import { comparedDescriptorSet } from '../support/library-contract.js';
import { rawExchange } from '../support/http-request.js';
import { ComparedServer, typeOf } from './compared-server.js';
import type { DifferenceName } from './differences.js';

/** The outcome of a request: the response, and the call that the server received. */
interface Answer {
  readonly status: number;
  /** The content of the response, without members that are null or a field's default. */
  readonly body?: JsonValue;
  readonly called?: { readonly method: string; readonly message: string };
}

/** A request with its outcome with grpc-gateway 2.30.0. */
interface Row extends Answer {
  readonly topic: string;
  /** The text of an HTTP/1.1 request, which is sent on a connection of its own. */
  readonly request: string;
  /** How the transcoder's outcome differs, without the option `lenient`. Default: both are alike. */
  readonly strict?: DifferenceName;
  /** The same with `lenient`. */
  readonly lenient?: DifferenceName;
}

export const ROWS: readonly Row[] = readFileSync(join(import.meta.dirname, 'answers.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Row);

/** A running transcoder. */
interface Answering {
  readonly answer: (request: string) => Promise<Answer>;
  readonly close: () => void;
}

/** Starts a transcoder in front of the server that grpc-gateway was recorded with. */
export async function startCompared(lenient: boolean): Promise<Answering> {
  const upstream = new ComparedServer();
  const { handler } = createTranscoder({ descriptorSet: comparedDescriptorSet, upstream, lenient });
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    async answer(request) {
      upstream.last = undefined;
      const response = await rawExchange(`http://127.0.0.1:${port}`, Buffer.from(request));
      const [head = '', ...content] = Buffer.from(response, 'latin1').toString().split('\r\n\r\n');
      const { last } = upstream as { last: ComparedServer['last'] };
      return {
        status: Number(head.split(' ')[1]),
        ...bodyOf(content.join('\r\n\r\n')),
        ...(last && { called: { method: last.path, message: Buffer.from(last.message).toString('base64') } }),
      };
    },
    close() {
      server.close();
    },
  };
}

function bodyOf(text: string): { body?: JsonValue } {
  return text === '' ? {} : { body: trimmed(JSON.parse(text) as JsonValue) };
}

/** A JSON value without object members that are null or a field's default. */
function trimmed(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(trimmed);
  if (!isObject(json)) return json;
  const members = Object.entries(json).map(([key, value]): [string, JsonValue] => [key, trimmed(value)]);
  return Object.fromEntries(members.filter(([, value]) => !isDefault(value)));
}

function isDefault(json: JsonValue): boolean {
  if (Array.isArray(json)) return json.length === 0;
  if (isObject(json)) return Object.keys(json).length === 0;
  return [null, '', 0, false, '0', 'GENRE_UNSPECIFIED'].includes(json);
}

/**
 * Whether two outcomes are alike: the same status, the same call with an equal message, and the same content. For
 * errors, the content is the text and the details that the server gave.
 */
export function alike(ours: Answer, theirs: Answer): boolean {
  if (ours.status !== theirs.status || ours.called?.method !== theirs.called?.method) return false;
  if (ours.called !== undefined && !sameMessage(ours.called, theirs.called)) return false;
  if (ours.status >= 400) return sameFailure(ours, theirs);
  return ours.status !== 200 || isDeepStrictEqual(ours.body, theirs.body);
}

function sameMessage(ours: NonNullable<Answer['called']>, theirs: Answer['called']): boolean {
  const method = ours.method.split('/').at(-1) ?? '';
  const schema = typeOf(INPUTS[method] ?? `${method}Request`);
  const [ourMessage, theirMessage] = [ours.message, theirs?.message ?? ''].map((base64) =>
    fromBinary(schema, Buffer.from(base64, 'base64')),
  ) as [Message, Message];
  return equals(schema, ourMessage, theirMessage) || (hasNaN(ourMessage) && hasNaN(theirMessage));
}

/** Whether a message contains NaN, which equals nothing and has several encodings. */
function hasNaN(message: Message): boolean {
  return Object.values(message).some(Number.isNaN);
}

const INPUTS: Readonly<Record<string, string>> = { Echo: 'Everything', Describe: 'Description' };

function sameFailure({ called, body }: Answer, theirs: Answer): boolean {
  if (called === undefined || body === undefined) return true;
  const { error } = body as { error: JsonObject };
  const { message, details = [] } = isObject(theirs.body) ? theirs.body : {};
  const own = [error['details'] ?? []].flat();
  return (
    message === error['message'] &&
    // Ours also contain the request id.
    [details].flat().every((detail) => own.some((ownDetail) => isDeepStrictEqual(ownDetail, detail)))
  );
}

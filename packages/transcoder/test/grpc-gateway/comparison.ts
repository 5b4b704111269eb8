import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { equals, fromBinary, type JsonObject, type JsonValue, type Message } from '@bufbuild/protobuf';
import { createTranscoder } from '../../src/transcoder.js';
import { isObject } from '../../src/fields/text-value.js';
import { comparedDescriptorSet } from '../support/library-contract.js';
import { rawExchange } from '../support/http-request.js';
import { ComparedServer, typeOf } from './compared-server.js';
import type { RawRequest } from './row.js';

/** The outcome of a request: the response, and the call that the server received. */
interface Answer {
  readonly status: number;
  /** The content of the response, without members that are null or a field's default. */
  readonly body?: JsonValue;
  readonly called?: { readonly method: string; readonly message: string };
}

/** The outcomes with grpc-gateway 2.30.0, by request. */
export const recorded: ReadonlyMap<RawRequest, Answer> = new Map(
  readFileSync(join(import.meta.dirname, 'answers.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Answer & { readonly request: RawRequest })
    .map((answer) => [answer.request, answer]),
);

/** A running transcoder. */
interface Answering {
  readonly answer: (request: RawRequest) => Promise<Answer>;
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
  return text === '' ? {} : { body: trimmed(JSON.parse(text) as JsonValue) ?? null };
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
  return ours.status !== 200 || text(ours.body) === text(theirs.body);
}

function sameMessage(ours: NonNullable<Answer['called']>, theirs: Answer['called']): boolean {
  const method = ours.method.split('/').at(-1) ?? '';
  const schema = typeOf(INPUTS[method] ?? `${method}Request`);
  const [one, other] = [ours.message, theirs?.message ?? ''].map((each) =>
    fromBinary(schema, Buffer.from(each, 'base64')),
  ) as [Message, Message];
  return equals(schema, one, other) || (hasNaN(one) && hasNaN(other));
}

/** Whether a message contains NaN, which equals nothing and has several encodings. */
function hasNaN(message: Message): boolean {
  return Object.values(message).some(Number.isNaN);
}

const INPUTS: Readonly<Record<string, string>> = { Echo: 'Everything', Describe: 'Description' };

function sameFailure(ours: Answer, theirs: Answer): boolean {
  const told = isObject(theirs.body) ? theirs.body : {};
  const { error } = (ours.body ?? { error: {} }) as { error: JsonObject };
  return (
    ours.called === undefined ||
    ours.body === undefined ||
    ((told['message'] ?? '') === (error['message'] ?? '') &&
      // Our details also contain the request id.
      [told['details'] ?? []].flat().every((detail) => text(error['details']).includes(text(detail))))
  );
}

function text(json: JsonValue | undefined): string {
  return JSON.stringify(sorted(json) ?? null);
}

function sorted(json: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(json)) return json.map((each) => sorted(each) ?? null);
  if (!isObject(json)) return json;
  return Object.fromEntries(
    Object.entries(json)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, value]) => [key, sorted(value) ?? null]),
  );
}

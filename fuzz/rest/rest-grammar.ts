import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { STRANGER } from '../ledger.js';
import { badCredential } from '../values/credential.js';
import { hostileText, word } from '../values/hostile-text.js';
import type { Random } from '../values/random.js';
import { type RouteDraft, routeDraft, validDraft } from '../values/route-draft.js';
import type { FuzzCase, World } from '../world.js';
import { jsonBody } from './json-body.js';
import { type FurtherCheck, soundRestCase } from './rest-case.js';
import { oddHeader, oddTarget } from './request-parts.js';
import { sameOnBothFaces } from './same-on-both-faces.js';

/** The parts of a request, from which its bytes are made. */
interface RestRequest {
  verb: string;
  target: string;
  /** Names and values, in Latin-1. */
  readonly headers: [name: string, value: string][];
  body: Buffer | undefined;
  chunked: boolean;
}

const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'M-SEARCH'];

/** Requests in sound HTTP/1.1 whose parts are what the contract describes, or nearly. */
export function restByGrammar(random: Random, world: World, number: number): FuzzCase {
  if (random.percent(15)) return twin(random, world, number);
  const good = random.percent(85);
  const request: RestRequest = { verb: 'GET', target: '', headers: [], body: undefined, chunked: false };
  request.headers.push(['host', world.http]);
  const credentials = good ? [`Bearer ${world.token}`] : badCredential(random, world);
  for (const value of credentials) request.headers.push(['authorization', value]);
  if (random.percent(60))
    create(request, good ? routeDraft(random) : { ...validDraft(random), handler: STRANGER }, random);
  else request.target = oddTarget(random, world);
  if (random.percent(15)) request.verb = random.pick(VERBS);
  for (let odd = random.pick([0, 0, 1, 1, 2, 5]); odd > 0; odd--)
    request.headers.push(oddHeader(random, world));
  return soundCase(request, random, world);
}

/** A create that means the same on both faces. */
function twin(random: Random, world: World, number: number): FuzzCase {
  const draft = routeDraft(random);
  const validateOnly = random.percent(30);
  const requestId = random.percent(30) ? `case-${number}` : '';
  const query = [
    ...(validateOnly ? [`${random.pick(['validateOnly', 'validate_only'])}=true`] : []),
    ...(requestId === '' ? [] : [`${random.pick(['requestId', 'request_id'])}=${requestId}`]),
  ];
  const request: RestRequest = {
    verb: 'POST',
    target: `/v1/routing${query.length > 0 ? '?' : ''}${query.join('&')}`,
    headers: [
      ['host', world.http],
      ['authorization', `Bearer ${world.token}`],
      ['content-type', 'application/json'],
    ],
    body: Buffer.from(JSON.stringify(draft)),
    chunked: random.percent(20),
  };
  const further = sameOnBothFaces({ route: draft, requestId, validateOnly }, world);
  return soundCase(request, random, world, further);
}

function soundCase(request: RestRequest, random: Random, world: World, further?: FurtherCheck): FuzzCase {
  const isHead = request.verb === 'HEAD';
  return soundRestCase(
    { bytes: bytesOf(request, random), isHead, ...(further !== undefined && { further }) },
    random,
    world,
  );
}

function create(request: RestRequest, draft: RouteDraft, random: Random): void {
  request.verb = 'POST';
  request.target = `/v1/routing${random.percent(30) ? `?${oddQuery(random)}` : ''}`;
  request.body = random.percent(60) ? Buffer.from(JSON.stringify(draft)) : jsonBody(draft, random);
  request.chunked = random.percent(20);
  request.headers.push(['content-type', random.percent(90) ? 'application/json' : random.pick(TYPES)]);
  if (random.percent(15)) encode(request, random);
}

const TYPES = [
  'application/json; charset=utf-8',
  'application/json; charset="UTF-8"',
  'application/json; charset=latin1',
  'application/json;;',
  'application/jsonx',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/grpc',
  '',
];

/** Content codings with what they make of a body. */
const CODINGS: readonly (readonly [name: string, encode: (body: Buffer) => Buffer])[] = [
  ['gzip', (body) => gzipSync(body)],
  ['x-gzip', (body) => gzipSync(body)],
  ['deflate', (body) => deflateSync(body)],
  ['br', (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['identity', (body) => body],
  ['zstd', (body) => body],
  ['gzip, gzip', (body) => gzipSync(gzipSync(body))],
];

function encode(request: RestRequest, random: Random): void {
  const { body = Buffer.alloc(0) } = request;
  const bomb = Buffer.alloc(random.pick([65_536, 65_537, 1_000_000]), ' ');
  const plain = random.percent(15) ? bomb : body;
  const [name, encoded] = random.pick(CODINGS);
  const bytes = encoded(plain);
  request.body = random.percent(80) ? bytes : bytes.subarray(0, random.below(bytes.length + 1));
  request.headers.push(['content-encoding', random.percent(90) ? name : random.pick(CODINGS)[0]]);
}

const NAMES = [
  'requestId',
  'request_id',
  'validateOnly',
  'validate_only',
  'route',
  'route.id',
  'route.handler',
  'id',
];
const VALUES = [
  'true',
  'false',
  '1',
  'TRUE',
  '',
  '%00',
  '%ff',
  '%',
  'a+b',
  '%F0%9F%98%80',
  '__proto__',
  'a%2',
  '=&=',
];

/** A query whose names are those of the contract, in all spellings, or not. */
function oddQuery(random: Random): string {
  const part = (): string => {
    const name = random.percent(80)
      ? random.pick(NAMES)
      : encodeURIComponent(word(random) + random.pick(['', '[]', '.']));
    const value = random.percent(60) ? random.pick(VALUES) : percentEncoded(hostileText(random));
    return random.percent(90) ? `${name}=${value.slice(0, 300)}` : name;
  };
  return random.list(random.between(1, 4), part).join(random.pick(['&', '&', '&&', ';']));
}

function percentEncoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

function bytesOf({ verb, target, headers, body, chunked }: RestRequest, random: Random): Buffer {
  const framing: [string, string][] =
    body === undefined
      ? []
      : [chunked ? ['transfer-encoding', 'chunked'] : ['content-length', `${body.length}`]];
  const lines = [...headers, ...framing].map(([name, value]) => `${spelled(name, random)}: ${value}\r\n`);
  const head = Buffer.from(`${verb} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  if (body === undefined) return head;
  return Buffer.concat([head, chunked ? inChunks(body, random) : body]);
}

function spelled(name: string, random: Random): string {
  return random.percent(90) ? name : name.toUpperCase();
}

function inChunks(body: Buffer, random: Random): Buffer {
  const size = random.pick([1_000, 16_384, body.length + 1]);
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const chunk = body.subarray(at, at + size);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}

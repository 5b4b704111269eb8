import { STRANGER } from '../ledger.js';
import { restCase } from '../rest/rest-case.js';
import { badCredential } from '../values/credential.js';
import { mutated } from '../values/mutation.js';
import type { Random } from '../values/random.js';
import { validDraft } from '../values/route-draft.js';
import type { FuzzCase, World } from '../world.js';

/** A service that waits for the rest of a request is silent for longer than this, in milliseconds. */
const QUIET_MS = 100;
/** Bytes worth inserting into HTTP/1.1. */
const DICTIONARY = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '%',
  '\r\n ',
  'HTTP/1.0',
  'HTTP/1.1',
  'HTTP/2.0',
  'HTTP/9.9',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip, chunked\r\n',
  'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding: xchunked\r\n',
  'Transfer-Encoding:\x0bchunked\r\n',
  'Content-Length: 0\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: +5\r\n',
  'Content-Length: 5, 5\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Host: other\r\n',
  'Connection: close\r\n',
  'Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n',
  'Expect: 100-continue\r\n',
  'X-A: b\r\n folded\r\n',
  '0\r\n\r\n',
  '5\r\nabcde\r\n',
  '5;ext=1\r\nabcde\r\n',
  'fffffffffffffffff\r\n',
  '-1\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
].map((text) => Buffer.from(text, 'latin1'));

/** One to four requests on one connection, broken in places, cut anywhere, and not always read. */
export function http1Bytes(random: Random, world: World): FuzzCase {
  const good = random.percent(75);
  const credentials = good ? [`Bearer ${world.token}`] : badCredential(random, world);
  const authorization = credentials.map((each) => `Authorization: ${each}\r\n`).join('');
  const requests = random.list(random.pick([1, 1, 2, 4]), () => request(authorization, good, random, world));
  const bytes = Buffer.concat(requests);
  const broken = random.percent(85) ? mutated(bytes, random, DICTIONARY) : bytes;
  const ending = random.percent(90) ? 'finish' : 'cut';
  return restCase({ bytes: broken, ending, quietMs: QUIET_MS }, random, world);
}

function request(authorization: string, good: boolean, random: Random, world: World): Buffer {
  const draft = good ? validDraft(random) : { ...validDraft(random), handler: STRANGER };
  const body = JSON.stringify(draft);
  const head = `Host: ${world.http}\r\n${authorization}`;
  const post = `POST /v1/routing HTTP/1.1\r\n${head}Content-Type: application/json\r\n`;
  const length = Buffer.byteLength(body);
  const chunks = `${length.toString(16)}\r\n${body}\r\n0\r\n`;
  switch (random.below(9)) {
    case 0:
      return Buffer.from(`${post}Transfer-Encoding: chunked\r\n\r\n${chunks}\r\n`);
    case 1:
      return Buffer.from(`${post}Transfer-Encoding: chunked\r\nTrailer: x\r\n\r\n${chunks}x: y\r\n\r\n`);
    case 2:
      return Buffer.from(
        `${post}Content-Length: ${length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}\r\n`,
      );
    case 3:
      return Buffer.from(`${post}Content-Length: ${length + random.between(-9, 9)}\r\n\r\n${body}`);
    case 4:
      return Buffer.from(`${post}Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n${body}`);
    case 5:
      return Buffer.from(`GET /v1/routing/${random.pick(world.routes).id} HTTP/1.1\r\n${head}\r\n`);
    case 6:
      return Buffer.from(
        `${random.pick(['GET', 'HEAD', 'OPTIONS', 'CONNECT'])} ${random.pick(TARGETS)} HTTP/1.1\r\n${head}\r\n`,
      );
    default:
      return Buffer.from(`${post}Content-Length: ${length}\r\n\r\n${body}`);
  }
}

const TARGETS = [
  '/healthz',
  '/',
  '*',
  'example.test:443',
  'http://example.test/healthz',
  '/v1/routing',
  '/openapi.json',
];

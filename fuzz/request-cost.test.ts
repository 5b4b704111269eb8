import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { HttpFailure } from '../packages/transcoder/src/failures/failure.js';
import { parseJsonText } from '../packages/transcoder/src/json/json-text.js';
import { RequestMessages } from '../packages/transcoder/src/message/request-message.js';
import { readContract } from '../packages/transcoder/src/template/contract.js';
import { libraryDescriptorSet } from '../packages/transcoder/test/support/library-contract.js';
import { at, place, weighted } from './draws.js';

/** How many pairs of requests are compared. */
const CASES = 120;
/** What a failed run prints, to repeat it. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const TIME_LIMIT_MS = 900_000;
/** How many times the CPU time of a valid request of its size and shape a request may take. */
const MOST = 3;
/** The same, for a request that is nearly nothing but mistakes: a mistake is kept with its place. */
const MOST_OF_MISTAKES = 6;
/** How long each of the two is repeated in a round, in milliseconds, and how many rounds there are at most. */
const ROUND_MS = 8;
const ROUNDS = 12;

interface Request {
  readonly verb: string;
  readonly target: string;
  readonly body?: Buffer;
}

/** Two requests of the same size and shape, the second of which is valid. */
interface Pair {
  readonly name: string;
  readonly request: Request;
  readonly valid: Request;
  /** How many times the CPU time of the valid one the request may take. */
  readonly most: number;
}

/** The values of one type, as JSON. */
interface Leaf {
  readonly valid: readonly string[];
  readonly wrong: readonly string[];
}

/** Mistakes of the text, which no type takes. */
const FLAWED = ['"\\ud800"', '"\\udc00\\ud800"', '1e400', '{"a":1,"a":2}'];
const LEAVES = {
  number: {
    valid: ['7', '12345', '"7"', '7e0', '-7.0', '"1.2e1"'],
    wrong: ['"x"', '1.5', '3000000000', 'null', '{}', '9007199254740993', '"1e99"', ...FLAWED],
  },
  text: {
    valid: ['"a"', '""', '"\\u0061"', '"é📚"', '"\\n"', '"a longer text, as a title has it"'],
    wrong: ['7', 'true', 'null', '[]', '9007199254740993', ...FLAWED],
  },
  time: {
    valid: ['"2026-01-02T03:04:05Z"', '"2026-01-02T03:04:05.123456789+01:00"'],
    wrong: ['"2026-02-30T00:00:00Z"', '"x"', '7', 'null', ...FLAWED],
  },
  any: { valid: ['1', '"a"', 'null', '[1,{"a":true}]', '7e0', '9007199254740993'], wrong: FLAWED },
} as const satisfies Record<string, Leaf>;

const ANY = '"@type":"type.googleapis.com/library.v1.Everything"';
const AUTHOR = '"@type":"type.googleapis.com/library.v1.Author"';
const around = (depth: number, before: string, inner: string, after: string): string =>
  before.repeat(depth) + inner + after.repeat(depth);

/** A form of bodies: the type of the leaves, one item with a leaf, and what is around the items. */
interface Shape {
  readonly leaf: Leaf;
  readonly item: (leaf: string, index: number) => string;
  readonly whole: (items: string) => string;
}

const { any, number, text, time } = LEAVES;
const itself = (leaf: string): string => leaf;
/** @param key a `#` in it becomes the number of the member. */
function itemWithKey(key: string): Shape['item'] {
  return (leaf, index) => `${key.replace('#', String(index))}:${leaf}`;
}
const member = itemWithKey('"k#"');
const mapOfTexts: Shape = {
  leaf: text,
  item: member,
  whole: (items) => `{"stringMap":{${items}}}`,
};
const SHAPES: Readonly<Record<string, Shape>> = {
  'a list of numbers': { leaf: number, item: itself, whole: (items) => `{"int32List":[${items}]}` },
  'a list of texts': { leaf: text, item: itself, whole: (items) => `{"stringList":[${items}]}` },
  'a list of times': { leaf: time, item: itself, whole: (items) => `{"timeList":[${items}]}` },
  'a map of texts': mapOfTexts,
  'a map of times by number': {
    leaf: time,
    item: itemWithKey('"#"'),
    whole: (items) => `{"timeByNumber":{${items}}}`,
  },
  'a list of messages': {
    leaf: number,
    item: (leaf) => `{"int32Value":${leaf},"string_value":"a","nested":{"boolValue":true}}`,
    whole: (items) => `{"nestedList":[${items}]}`,
  },
  'members of a oneof': {
    leaf: number,
    item: (leaf) => `{"secondChoice":${leaf}}`,
    whole: (items) => `{"nestedList":[${items}]}`,
  },
  'a list, 44 messages deep': {
    leaf: number,
    item: itself,
    whole: (items) => around(44, '{"nested":', `{"int32List":[${items}]}`, '}'),
  },
  'a list, 22 Anys deep': {
    leaf: number,
    item: itself,
    whole: (items) => `{"any":${around(21, `{${ANY},"any":`, `{${ANY},"int32List":[${items}]}`, '}')}}`,
  },
  'Anys in messages': {
    leaf: text,
    item: (leaf) => `{"any":{"name":${leaf},${AUTHOR}}}`,
    whole: (items) => `{"nestedList":[${items}]}`,
  },
  'a Struct': { leaf: any, item: member, whole: (items) => `{"struct":{${items}}}` },
  'a Struct of objects': {
    leaf: any,
    item: (leaf, index) => `"k${index}":{"a":${leaf},"b":[${leaf}]}`,
    whole: (items) => `{"struct":{${items}}}`,
  },
  'a Value': { leaf: any, item: itself, whole: (items) => `{"value":[${items}]}` },
  'a ListValue in an Any': {
    leaf: any,
    item: itself,
    whole: (items) => `{"any":{"@type":"type.googleapis.com/google.protobuf.ListValue","value":[${items}]}}`,
  },
};

/** Which of the leaves are wrong. */
const SHARES: Readonly<Record<string, (index: number) => boolean>> = {
  none: () => false,
  'the first': (index) => index === 0,
  'every tenth': (index) => index % 10 === 9,
  all: () => true,
};

/** What a text becomes: itself, or what is no JSON. */
const ending = weighted<(text: string) => string>(
  [6, fc.constant((json) => json)],
  [1, fc.constant((json) => json.slice(0, -1))],
  [1, fc.constant((json) => `${json}]`)],
);

/** Items of a body until it has a size, each with a leaf. */
function itemsOf({ item }: Shape, bytes: number, leafAt: (index: number) => string): string {
  const items: string[] = [];
  for (let size = 0; size < bytes; size += Buffer.byteLength(items.at(-1) ?? '') + 1)
    items.push(item(leafAt(items.length), items.length));
  return items.join();
}

function echoOf(json: string): Request {
  return { verb: 'POST', target: '/v1/echo', body: Buffer.from(json) };
}

const bodies = fc
  .record({
    shape: fc.constantFrom(...Object.entries(SHAPES)),
    share: fc.constantFrom(...Object.entries(SHARES)),
    end: ending,
    bytes: fc.integer({ min: 2, max: 62_000 }),
    drawn: fc.tuple(place, place),
  })
  .map(({ shape: [shapeName, shape], share: [shareName, isWrong], end, bytes, drawn }): Pair => {
    const { valid, wrong } = shape.leaf;
    const validLeaf = valid[at(drawn[0], valid.length)] ?? '';
    const wrongLeaf = wrong[at(drawn[1], wrong.length)] ?? '';
    const json = shape.whole(itemsOf(shape, bytes, (index) => (isWrong(index) ? wrongLeaf : validLeaf)));
    return {
      name: `${shapeName} of ${bytes} bytes, to ${end('…')}: ${validLeaf}; wrong, as ${wrongLeaf}: ${shareName}`,
      request: echoOf(end(json)),
      valid: echoOf(shape.whole(itemsOf(shape, bytes, () => validLeaf))),
      most: shareName === 'all' ? MOST_OF_MISTAKES : MOST,
    };
  });

/** The size of a query, and of a path. */
const QUERY_BYTES = 8_000;
const DEEP = `${'nested.'.repeat(40)}stringList`;
/** Parameters with a valid value, and what a query may have in their place. */
const PARAMETERS: Readonly<Record<string, readonly [valid: string, ...others: string[]]>> = {
  'a list of numbers': ['int32List=7', 'int32List=x', 'int32_list=7e0', 'int32List=%ff', 'int32List'],
  'a list of times': ['timeList=2026-01-02T03:04:05Z', 'timeList=2026-02-30T03:04:05Z', 'timeList=1'],
  'a list, 40 messages deep': [`${DEEP}=a`, `${DEEP}s=a`, `${DEEP}=%zz`, `${DEEP}.a=a`, `.${DEEP}=`],
  'a map': ['stringMap[#]=a', 'stringMap[a]=a', 'stringByNumber[#]=a', 'stringByNumber[x#]=a', 'map[#]=a'],
};

const queries = fc
  .record({
    kind: fc.constantFrom(...Object.entries(PARAMETERS)),
    drawn: place,
    every: fc.integer({ min: 1, max: 10 }),
  })
  .map(({ kind: [kindName, [valid, ...others]], drawn, every }): Pair => {
    const another = others[at(drawn, others.length)] ?? '';
    const queryOf = (parameterAt: (index: number) => string): Request => {
      const parameters: string[] = [];
      for (let length = 0; length < QUERY_BYTES; length += (parameters.at(-1) ?? '').length + 1)
        parameters.push(parameterAt(parameters.length).replace('#', String(parameters.length)));
      return { verb: 'GET', target: `/v1/echo?${parameters.join('&')}` };
    };
    return {
      name: `a query of ${kindName}, where each ${every}. is ${another}`,
      request: queryOf((index) => (index % every === 0 ? another : valid)),
      valid: queryOf(() => valid),
      most: every === 1 ? MOST_OF_MISTAKES : MOST,
    };
  });

/** One long value, and what makes it wrong. */
const LONG: readonly Pair[] = [
  { name: 'an escape that is wrong at the end', valid: ['stringValue', 'a\\n'.repeat(20_000)], wrong: '\\x' },
  {
    name: 'a wrong character of base64 at the end',
    valid: ['bytesValue', 'AAAA'.repeat(15_000)],
    wrong: '*',
  },
  {
    name: 'a mask in snake case at the end',
    valid: ['fieldMask', 'aB,cD.eF,'.repeat(6_500) + 'a'],
    wrong: '_b',
  },
  { name: 'half a character at the end', valid: ['stringValue', 'é\\n'.repeat(15_000)], wrong: '\\ud800' },
  { name: 'a wrong time', valid: ['stringValue', 'a'.repeat(60_000)], wrong: '","time":"1' },
].map(({ name, valid: [field, value], wrong }) => ({
  name,
  request: echoOf(`{"${field}":"${value}${wrong}"}`),
  valid: echoOf(`{"${field}":"${value}"}`),
  most: MOST,
}));

/** Members that no object may have so often, or at all. */
const MEMBERS: readonly Pair[] = ['"a"', '"no#"', '"\\ud800"', '"__proto__"', '"stringValue"'].map((key) => ({
  name: `an object of members ${key}`,
  request: echoOf(`{${itemsOf({ ...mapOfTexts, item: itemWithKey(key) }, 60_000, () => '"a"')}}`),
  valid: echoOf(mapOfTexts.whole(itemsOf(mapOfTexts, 60_000, () => '"a"'))),
  most: MOST_OF_MISTAKES,
}));

const PATHS: readonly Pair[] = ['%ff', '%zz', '%F0%9F%93%9A', 'a/'].map((part) => ({
  name: `a path of ${part}`,
  request: { verb: 'GET', target: `/v1/files/${part.repeat(QUERY_BYTES / part.length)}a` },
  valid: { verb: 'GET', target: `/v1/files/${'%20'.repeat(QUERY_BYTES / 3)}a` },
  most: MOST,
}));

const { registry, table } = readContract(libraryDescriptorSet, { unsupported: 'skip' });
const requests = new RequestMessages(registry, { lenient: true });

/** Reads a request as the transcoder does, and makes the texts of its refusal. Returns whether it is valid. */
function read({ verb, target, body }: Request): boolean {
  const [path = '', query = ''] = target.split('?');
  const found = table.find(verb, path);
  if (found.outcome !== 'found') throw new Error(`No binding takes ${verb} ${path}.`);
  const { binding, segments } = found;
  try {
    const json = body === undefined ? undefined : parseJsonText(body);
    requests.encode(binding, requests.read(binding, { segments, query, body: json }));
    return true;
  } catch (error) {
    const refusal = error as HttpFailure;
    return refusal.text().length + refusal.violations().length < 0;
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** How often a request is read within a round. */
function repetitionsOf(request: Request): number {
  let count = 0;
  const start = cpuMs();
  do {
    read(request);
    count += 1;
  } while (cpuMs() - start < ROUND_MS);
  return count;
}

/** The CPU time of reading a request once, in milliseconds. */
function costOf(request: Request, repetitions: number): number {
  const start = cpuMs();
  for (let count = 0; count < repetitions; count += 1) read(request);
  return (cpuMs() - start) / repetitions;
}

/** How many times the CPU time of the valid request the other one takes: by the cheapest of the rounds, which alternate. */
function ratioOf({ request, valid, most }: Pair): number {
  const repetitions = [repetitionsOf(request), repetitionsOf(valid)] as const;
  let ofRequest = Infinity;
  let ofValid = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    ofRequest = Math.min(ofRequest, costOf(request, repetitions[0]));
    ofValid = Math.min(ofValid, costOf(valid, repetitions[1]));
    if (round >= 2 && ofRequest / ofValid < most / 2) break;
  }
  return ofRequest / ofValid;
}

describe('a request of up to 64 KiB', { timeout: TIME_LIMIT_MS }, () => {
  it(`costs at most ${MOST} times a valid one of its size and shape, or ${MOST_OF_MISTAKES} if it is nearly all mistakes`, () => {
    const drawn = [
      ...fc.sample(bodies, { seed: SEED, numRuns: CASES }),
      ...fc.sample(queries, { seed: SEED, numRuns: CASES / 4 }),
      ...LONG,
      ...MEMBERS,
      ...PATHS,
    ];
    expect(drawn.filter(({ valid }) => !read(valid)).map(({ name }) => name)).toEqual([]);
    const measured = drawn.map((pair) => ({ ...pair, ratio: ratioOf(pair) }));
    const tooCostly = measured.filter(({ ratio, most }) => ratio > most);
    expect(
      tooCostly.map(({ name, ratio }) => `${ratio.toFixed(1)} times: ${name}`),
      `seed ${SEED}`,
    ).toEqual([]);
  });
});

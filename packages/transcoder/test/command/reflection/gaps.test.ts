import { createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
  Edition,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as FieldType,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { credentials } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { reflect } from '../../../src/command/reflection.js';
import fc from '../../support/fast-check.js';
import { opening } from '../../support/opening.js';
import { answering, type File, files, listed, startReflecting } from '../../support/reflecting-server.js';

const { MESSAGE, ENUM, STRING } = FieldType;

/** A file of the package `a` with a service that has a method for each type, which is its request and response. */
const service = (name: string, types: readonly string[], file: File = {}): File => ({
  name: `${name}.proto`,
  package: 'a',
  service: [
    {
      name,
      method: types.map((type, index) => ({ name: `Call${index}`, inputType: type, outputType: type })),
    },
  ],
  ...file,
});

const plain = (name: string) => ({ name });
const field = (more: object) => ({ name: 'odd', number: 1, type: STRING, label: Label.OPTIONAL, ...more });
/** A message with a field of a message type. */
const holder = (name: string, typeName: string) => ({ name, field: [field({ type: MESSAGE, typeName })] });

const GOOD = service('Good', ['.a.Plain'], { messageType: [plain('Plain')] });

/** The files that a server sends, right or wrong, by the name of a symbol or of a file. */
type Answers = Readonly<Record<string, readonly (File | Uint8Array)[]>>;

/** Starts a server whose reflection answers as told, and has nothing else but `a.Good`. */
async function startTold(services: readonly string[], answers: Answers) {
  const questions: string[] = [];
  const reflection = answering(({ messageRequest: { value } }) => {
    const name = value as string;
    questions.push(name);
    if (name === '*') return listed(['a.Good', ...services]);
    return files(name === 'a.Good' ? [GOOD] : answers[name]);
  });
  return { ...opening(await startReflecting({ reflection })), questions };
}

/** What a client takes from such a server. */
async function taken(services: readonly string[], answers: Answers) {
  const { address, questions } = await startTold(services, answers);
  const contract = await reflect(address, { credentials: credentials.createInsecure() });
  const set = fromBinary(FileDescriptorSetSchema, contract.descriptorSet);
  return { ...contract, questions, registry: createFileRegistry(set) };
}

describe('a service is served', () => {
  it.each<[what: string, answers: Answers]>([
    [
      'the server lacks a file that only options need',
      {
        'a.Own': [
          service('Own', ['.a.Own1'], { dependency: ['options.proto'], messageType: [plain('Own1')] }),
        ],
      },
    ],
    [
      'a file is imported under another name than it has',
      {
        'a.Own': [service('Own', ['.google.protobuf.Empty'], { dependency: ['empty.proto'] })],
        'google.protobuf.Empty': [
          { name: 'google/protobuf/empty.proto', package: 'google.protobuf', messageType: [plain('Empty')] },
        ],
      },
    ],
    [
      'the server lacks a well-known file',
      {
        'a.Own': [
          service('Own', ['.google.rpc.Status', '.a.Coded'], {
            dependency: ['google/rpc/status.proto'],
            messageType: [{ name: 'Coded', field: [field({ type: ENUM, typeName: '.google.rpc.Code' })] }],
          }),
        ],
      },
    ],
    [
      'the server sends an empty file for an import that it lacks',
      {
        'a.Own': [
          service('Own', ['.google.protobuf.Empty'], { dependency: ['google/protobuf/empty.proto'] }),
          { name: 'google/protobuf/empty.proto' },
          {},
        ],
      },
    ],
    [
      'its file imports nothing',
      {
        'a.Own': [service('Own', ['.b.Other'])],
        'b.Other': [{ name: 'b', package: 'b', messageType: [plain('Other')] }],
      },
    ],
    [
      'two files have one name',
      {
        'a.Own': [
          service('Own', ['.b.Other', '.c.Other'], { dependency: ['common.proto'] }),
          { name: 'common.proto', package: 'b', messageType: [plain('Other')] },
          { name: 'common.proto', package: 'c', messageType: [plain('Other')] },
        ],
      },
    ],
    [
      'one file has two names',
      {
        'a.Own': [
          service('Own', ['.b.Other'], { dependency: ['other.proto', 'b/other.proto'] }),
          { name: 'other.proto', package: 'b', messageType: [plain('Other')] },
          { name: 'b/other.proto', package: 'b', messageType: [plain('Other')] },
        ],
      },
    ],
    [
      'its types have no package and relative names',
      {
        'a.Own': [service('Own', ['Bare'])],
        '.Bare': [{ name: 'bare.proto', messageType: [holder('Bare', 'Held'), plain('Held')] }],
      },
    ],
    [
      'an extension does not fit',
      {
        'a.Own': [
          service('Own', ['.a.Own1'], {
            messageType: [{ ...plain('Own1'), extension: [{ name: 'inner', extendee: '.x.Lacking' }] }],
            extension: [{ name: 'outer', number: 9, type: ENUM, extendee: '.a.Own1', typeName: '.a.Own1' }],
          }),
        ],
      },
    ],
  ])('although %s', async (_, answers) => {
    const { services, skipped, registry } = await taken(['a.Own'], answers);
    expect(services).toEqual(['a.Good', 'a.Own']);
    expect(skipped).toEqual([]);
    expect(registry.getService('a.Own')?.methods.length).toBeGreaterThan(0);
  });

  it('although the server lists it with a leading dot, since it has no package', async () => {
    const file = { name: 'bare.proto', messageType: [plain('M')], service: [{ name: 'Bare' }] };
    expect(await taken(['.Bare'], { '.Bare': [file] })).toMatchObject({
      services: ['a.Good', 'Bare'],
      skipped: [],
    });
  });

  it('without the methods that need what the server lacks', async () => {
    const own = service('Own', ['.a.Whole', '.a.Outer', '.a.Lacking'], {
      dependency: ['lacking.proto'],
      messageType: [
        plain('Whole'),
        {
          ...holder('Outer', '.a.Outer.Inner'),
          nestedType: [{ ...holder('Inner', '.b.Lacking'), nestedType: [plain('X')] }],
        },
      ],
    });
    const { services, skipped, registry } = await taken(['a.Own'], { 'a.Own': [own] });
    expect(services).toEqual(['a.Good', 'a.Own']);
    const where = 'the server does not describe; it lacks lacking.proto, which Own.proto imports.';
    expect([...skipped].sort()).toEqual([
      `a.Own.Call1: it needs b.Lacking, which ${where}`,
      `a.Own.Call2: it needs a.Lacking, which ${where}`,
    ]);
    expect(registry.getService('a.Own')?.methods.map(({ name }) => name)).toEqual(['Call0']);
    expect(registry.getMessage('a.Outer')).toBeUndefined();
  });

  it('after one question for each file and symbol', async () => {
    const { questions } = await taken(['a.Own', 'a.Other'], {
      'a.Own': [service('Own', ['.a.X', '.a.X', '.a.Y'], { dependency: ['x.proto'] })],
      'a.Other': [service('Other', ['.a.X', '.a.Y', '.a.Y'], { dependency: ['x.proto'] })],
    });
    expect(questions).toEqual(['*', 'a.Good', 'a.Own', 'a.Other', 'x.proto', 'a.X', 'a.Y']);
  });
});

describe('a service is left out with the reason, and the others are served, after', () => {
  const odd = (message: object): File =>
    service('Bad', ['.a.Odd'], { messageType: [{ name: 'Odd', ...message }] });
  const NONE = 'the server lists it, but has no descriptor of it';
  const UNREADABLE = 'the server lists it, but its descriptor cannot be read';
  const TWICE = 'the server defines a.Odd twice, differently in Bad.proto and';

  it.each<[what: string, files: (File | Uint8Array)[] | undefined, reason: string]>([
    ['no descriptor', undefined, NONE],
    ['bytes that are no file', [Buffer.from('no file')], UNREADABLE],
    ['the file of another service', [GOOD], NONE],
    ['a message of its name', [{ name: 'Bad.proto', package: 'a', messageType: [plain('Bad')] }], NONE],
    [
      'a request of a type that the server lacks',
      [service('Bad', ['.a.Lacking'])],
      'it needs a.Lacking, which the server does not describe',
    ],
    [
      'a field of a type that the server lacks, with its file',
      [
        service('Bad', ['.a.Odd'], {
          dependency: ['x.proto', 'y.proto'],
          messageType: [holder('Odd', '.b.X')],
        }),
      ],
      'it needs b.X, which the server does not describe; it lacks x.proto and y.proto, which Bad.proto imports',
    ],
    [
      'an empty file in place of the one with its types',
      [service('Bad', ['.b.X'], { dependency: ['x.proto'] }), { name: 'x.proto' }],
      'it needs b.X, which the server does not describe; it lacks x.proto, which Bad.proto imports',
    ],
    [
      'a message where an enum must be',
      [odd({ field: [field({ type: ENUM, typeName: '.a.Odd' })] })],
      'it needs a.Odd, which the server does not describe',
    ],
    [
      'a message that is defined twice',
      [odd({}), { name: 'again.proto', package: 'a', messageType: [holder('Odd', '.a.Odd')] }],
      `${TWICE} again.proto`,
    ],
    [
      'a message that is also an enum',
      [odd({}), { name: 'again.proto', package: 'a', enumType: [plain('Odd')] }],
      `${TWICE} again.proto`,
    ],
    [
      'a message that is defined twice in one file',
      [service('Bad', ['.a.Odd'], { messageType: [plain('Odd'), plain('Odd')] })],
      `${TWICE} Bad.proto`,
    ],
    [
      'files that import each other',
      [
        service('Bad', ['.a.Odd'], {
          dependency: ['b.proto'],
          messageType: [holder('Odd', '.b.Odd'), plain('Back')],
        }),
        { name: 'b.proto', package: 'b', dependency: ['Bad.proto'], messageType: [holder('Odd', '.a.Back')] },
      ],
      'it needs a.Back, and b.proto and Bad.proto import each other',
    ],
    [
      'an edition of the future',
      [
        service('Bad', ['.a.Odd'], {
          syntax: 'editions',
          edition: Edition.EDITION_99998_TEST_ONLY,
          messageType: [plain('Odd')],
        }),
      ],
      'a.Bad cannot be read, Bad.proto: unsupported edition',
    ],
  ])('%s', async (_, protos, reason) => {
    const { services, skipped, registry } = await taken(
      ['a.Bad'],
      protos === undefined ? {} : { 'a.Bad': protos },
    );
    expect(services).toEqual(['a.Good']);
    expect(skipped).toEqual([`a.Bad: ${reason}.`]);
    expect(registry.getService('a.Bad')).toBeUndefined();
    expect(registry.getService('a.Good')?.methods).toHaveLength(1);
  });
});

describe('a large contract', () => {
  const LARGE = 5_000;
  const many = service(
    'Many',
    Array.from({ length: LARGE }, (_, index) => `.a.M${index}`),
    {
      messageType: Array.from({ length: LARGE }, (_, index) =>
        holder(`M${index}`, `.a.M${LARGE - 1 - index}`),
      ),
    },
  );

  it('is taken while the process does other work', async () => {
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 1);
    const { services, registry } = await taken(['a.Many'], { 'a.Many': [many] });
    clearInterval(ticking);
    expect(services).toEqual(['a.Good', 'a.Many']);
    expect(registry.getService('a.Many')?.methods).toHaveLength(LARGE);
    expect(turns).toBeGreaterThan(1);
  });
});

describe('whatever a server describes', () => {
  const names = ['A', 'B', 'C'];
  const types = [...names.map((name) => `.a.${name}`), '.b.A', 'A', 'A.B', '.google.protobuf.Any', '.x.X'];
  const message = fc.record({
    name: fc.constantFrom(...names),
    field: fc.array(
      fc.record({
        name: fc.constant('f'),
        number: fc.integer({ min: 1, max: 2 }),
        type: fc.constantFrom(MESSAGE, ENUM, STRING),
        label: fc.constantFrom(Label.OPTIONAL, Label.REPEATED),
        typeName: fc.constantFrom(...types),
      }),
      { maxLength: 2 },
    ),
    nestedType: fc.array(fc.record({ name: fc.constantFrom(...names), field: fc.constant([field({})]) }), {
      maxLength: 1,
    }),
  });
  const file = fc.record({
    name: fc.constantFrom('1.proto', '2.proto', '3.proto'),
    package: fc.constantFrom('a', 'b', ''),
    dependency: fc.uniqueArray(fc.constantFrom('1.proto', '2.proto', '3.proto', 'x.proto')),
    messageType: fc.array(message, { maxLength: 3 }),
    enumType: fc.array(fc.record({ name: fc.constantFrom(...names, 'E') }), { maxLength: 1 }),
    extension: fc.array(
      fc.record({ name: fc.constant('e'), extendee: fc.constantFrom(...types), number: fc.constant(9) }),
      { maxLength: 1 },
    ),
    service: fc.array(
      fc.record({
        name: fc.constantFrom('S', 'T'),
        method: fc.array(
          fc.record({
            name: fc.constantFrom('M', 'N'),
            inputType: fc.constantFrom(...types),
            outputType: fc.constantFrom(...types),
          }),
          { maxLength: 2 },
        ),
      }),
      { maxLength: 2 },
    ),
  });

  it('fits together, or is left out with a reason', async () => {
    let described: File[] = [];
    const { address } = await startTold(['a.S', 'b.T'], {
      get 'a.S'() {
        return described;
      },
    });
    await fc.assert(
      fc.asyncProperty(fc.array(file, { maxLength: 4 }), async (drawn) => {
        described = drawn as unknown as File[];
        const { services, skipped, descriptorSet } = await reflect(address, {
          credentials: credentials.createInsecure(),
        });
        const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptorSet));
        expect(services).toContain('a.Good');
        for (const name of ['a.S', 'b.T']) {
          expect(registry.getService(name) !== undefined).toBe(services.includes(name));
          expect(services.includes(name) || skipped.some((text) => text.startsWith(`${name}: `))).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});

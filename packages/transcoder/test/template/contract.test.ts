import { gzipSync } from 'node:zlib';
import {
  create,
  type FileRegistry,
  fromBinary,
  type JsonObject,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type FileDescriptorProto,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import type { HttpRuleSchema } from '../../src/gen/google/api/http_pb.js';
import { type ContractOptions, readContract } from '../../src/template/contract.js';
import {
  branchImage,
  libraryDescriptorSet,
  registry,
  unmarkedBranch,
  withRule,
} from '../support/library-contract.js';

/** The files of the library's contract whose names match. */
function filesOf(names: RegExp): FileDescriptorSet {
  const files = [...(registry satisfies FileRegistry).files].map(({ proto }) => proto);
  return create(FileDescriptorSetSchema, { file: files.filter(({ name }) => names.test(name)) });
}

type Rule = MessageInitShape<typeof HttpRuleSchema>;

describe('a contract', () => {
  it('has the bindings of all methods with an HTTP rule', () => {
    const methods = readContract(libraryDescriptorSet).bindings.map(({ method }) => method.name);
    expect(methods).toContain('CreateShelf');
    expect(methods).not.toContain('Unbound');
    expect(methods.filter((name) => name === 'GetLoan')).toHaveLength(2);
  });

  it('keeps no comments', () => {
    const commented = (files: Iterable<FileDescriptorProto>): boolean[] =>
      [...files].map(({ sourceCodeInfo }) => sourceCodeInfo !== undefined);
    expect(commented(fromBinary(FileDescriptorSetSchema, libraryDescriptorSet).file)).toContain(true);
    const files = [...readContract(libraryDescriptorSet).registry.files];
    expect(commented(files.map(({ proto }) => proto))).not.toContain(true);
  });

  it.each([
    ['JSON', Buffer.from('{"file":[]}')],
    ['compressed', gzipSync(libraryDescriptorSet)],
  ])('is refused with a message if it is %s', (_, bytes) => {
    expect(() => readContract(bytes)).toThrow(
      'The descriptor set is not a serialized google.protobuf.FileDescriptorSet, as `buf build -o` and `protoc` write it.',
    );
  });

  it('is refused without the files that it imports', () => {
    const bytes = toBinary(FileDescriptorSetSchema, filesOf(/^library\//));
    expect(() => readContract(bytes)).toThrow(
      'The descriptor set lacks google/api/annotations.proto, which library/v1/library.proto imports; `protoc` needs `--include_imports`.',
    );
  });

  it('may have rules with only additional bindings, and for the root', () => {
    const root = { pattern: { case: 'post', value: '/' } } as const;
    const { bindings, skipped, table } = readContract(withRule('HoldBody', { additionalBindings: [root] }));
    expect(skipped).toEqual([]);
    expect(bindings.find(({ method }) => method.name === 'HoldBody')?.template.source).toBe('/');
    expect(table.find('POST', '/')).toMatchObject({ outcome: 'found', segments: [] });
  });

  it('is refused without HTTP rules', () => {
    const set = toBinary(
      FileDescriptorSetSchema,
      filesOf(/^google\/(protobuf\/descriptor|api\/(http|annotations))\.proto$/),
    );
    expect(() => readContract(set)).toThrow('No method of the contract can be served by google.api.http.');
  });
});

describe('an unsupported binding', () => {
  const sentence = (name: string, reason: string): string => `library.v1.Unsupported.${name}: ${reason}.`;
  const STREAM = 'streams of requests are not supported';
  const TWICE = 'the path template "/**/a/**" has "**" twice';
  const getA = { case: 'get', value: '/a' } as const;
  const postA = { case: 'post', value: '/a' } as const;

  it.each([
    { name: 'Upload', rule: { pattern: postA }, reason: STREAM },
    { name: 'HoldBody', rule: { pattern: { case: 'get', value: '/**/a/**' } }, reason: TWICE },
    {
      name: 'HoldBody',
      rule: {
        pattern: { case: 'get', value: '/**/a/**' },
        additionalBindings: [{ pattern: { case: 'post', value: '/**/a/**' } }],
      },
      reason: TWICE,
    },
  ] satisfies { name: string; rule: Rule; reason: string }[])(
    'of $name is refused, or left out with one message: $reason',
    ({ name, rule, reason }) => {
      const set = withRule(name, rule);
      expect(() => readContract(set)).toThrow(new Error(sentence(name, reason)));
      const { bindings, skipped } = readContract(set, { unsupported: 'skip' });
      expect(skipped).toEqual([sentence(name, reason)]);
      expect(bindings).toHaveLength(readContract(libraryDescriptorSet).bindings.length);
    },
  );

  it('is a server stream if the upstream has no streams', () => {
    const set = withRule('Stream', { pattern: getA });
    const reason = sentence('Stream', 'the upstream serves no streams');
    expect(() => readContract(set, { serverStreams: false })).toThrow(new Error(reason));
    expect(readContract(set).bindings.map(({ callPath }) => callPath)).toContain(
      '/library.v1.Unsupported/Stream',
    );
  });

  it('does not remove the other bindings of its method', () => {
    const after = { pattern: { case: 'get', value: '/**/b/**' } } as const;
    const held = {
      pattern: { case: 'custom', value: { kind: 'HEAD', path: '/b' } },
      body: 'content',
    } as const;
    const set = withRule('HoldBody', {
      pattern: getA,
      additionalBindings: [after, held, { pattern: postA }],
    });
    const { bindings, skipped } = readContract(set, { unsupported: 'skip' });
    expect(skipped).toEqual([
      sentence('HoldBody', 'the path template "/**/b/**" has "**" twice'),
      sentence('HoldBody', 'HEAD has a body'),
    ]);
    expect(
      bindings
        .filter(({ method }) => method.name === 'HoldBody')
        .map(({ verb, template }) => `${verb} ${template.source}`),
    ).toEqual(['GET /a', 'POST /a']);
  });

  it('is the later of two bindings for the same requests', () => {
    const [shelf, a] = [{ pattern: { case: 'get', value: '/v1/shelves/*' } }, { pattern: getA }] as const;
    const set = withRule('HoldBody', { ...shelf, additionalBindings: [a, a] });
    const { bindings, skipped, table } = readContract(set, { unsupported: 'skip' });
    const hold = 'library.v1.Unsupported.HoldBody';
    expect(skipped).toEqual([
      `${hold}: GET /v1/shelves/* is bound to library.v1.Library.GetShelf, which comes first.`,
      `${hold}: GET /a is bound to ${hold}, which comes first.`,
    ]);
    expect(() => readContract(set)).toThrow(new Error(skipped[0]));
    expect(bindings.filter(({ method }) => method.name === 'HoldBody')).toHaveLength(1);
    const found = table.find('GET', '/v1/shelves/7');
    expect(found).toMatchObject({ binding: { method: { name: 'GetShelf' } } });
  });

  it('is refused even with skip if nothing else is left to serve', () => {
    const set = withRule('Upload', { pattern: postA });
    const options = { services: ['library.v1.Unsupported'], unsupported: 'skip' } as const;
    expect(() => readContract(set, options)).toThrow(
      'No method of the contract can be served by google.api.http.',
    );
  });

  it.each([
    { why: 'a malformed template', rule: { pattern: { case: 'get', value: '/a/{' } } },
    { why: 'an unknown field', rule: { pattern: postA, body: 'nothing' } },
    {
      why: 'an unknown field in such a template',
      rule: { pattern: { case: 'get', value: '/**/{nothing}' } },
    },
  ] satisfies { why: string; rule: Rule }[])(
    'may also have $why, which is refused by default',
    ({ rule }) => {
      for (const name of ['Stream', 'HoldBody']) {
        const set = withRule(name, rule);
        const { skipped } = readContract(set, { unsupported: 'skip' });
        expect(skipped).toEqual([expect.stringContaining(`library.v1.Unsupported.${name}: `)]);
        expect(() => readContract(set)).toThrow(new Error(skipped[0]));
      }
    },
  );
});

describe('the served services', () => {
  const served = (set: Uint8Array, options?: ContractOptions): string[] => {
    const services = readContract(set, options).bindings.map(({ method }) => method.parent.typeName);
    return [...new Set(services)];
  };

  it('are those of a buf image outside of its imports', () => {
    expect(served(branchImage)).toEqual(['branch.v1.Branch']);
  });

  it('are all services if no file is marked as an import', () => {
    expect(served(unmarkedBranch)).toEqual(['library.v1.Library', 'library.v1.Probe', 'branch.v1.Branch']);
  });

  it('are those that the options name, imported or not', () => {
    const services = ['library.v1.Probe', 'branch.v1.Branch', 'library.v1.Probe'];
    expect(served(branchImage, { services })).toEqual(['library.v1.Probe', 'branch.v1.Branch']);
    expect(served(unmarkedBranch, { services: ['branch.v1.Branch'] })).toEqual(['branch.v1.Branch']);
  });

  it('exclude those without an HTTP rule if unsupported bindings are skipped', () => {
    const services = ['branch.v1.Counter', 'library.v1.Probe'];
    const contract = readContract(branchImage, { services, unsupported: 'skip' });
    expect(new Set(contract.bindings.map(({ method }) => method.parent.typeName))).toEqual(
      new Set(['library.v1.Probe']),
    );
    expect(contract.domain).toBe('library.v1');
  });

  it.each([
    [['branch.v1.Branch', 'branch.v1.Shop'], 'The contract has no service "branch.v1.Shop".'],
    [['library.v1.Shelf'], 'The contract has no service "library.v1.Shelf".'],
    [
      ['branch.v1.Branch', 'branch.v1.Counter'],
      'No method of the service "branch.v1.Counter" has an HTTP rule.',
    ],
    [[], 'No method of the contract can be served by google.api.http.'],
  ])('cannot be %j: %s', (services, sentence) => {
    expect(() => readContract(branchImage, { services })).toThrow(new Error(sentence));
  });

  it('cannot be empty: an image with rules only in its imports is refused', () => {
    const set = fromBinary(FileDescriptorSetSchema, branchImage);
    for (const { service } of set.file.filter((file) => file.package === 'branch.v1')) service.splice(0);
    expect(() => readContract(toBinary(FileDescriptorSetSchema, set))).toThrow(
      'No method of the contract can be served by google.api.http.',
    );
  });
});

describe('the domain of errors', () => {
  it.each([
    { why: 'the first served service', set: branchImage, domain: 'branch.v1' },
    {
      why: 'the first service in the set',
      set: unmarkedBranch,
      domain: 'library.v1',
    },
    {
      why: 'the first service in the options',
      set: branchImage,
      services: ['library.v1.Probe', 'branch.v1.Branch'],
      domain: 'library.v1',
    },
  ])('is the package of $why', ({ set, services, domain }) => {
    expect(readContract(set, { services }).domain).toBe(domain);
  });

  it('is the one that the options name', () => {
    const options = { services: ['branch.v1.Branch'], domain: 'library.example.com' };
    expect(readContract(branchImage, options).domain).toBe('library.example.com');
  });
});

describe('rules outside of the contract', () => {
  const bound = (rules: JsonObject[], options?: ContractOptions): string[] =>
    readContract(branchImage, { rules, ...options }).bindings.map(
      ({ method, verb, template }) => `${method.name}: ${verb} ${template.source}`,
    );
  const [GET_SHELF, LEND] = ['branch.v1.Branch.GetShelf', 'branch.v1.Counter.Lend'];

  it('replace an annotation with all its bindings, and serve methods without an annotation', () => {
    const shelf = {
      selector: GET_SHELF,
      put: '/a/{shelf_id}',
      additionalBindings: [{ get: '/b/{shelf_id}' }],
    };
    const lend = { selector: LEND, post: '/{name=**}:lend', body: '*' };
    expect(bound([lend])).toEqual([
      'GetShelf: GET /v1/branch/shelves/{shelf_id}',
      'Lend: POST /{name=**}:lend',
    ]);
    expect(bound([shelf])).toEqual(['GetShelf: PUT /a/{shelf_id}', 'GetShelf: GET /b/{shelf_id}']);
    expect(bound([lend], { services: ['branch.v1.Counter'] })).toEqual(['Lend: POST /{name=**}:lend']);
  });

  it('may use proto names, as most YAML files do', () => {
    const rule = {
      selector: GET_SHELF,
      get: '/a',
      response_body: 'theme',
      additional_bindings: [{ get: '/b' }],
    };
    const { bindings } = readContract(branchImage, { rules: [rule] });
    expect(bindings).toMatchObject([{ responseBody: { name: 'theme' } }, { template: { source: '/b' } }]);
  });

  it('override earlier ones for the same method', () => {
    const rules = ['/a', '/b', '/c'].map((get) => ({ selector: GET_SHELF, get }));
    expect(bound(rules)).toEqual(['GetShelf: GET /c']);
  });

  it('do not add a service that is not served', () => {
    const rules = [{ selector: 'library.v1.Library.GetBook', get: '/a' }];
    expect(bound(rules)).toEqual(['GetShelf: GET /v1/branch/shelves/{shelf_id}']);
  });

  it.each(['branch.v1.Branch.Close', 'branch.v1.Shop.GetShelf', 'branch.v1.Branch', 'GetShelf', ''])(
    'with the unknown selector "%s" are refused or left out',
    (selector) => {
      const rules = [
        { selector: GET_SHELF, get: '/a' },
        { selector, get: '/b' },
      ];
      const sentence = `rules[1]: the contract has no method "${selector}".`;
      expect(() => readContract(branchImage, { rules })).toThrow(new Error(sentence));
      const { bindings, skipped } = readContract(branchImage, { rules, unsupported: 'skip' });
      expect(bindings).toHaveLength(1);
      expect(skipped).toEqual([sentence]);
    },
  );

  it.each([
    { rule: { selector: GET_SHELF, fetch: '/a' }, says: /^rules\[0\]: .*"fetch".*\.$/ },
    { rule: { selector: GET_SHELF, get: 7 }, says: /^rules\[0\]: .*HttpRule\.get.*\.$/ },
    { rule: { selector: GET_SHELF, get: '/a', put: '/a' }, says: /^rules\[0\]: .*get and put\.$/ },
  ])('are refused if they are not HTTP rules: $rule', ({ rule, says }) => {
    for (const unsupported of ['refuse', 'skip'] as const) {
      expect(() => readContract(branchImage, { rules: [rule], unsupported })).toThrow(says);
    }
  });
});

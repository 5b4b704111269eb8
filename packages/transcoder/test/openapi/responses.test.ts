import { describe, expect, it } from 'vitest';
import { allFailures } from '../../src/failures/failure.js';
import type { FailureFacts, Response } from '../../src/openapi.js';
import { fulfils, library, operationOf, schemaOf, shop } from '../support/described.js';

/** The prefix of the types of `google.rpc`. */
const GOOGLE = 'type.googleapis.com/google.rpc.';

const document = shop();
const component = (of: typeof document, name: string): Response => {
  const response = of.components.responses[name];
  if (response === undefined) throw new Error(`There is no response ${name}.`);
  return response;
};
const headersOf = (of: typeof document, id: string, status: number): string[] => {
  const response = operationOf(of, id).responses[String(status)];
  return 'headers' in (response ?? {}) ? Object.keys((response as Response).headers) : [];
};

describe('the successes of standard methods', () => {
  it('are 201 with Location for a create whose resource has a Get method, and 200 for its dry run', () => {
    const reply = library();
    expect(headersOf(reply, 'createShelf', 201)).toEqual(['X-Request-Id', 'Cache-Control', 'Location']);
    expect(headersOf(reply, 'createReview', 201)).toEqual(['X-Request-Id', 'Cache-Control']);
    expect(Object.keys(operationOf(reply, 'createShelf').responses).slice(0, 3)).toEqual([
      '200',
      '201',
      '400',
    ]);
    expect(Object.keys(operationOf(reply, 'createReview').responses)[0]).toBe('201');
  });

  it('are 200 and 304 with an entity tag for GET, with conditional headers in the request', () => {
    const tagged = ['X-Request-Id', 'Cache-Control', 'ETag', 'Vary'];
    expect(headersOf(document, 'Shop_getItem', 200)).toEqual(tagged);
    expect(headersOf(document, 'Shop_getItem', 304)).toEqual(tagged);
    expect(operationOf(document, 'Shop_getItem').responses).toHaveProperty('412');
    expect(operationOf(document, 'Shop_getItem').parameters).toContainEqual({
      $ref: '#/components/parameters/If-None-Match',
    });
  });

  it('say how long they may be cached', () => {
    const { headers } = library().components;
    expect(headers['Immutable']?.schema['const']).toBe('private, max-age=31536000, immutable');
    expect(headers['Revalidate']?.schema['const']).toBe('private, no-cache');
    expect(headers['NoStore']?.schema['const']).toBe('no-store');
    expect(operationOf(library(), 'getShelf').responses['200']).toMatchObject({
      headers: { 'Cache-Control': { $ref: '#/components/headers/Immutable' } },
    });
  });

  it('are plain 200s with standardMethods: false', () => {
    const bare = shop({ standardMethods: false });
    for (const id of ['createItem', 'Shop_getItem']) {
      expect(Object.keys(operationOf(bare, id).responses).slice(0, 2)).toEqual(['200', '400']);
      expect(headersOf(bare, id, 200)).toEqual(['X-Request-Id', 'Cache-Control']);
      expect(operationOf(bare, id).responses).not.toHaveProperty('412');
    }
    expect(bare.components.responses).not.toHaveProperty('Error412');
  });
});

// The paths of streams of requests are not described.
const OWN = Object.keys(allFailures).filter((reason) => reason !== 'REQUEST_STREAM_UNSUPPORTED');

/** The statuses of the failures of an operation. */
const failuresOf = (of: typeof document, id: string): string[] =>
  Object.keys(operationOf(of, id).responses).filter((status) => !/^[23]/.test(status));

describe('the failures of a server without a list of failures', () => {
  it('may have any status and reason', () => {
    expect(failuresOf(document, 'updateItem_2')).toEqual(['400', '413', '415', '429', '503', 'default']);
    expect(component(document, 'Error')).toMatchObject({
      description: 'Any other failure; its `reason` says which.',
      headers: { 'WWW-Authenticate': { required: false }, 'Retry-After': { required: false } },
    });
    expect(component(document, 'Error400').description).toBe(
      'Bad Request: `REQUEST_MALFORMED`, or a reason of the service.',
    );
    expect(schemaOf(document, 'ErrorInfo')['properties']).toMatchObject({
      reason: { type: 'string', examples: expect.arrayContaining(OWN) as string[] },
      domain: { examples: ['shop.v1'] },
    });
  });

  it('may have any detail, and any reason and domain', () => {
    const details = [
      { '@type': `${GOOGLE}ErrorInfo`, reason: 'SOLD', domain: 'elsewhere' },
      { '@type': `${GOOGLE}Help`, links: [] },
    ];
    const error = { code: 409, status: 'ALREADY_EXISTS', message: '', details };
    expect(fulfils(document, schemaOf(document, 'Error'), { error })).toBe(true);
    for (const detail of [{ '@type': `${GOOGLE}ErrorInfo` }, { links: [] }]) {
      const broken = { ...error, details: [detail] };
      expect(fulfils(document, schemaOf(document, 'Error'), { error: broken })).toBe(false);
    }
  });
});

describe('the listed failures of a server', () => {
  const failures: Record<string, FailureFacts> = {
    ITEM_EXISTS: { code: 'ALREADY_EXISTS' },
    NO_TOKEN: { code: 'UNAUTHENTICATED', everywhere: true },
    NO_SCOPE: { code: 'PERMISSION_DENIED', everywhere: true },
    CLOSED: { code: 'UNAVAILABLE', everywhere: true },
    REQUEST_MALFORMED: { code: 'INVALID_ARGUMENT', everywhere: true },
    WITHDRAWN: { code: 'CANCELLED', everywhere: true },
  };
  const closed = shop({ failures, domain: 'shop.example' });

  it('belong to all methods, or to those whose comment names them', () => {
    expect(failuresOf(closed, 'createItem')).toEqual(
      expect.arrayContaining(['401', '403', '409', '413', 'default']),
    );
    expect(failuresOf(closed, 'dropItem')).toEqual(['400', '401', '403', '429', '503', 'default']);
    expect(Object.keys(component(closed, 'Error').headers)).toEqual(['X-Request-Id', 'Cache-Control']);
  });

  it('are named, by status, with the headers that clients act on', () => {
    expect(component(closed, 'Error409').description).toBe('Conflict: `ITEM_EXISTS`.');
    expect(component(closed, 'Error400').description).toBe('Bad Request: `REQUEST_MALFORMED`.');
    expect(component(closed, 'Error401').headers['WWW-Authenticate']).toMatchObject({ required: true });
    expect(component(closed, 'Error403').headers['WWW-Authenticate']).toMatchObject({ required: false });
    for (const name of ['Error429', 'Error503'])
      expect(component(closed, name).headers['Retry-After']).toMatchObject({ required: true });
  });

  it('are the only reasons besides those of the transcoder', () => {
    const info = schemaOf(closed, 'ErrorInfo')['properties'] as { reason: { enum: string[] } };
    expect(info.reason.enum).toEqual([...new Set([...Object.keys(failures), ...OWN])].sort());
    expect(closed.components.schemas).not.toHaveProperty('OtherDetail');
  });

  const ERROR_INFO = { '@type': `${GOOGLE}ErrorInfo`, reason: 'CLOSED', domain: 'shop.example' };
  const BAD_REQUEST = {
    '@type': `${GOOGLE}BadRequest`,
    fieldViolations: [{ field: 'name', description: 'Must be a name.' }],
  };
  const RETRY_INFO = { '@type': `${GOOGLE}RetryInfo`, retryDelay: '1s' };
  const REQUEST_INFO = { '@type': `${GOOGLE}RequestInfo`, requestId: 'a' };
  const DETAILS = [ERROR_INFO, BAD_REQUEST, RETRY_INFO, REQUEST_INFO];
  const ERROR = { code: 503, status: 'UNAVAILABLE', message: 'Closed.', details: DETAILS };
  const isError = (value: object): boolean => fulfils(closed, schemaOf(closed, 'Error'), value);
  const [violation] = BAD_REQUEST.fieldViolations;

  it.each<[what: string, error: object]>([
    ['every detail', ERROR],
    ['one detail', { ...ERROR, details: [ERROR_INFO] }],
    ['metadata', { ...ERROR, details: [{ ...ERROR_INFO, metadata: { item: '7' } }] }],
    ['the lowest status', { ...ERROR, code: 400 }],
    ['the highest status', { ...ERROR, code: 599 }],
  ])('have a schema that accepts an error with %s', (_, error) => {
    expect(isError({ error })).toBe(true);
  });

  it.each<[what: string, error: object]>([
    ...Object.keys(ERROR).map((name): [string, object] => [`no ${name}`, without(ERROR, name)]),
    ...Object.keys(ERROR).map((name): [string, object] => [`an object as ${name}`, { ...ERROR, [name]: {} }]),
    ...DETAILS.flatMap((detail) =>
      Object.keys(detail).flatMap((name): [string, object][] => [
        [`no ${name} in ${detail['@type']}`, withInPlaceOf(detail, without(detail, name))],
        [`7 as ${name} in ${detail['@type']}`, withInPlaceOf(detail, { ...detail, [name]: 7 })],
      ]),
    ),
    ...Object.keys(violation ?? {}).flatMap((name): [string, object][] => [
      [`no ${name} of a field`, withViolations(without(violation, name))],
      [`7 as ${name} of a field`, withViolations({ ...violation, [name]: 7 })],
    ]),
    ['no violation', withViolations()],
    ['a status of a success', { ...ERROR, code: 399 }],
    ['a status beyond all', { ...ERROR, code: 600 }],
    ['the code OK', { ...ERROR, status: 'OK' }],
    ['two reasons', { ...ERROR, details: [ERROR_INFO, ERROR_INFO] }],
    ['no reason', { ...ERROR, details: [REQUEST_INFO] }],
    ['an unknown reason', { ...ERROR, details: [{ ...ERROR_INFO, reason: 'SOLD' }] }],
    ['another domain', { ...ERROR, details: [{ ...ERROR_INFO, domain: 'elsewhere' }] }],
    ['metadata that is no text', { ...ERROR, details: [{ ...ERROR_INFO, metadata: { item: 7 } }] }],
    ['an unknown detail', { ...ERROR, details: [ERROR_INFO, { '@type': `${GOOGLE}Help` }] }],
  ])('have a schema that refuses an error with %s', (_, error) => {
    expect(isError({ error })).toBe(false);
  });

  it('have a schema that refuses anything but an error', () => {
    expect([isError({}), isError([]), isError({ error: 'Closed.' })]).toEqual([false, false, false]);
  });

  function withInPlaceOf(detail: object, other: object): object {
    return { ...ERROR, details: DETAILS.map((usual) => (usual === detail ? other : usual)) };
  }

  function withViolations(...fieldViolations: object[]): object {
    return { ...ERROR, details: [ERROR_INFO, { ...BAD_REQUEST, fieldViolations }] };
  }
});

function without(value: object | undefined, name: string): object {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([key]) => key !== name));
}

describe('the failures of the transcoder', () => {
  it('of a body belong to the operations that have one', () => {
    expect(failuresOf(document, 'Till_getItem')).toEqual(['400', '412', '429', '503', 'default']);
  });

  it('name the accepted media type in the header for the HTTP method', () => {
    expect(component(document, 'Error415').headers).toMatchObject({
      'Accept-Post': { required: false, schema: { const: 'application/json' } },
      'Accept-Patch': { required: false },
      'Accept-Encoding': { required: false, schema: { const: 'identity' } },
    });
    const posts = library({ services: ['library.v1.Library'], failures: {} });
    const accepted = Object.keys(component(posts, 'Error415').headers).filter((name) =>
      name.startsWith('Accept-P'),
    );
    expect(accepted).toContain('Accept-Post');
  });
});

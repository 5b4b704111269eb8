import { describe, expect, it } from 'vitest';
import { failures } from '../../src/failures/failure.js';
import type { FailureFacts, Response } from '../../src/openapi.js';
import { fulfils, library, operationOf, schemaOf, shop } from '../support/described.js';

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
const OWN = Object.keys(failures).filter((reason) => reason !== 'REQUEST_STREAM_UNSUPPORTED');

describe('the failures of a server without a list of failures', () => {
  it('may have any status and reason', () => {
    expect(Object.keys(operationOf(document, 'updateItem_2').responses)).toEqual([
      '200',
      '400',
      '413',
      '415',
      '429',
      '500',
      '503',
      '504',
      'default',
    ]);
    expect(component(document, 'ErrorOfService')).toMatchObject({
      description: expect.stringMatching(
        /^Any other failure of the service, or .*414 `TARGET_TOO_LONG`/,
      ) as string,
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
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'SOLD', domain: 'elsewhere' },
      { '@type': 'type.googleapis.com/google.rpc.Help', links: [] },
    ];
    const error = { code: 409, status: 'ALREADY_EXISTS', message: '', details };
    expect(fulfils(document, schemaOf(document, 'Error'), { error })).toBe(true);
    const broken = { ...error, details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo' }] };
    expect(fulfils(document, schemaOf(document, 'Error'), { error: broken })).toBe(false);
  });
});

describe('the listed failures of a server', () => {
  const given: Record<string, FailureFacts> = {
    ITEM_EXISTS: { code: 'ALREADY_EXISTS', message: 'It exists.', metadata: { item: '7' } },
    NO_TOKEN: { code: 'UNAUTHENTICATED', message: 'A token is needed.', everywhere: true },
    NO_SCOPE: {
      code: 'PERMISSION_DENIED',
      message: 'The scope is missing.',
      metadata: { scope: 'write' },
      everywhere: true,
    },
    FORBIDDEN: { code: 'PERMISSION_DENIED', message: 'Not yours.', everywhere: true },
    CLOSED: {
      code: 'UNAVAILABLE',
      message: 'Closed.',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }],
      everywhere: true,
    },
    REQUEST_MALFORMED: { code: 'INVALID_ARGUMENT', message: 'As the server says it.', everywhere: true },
    WITHDRAWN: { code: 'CANCELLED', message: 'Withdrawn.', everywhere: true },
  };
  const closed = shop({ failures: given, domain: 'shop.example', realm: 'counter' });

  it('belong to all methods, or to those whose comment names them', () => {
    const statuses = ['401', '403', '413', 'default'];
    expect(Object.keys(operationOf(closed, 'createItem').responses)).toEqual(
      expect.arrayContaining([...statuses, '409']),
    );
    expect(Object.keys(operationOf(closed, 'dropItem').responses)).toEqual(expect.arrayContaining(statuses));
    expect(operationOf(closed, 'dropItem').responses).not.toHaveProperty('409');
    expect(component(closed, 'ErrorOfTransport').description).toBe(
      'The request did not pass the transport: 408 `REQUEST_TIMED_OUT`, 414 `TARGET_TOO_LONG`, 431 `HEADERS_TOO_LARGE`, 501 `TRANSFER_CODING_UNSUPPORTED`.',
    );
    expect(component(closed, 'Error499').description).toBe(
      'Client Closed Request: `WITHDRAWN`, `CANCELLED`.',
    );
  });

  it('have the response of the transcoder as their example, and require the headers common to a status', () => {
    expect(component(closed, 'Error409')).toMatchObject({
      description: 'Conflict: `ITEM_EXISTS`.',
      content: {
        'application/json': {
          examples: {
            ITEM_EXISTS: {
              value: {
                error: {
                  code: 409,
                  status: 'ALREADY_EXISTS',
                  message: 'It exists.',
                  details: [
                    { reason: 'ITEM_EXISTS', domain: 'shop.example', metadata: { item: '7' } },
                    { '@type': 'type.googleapis.com/google.rpc.RequestInfo' },
                  ],
                },
              },
            },
          },
        },
      },
    });
    expect(component(closed, 'Error401').headers['WWW-Authenticate']).toMatchObject({
      required: true,
      example: 'Bearer realm="counter", error="invalid_token"',
    });
    expect(component(closed, 'Error403').headers['WWW-Authenticate']).toMatchObject({
      required: false,
      example: 'Bearer realm="counter", error="insufficient_scope", scope="write"',
    });
    expect(component(closed, 'Error503').headers['Retry-After']).toMatchObject({
      required: true,
      example: 7,
    });
    expect(component(closed, 'Error400').content).toMatchObject({
      'application/json': {
        examples: { REQUEST_MALFORMED: { value: { error: { message: 'As the server says it.' } } } },
      },
    });
  });

  it('are the only reasons besides those of the transcoder', () => {
    const info = schemaOf(closed, 'ErrorInfo')['properties'] as { reason: { enum: string[] } };
    const own = [...OWN, 'CANCELLED', 'UPSTREAM_UNAVAILABLE'];
    expect(info.reason.enum).toEqual([...new Set([...Object.keys(given), ...own])].sort());
    expect(info).toMatchObject({
      domain: { const: 'shop.example' },
      metadata: { description: 'Facts that belong to the reason, for example `item` or `scope`.' },
    });
    expect(closed.components.schemas).not.toHaveProperty('OtherDetail');
  });

  it('have examples that are valid against their schemas', () => {
    const responses = Object.values(closed.components.responses);
    for (const { content } of [...responses, ...Object.values(document.components.responses)])
      for (const { value } of Object.values(content?.['application/json']?.examples ?? {}))
        expect(fulfils(closed, schemaOf(closed, 'Error'), value)).toBe(
          (value as { error: { details: { domain?: string }[] } }).error.details[0]?.domain ===
            'shop.example',
        );
  });
});

describe('the failures of the transcoder', () => {
  it('follow its options', () => {
    const small = shop({ maxBodyBytes: 7, maxRequests: 9 });
    expect(JSON.stringify(component(small, 'Error413'))).toContain('larger than 7 bytes');
    expect(JSON.stringify(component(small, 'Error429'))).toContain('It has 9 calls under way');
  });

  it('name the accepted media type in the header for the HTTP method', () => {
    const reference = (id: string) => operationOf(document, id).responses['415'];
    expect(reference('createItem')).toEqual({ $ref: '#/components/responses/Error415' });
    expect(reference('updateItem')).toEqual({ $ref: '#/components/responses/Error415Patch' });
    expect(component(document, 'Error415').headers).toMatchObject({
      'Accept-Post': { required: true, schema: { const: 'application/json' } },
      'Accept-Encoding': { required: false, schema: { const: 'identity' } },
    });
    expect(component(document, 'Error415Patch').headers).toHaveProperty('Accept-Patch');
    expect(library({ services: ['library.v1.Probe'] }).components.responses).toHaveProperty('Error415Patch');
    expect(shop({ services: ['shop.v1.Till'] }).components.responses).not.toHaveProperty('Error415Patch');
  });

  it('for unknown paths and methods are described outside of the operations', () => {
    expect(component(document, 'PathUnknown').description).toContain('`PATH_UNKNOWN`');
    expect(component(document, 'MethodNotAllowed').headers['Allow']).toMatchObject({
      example: 'GET, HEAD, OPTIONS',
    });
  });
});

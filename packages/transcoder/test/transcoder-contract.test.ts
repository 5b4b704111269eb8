import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { TranscoderOptions } from '../src/options.js';
import { createTranscoder } from '../src/transcoder.js';
import { errorOf, httpRequest } from './support/http-request.js';
import { branchImage, withRule } from './support/library-contract.js';
import { LibraryServer } from './support/library-server.js';
import { listening } from './support/opening.js';

/** Serves the contract of a branch, over the library's upstream, on a loopback port. */
async function start(options: Partial<TranscoderOptions> = {}): Promise<string> {
  const given = { descriptorSet: branchImage, upstream: new LibraryServer(), ...options };
  return listening(createServer(createTranscoder(given).handler));
}

describe('the services of imported files', () => {
  it('are not served unless the options name them', async () => {
    const [path, own] = ['/v1/shelves/7', '/v1/branch/shelves/7'];
    const alone = await start();
    expect(await httpRequest(alone, { path })).toMatchObject({ status: 404 });
    expect(await httpRequest(alone, { path: own })).toMatchObject({ status: 401 });
    const named = await start({ services: ['library.v1.Library'] });
    expect(await httpRequest(named, { path })).toMatchObject({ status: 401 });
    expect(await httpRequest(named, { path: own })).toMatchObject({ status: 404 });
  });
});

describe('the domain', () => {
  it.each([
    { why: 'the package of the served services', options: {}, domain: 'branch.v1' },
    { why: 'the given one', options: { domain: 'books.example.com' }, domain: 'books.example.com' },
  ])('is $why, in errors and challenges', async ({ options, domain }) => {
    const origin = await start(options);
    const unknown = errorOf(await httpRequest(origin, { path: '/v2' }));
    expect(unknown.details).toContainEqual(expect.objectContaining({ reason: 'PATH_UNKNOWN', domain }));
    const unauthenticated = await httpRequest(origin, { path: '/v1/branch/shelves/7' });
    expect(unauthenticated.headers['www-authenticate']).toBe(`Bearer realm="${domain}"`);
  });
});

describe('what is left out of a contract', () => {
  it('is in its list, with one warning per item in the log', () => {
    const pattern = { case: 'get', value: '/a' } as const;
    const warnings: unknown[] = [];
    const warn = (fields: object, message: string): void => void warnings.push({ ...fields, message });
    const { skipped } = createTranscoder({
      descriptorSet: withRule('HoldBody', {
        pattern,
        additionalBindings: [{ pattern }, { pattern: { case: 'get', value: '/**/**' } }],
      }),
      rules: [{ selector: 'library.v1.Unsupported.Stream', get: '/v1/stream' }],
      upstream: new LibraryServer(),
      unsupported: 'skip',
      log: { debug: ignore, info: ignore, warn, error: ignore },
    });
    expect(skipped).toHaveLength(3);
    expect(skipped).toContain('library.v1.Unsupported.Stream: the upstream serves no streams.');
    expect(warnings).toEqual(skipped.map((reason) => ({ reason, message: 'method skipped' })));
  });
});

const ignore = (): void => undefined;

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorOf, httpRequest, type HttpRequest } from './support/http-request.js';
import { type PackedLibrary, startPackedLibrary } from './support/packed-library.js';

/** Building, packing and compiling are slow while other tests run. */
const PACKING_MS = 300_000;

describe("Google's library example, served by the packed package and the README's example", () => {
  let library: PackedLibrary;

  beforeAll(async () => {
    library = await startPackedLibrary();
  }, PACKING_MS);

  afterAll(() => library.close());

  const send = (request: HttpRequest) => httpRequest(library.origin, request);
  const create = (body: string) =>
    send({ method: 'POST', path: '/v1/shelves', headers: { 'content-type': 'application/json' }, body });

  it('runs the example that the README shows', () => {
    const read = (file: string): string => readFileSync(resolve(import.meta.dirname, '..', file), 'utf8');
    expect(read('README.md')).toContain(read('examples/serve-with-page.ts'));
  });

  it('has an OpenAPI document and a page', async () => {
    const document = JSON.parse((await send({ path: '/openapi.json' })).text) as object;
    expect(document).toMatchObject({
      info: { title: 'google.example.library.v1' },
      paths: { '/v1/shelves/{shelf}': { get: { summary: 'Gets a shelf' } } },
    });
    expect((await send({ path: '/docs' })).text).toContain('<title>google.example.library.v1</title>');
    expect((await send({ path: '/docs/swagger-ui.js' })).status).toBe(200);
  });

  it('creates a shelf at the path in Location, and names an invalid field', async () => {
    const created = await create('{"theme":"Poetry"}');
    expect(created.status).toBe(201);
    const got = await send({ path: String(created.headers.location) });
    expect(JSON.parse(got.text)).toEqual({ name: 'shelves/1', theme: 'Poetry' });
    expect(errorOf(await create('{"theem":"Poetry"}'))).toMatchObject({
      code: 400,
      message: 'The request does not fit the method: shelf.theem.',
    });
  });
});

import { expect, it, onTestFinished } from 'vitest';
import { startService } from '../support/service.js';

/** The Accept header of a browser. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

async function firstPage(settings: Readonly<Record<string, string>>, accept: string): Promise<Response> {
  const service = await startService({ databaseUrl: 'sqlite::memory:', settings });
  onTestFinished(() => service.close());
  return fetch(service.httpUrl, { headers: { accept }, redirect: 'manual' });
}

it.each([
  ['', '/', '/docs'],
  ['/api/routes', '/api/routes', '/api/routes/docs'],
])(
  'the first page redirects a browser from the base path "%s", behind a prefix too',
  async (basePath, path, docs) => {
    const response = await firstPage({ BASE_PATH: basePath }, BROWSER);
    expect(response.status).toBe(302);
    expect(response.headers.get('vary')).toBe('Accept');
    const place = String(response.headers.get('location'));
    expect(new URL(place, `http://a${path}`).pathname).toBe(docs);
    expect(new URL(place, `http://a/prefix${path}`).pathname).toBe(`/prefix${docs}`);
  },
);

it.each(['*/*', 'application/json', 'application/json, text/html;q=0.5', 'text/html;q=0'])(
  'the first page gives a client that accepts %s the paths as JSON',
  async (accept) => {
    const response = await firstPage({}, accept);
    expect(response.headers.get('vary')).toBe('Accept');
    expect(await response.json()).toEqual({ openapi: '/openapi.json', docs: '/docs', health: '/healthz' });
  },
);

it('the first page gives a browser the paths as JSON if DOCS=off', async () => {
  const response = await firstPage({ DOCS: 'off' }, BROWSER);
  expect(await response.json()).toEqual({ health: '/healthz' });
});

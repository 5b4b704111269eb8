import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { httpRequest } from '../support/http-request.js';
import { opening } from '../support/opening.js';
import { startReflecting } from '../support/reflecting-server.js';
import { originOf, startedWith } from '../support/running-command.js';

beforeAll(() => {
  vi.resetModules();
  vi.doMock('swagger-ui-dist/absolute-path.js', () => {
    throw new Error('not found');
  });
});

afterAll(() => {
  vi.doUnmock('swagger-ui-dist/absolute-path.js');
  vi.resetModules();
});

it('without swagger-ui-dist, the command serves the document alone, and says what the page needs', async () => {
  const { runCommand } = await import('../../src/command/command.js');
  const { address } = opening(await startReflecting());
  const command = startedWith(runCommand, ['--target', address]);
  const origin = await originOf(command);
  expect(command.lines.at(-1)).toBe(
    `${address} is served at ${origin}, without a page to try it, which needs npm install swagger-ui-dist`,
  );
  expect((await httpRequest(origin, { path: '/openapi.json' })).status).toBe(200);
  expect((await httpRequest(origin, { path: '/docs' })).status).toBe(404);
  expect((await httpRequest(origin, { path: '/', headers: { accept: 'text/html' } })).status).toBe(404);
});

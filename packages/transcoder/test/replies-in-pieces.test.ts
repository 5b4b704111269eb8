import { createServer } from 'node:http';
import { expect, it } from 'vitest';
import { createTranscoder } from '../src/transcoder.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer } from './support/library-server.js';
import { listening } from './support/opening.js';

/** Serves one resource with a body in pieces. Returns its URL, and the outcomes that an observer receives. */
async function serve(body: AsyncIterable<Uint8Array>): Promise<{ url: string; told: object[] }> {
  const told: object[] = [];
  const transcoder = createTranscoder({
    descriptorSet: libraryDescriptorSet,
    upstream: new LibraryServer(),
    observers: [{ begin: () => ({ end: (outcome) => void told.push(outcome) }) }],
  });
  const origin = await listening(
    createServer((request, response) => {
      transcoder.respond(request, response, () => ({
        status: 200,
        headers: {},
        body,
        contentType: 'text/plain',
      }));
    }),
  );
  return { url: `${origin}/`, told };
}

async function* pieces(failure?: Error): AsyncGenerator<Uint8Array> {
  yield Buffer.from('one ');
  yield await Promise.resolve(Buffer.from('two'));
  if (failure !== undefined) throw failure;
}

it('a custom reply may have a body in pieces', async () => {
  const { url, told } = await serve(pieces());
  expect(await (await fetch(url)).text()).toBe('one two');
  expect(told).toMatchObject([{ status: 200, reason: undefined }]);
});

it('a custom reply that fails in the middle is cut off and reported as failed', async () => {
  const { url, told } = await serve(pieces(new Error('broken')));
  const response = await fetch(url);
  await expect(response.text()).rejects.toThrow();
  expect(told).toMatchObject([{ status: 200, reason: 'INTERNAL' }]);
});

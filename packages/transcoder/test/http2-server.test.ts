import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { createTranscoder } from '../src/transcoder.js';
import { libraryDescriptorSet } from './support/library-contract.js';
import { LibraryServer } from './support/library-server.js';

it('a handler given to node:http2 tells the developer in the log, and clients only that the server is at fault', async () => {
  const causes: unknown[] = [];
  const ignore = (): void => undefined;
  const error = (fields: object): void => void causes.push((fields as { readonly err?: unknown }).err);
  const log = { debug: ignore, info: ignore, warn: ignore, error };
  const upstream = new LibraryServer();
  const { handler } = createTranscoder({ descriptorSet: libraryDescriptorSet, upstream, log });
  // The types refuse this server.
  const server = createServer(handler as never).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const stream = client.request({ ':path': '/v1/shelves/1' });
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
  expect(headers[':status']).toBe(500);
  expect(JSON.parse(await text(stream))).toMatchObject({ error: { message: 'An internal error occurred.' } });
  expect(String(causes)).toContain('it serves those of node:http and node:https');
  expect(causes).toHaveLength(1);
});

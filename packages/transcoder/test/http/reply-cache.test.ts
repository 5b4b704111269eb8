import { fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import type { Upstream } from '../../src/upstream.js';
import { httpRequest, type HttpResponse } from '../support/http-request.js';
import { typeOf } from '../support/library-contract.js';
import { MEMBER, VISITOR } from '../support/library-server.js';
import { openTranscoder, type RunningTranscoder } from '../support/library-transcoder.js';

const CACHE_BYTES = 1_000_000;

function start(options: Parameters<typeof openTranscoder>[0] = {}): Promise<RunningTranscoder> {
  return openTranscoder({ replyCacheBytes: CACHE_BYTES, ...options });
}

function get({ origin }: RunningTranscoder, path: string, headers = {}): Promise<HttpResponse> {
  return httpRequest(origin, { path, headers: { authorization: MEMBER, ...headers } });
}

/** A server that answers each call with the next of the books. */
function booksOf(books: readonly JsonObject[]): Upstream {
  const schema = typeOf('library.v1.Book');
  const messages = books.map((book) => toBinary(schema, fromJson(schema, book)));
  return { unary: () => ({ code: Code.OK, details: '', answered: true, message: messages.shift() }) };
}

const BOOK = '/v1/shelves/1/books/2';

/** What a reply is, without the headers that each has of its own. */
function essence({ status, text, headers: { etag, vary, ...headers } }: HttpResponse): object {
  return { status, text, etag, vary, cached: headers['cache-control'], length: headers['content-length'] };
}

it('a reply is the same, byte for byte, rendered or from the cache', async () => {
  const [plain, gateway] = [await start({ replyCacheBytes: 0 }), await start()];
  const bytes = `/v1/echo?bytes_value=${'A'.repeat(4_000)}`;
  for (const path of ['/v1/shelves/1', `/v1/shelves/${encodeURIComponent('é€𝄞')}`, BOOK, bytes]) {
    const rendered = essence(await get(plain, path));
    expect(rendered).toMatchObject({ status: 200, etag: expect.any(String) as string });
    expect(essence(await get(gateway, path))).toEqual(rendered);
    expect(essence(await get(gateway, path))).toEqual(rendered);
  }
  expect(gateway.replyCache()).toMatchObject({ hits: 4, misses: 4, entries: 4 });
  expect(plain.replyCache()).toEqual({ hits: 0, misses: 0, entries: 0, bytes: 0 });
});

it('another message is never answered with the reply to an earlier one', async () => {
  const books = ['First', 'Second', 'First'].map((title) => ({ name: 'shelves/1/books/2', title }));
  const gateway = await start({ upstream: booksOf(books), guard: undefined });
  const replies = [await get(gateway, BOOK), await get(gateway, BOOK), await get(gateway, BOOK)];
  expect(replies.map(({ text }) => JSON.parse(text) as object)).toMatchObject(books);
  expect(replies[0]?.headers.etag).not.toBe(replies[1]?.headers.etag);
  expect(gateway.replyCache()).toMatchObject({ hits: 1, misses: 2 });
});

it('two bindings of one GET with different response bodies each have their own replies', async () => {
  const selector = 'library.v1.Library.GetShelf';
  const theme = { get: '/v1/shelves/{shelf_id}/theme', responseBody: 'theme' };
  const rule = { selector, get: '/v1/shelves/{shelf_id}', additionalBindings: [theme] };
  const gateway = await start({ rules: [rule] });
  for (const hits of [0, 2]) {
    expect(JSON.parse((await get(gateway, '/v1/shelves/1')).text)).toMatchObject({ id: '1', theme: 'all' });
    expect((await get(gateway, '/v1/shelves/1/theme')).text).toBe('"all"');
    expect(gateway.replyCache()).toMatchObject({ hits, entries: 2 });
  }
});

it('each request is judged by its own preconditions', async () => {
  const gateway = await start();
  const path = '/v1/shelves/1';
  const { text, headers } = await get(gateway, path);
  const known = { 'if-none-match': headers.etag };
  expect(await get(gateway, path, known)).toMatchObject({ status: 304, text: '' });
  expect(await get(gateway, path, { 'if-none-match': '"other"' })).toMatchObject({ status: 200, text });
  expect(await get(gateway, path, { 'if-match': '"other"' })).toMatchObject({ status: 412 });
  expect(await get(gateway, path)).toMatchObject({ status: 200, text });
  expect(gateway.replyCache()).toMatchObject({ hits: 4, misses: 1 });
});

it('a caller whom the server refuses gets no reply that is cached', async () => {
  const gateway = await start();
  await get(gateway, '/v1/shelves/1');
  expect(await get(gateway, '/v1/shelves/1', { authorization: 'Bearer stranger' })).toMatchObject({
    status: 401,
  });
  expect(gateway.replyCache()).toMatchObject({ hits: 0, misses: 1 });
});

it('a caller that reads everything takes no more memory, and changes no reply of the others', async () => {
  const replyCacheBytes = 8_000;
  const gateway = await start({ replyCacheBytes });
  const mine = essence(await get(gateway, '/v1/shelves/mine'));
  const shelves = Array.from({ length: 60 }, (_, id) => `/v1/shelves/${id}`);
  let most = 0;
  for (const path of shelves) {
    await get(gateway, path, { authorization: VISITOR });
    most = Math.max(most, gateway.replyCache().bytes);
  }
  expect(most).toBeLessThanOrEqual(replyCacheBytes);
  expect(gateway.replyCache().entries).toBeGreaterThan(10);
  expect(gateway.replyCache().entries).toBeLessThan(shelves.length);
  expect(essence(await get(gateway, '/v1/shelves/mine'))).toEqual(mine);
  expect(gateway.replyCache()).toMatchObject({ hits: 0, misses: shelves.length + 2 });
});

it('what is read often stays while a caller reads everything else', async () => {
  const gateway = await start({ replyCacheBytes: 8_000 });
  await get(gateway, '/v1/shelves/mine');
  for (let id = 0; id < 60; id += 1) {
    await get(gateway, `/v1/shelves/${id}`, { authorization: VISITOR });
    await get(gateway, '/v1/shelves/mine');
  }
  expect(gateway.replyCache()).toMatchObject({ hits: 60, misses: 61 });
});

it('a caller that reads much once evicts few replies from a full cache', async () => {
  const gateway = await start({ replyCacheBytes: 8_000 });
  const own = Array.from({ length: 8 }, (_, id) => `/v1/shelves/own${id}`);
  for (const path of own) await get(gateway, path);
  for (let id = 0; id < 24; id += 1) await get(gateway, `/v1/shelves/${id}`, { authorization: VISITOR });
  for (const path of own.reverse()) await get(gateway, path);
  expect(gateway.replyCache().hits).toBeGreaterThanOrEqual(4);
});

it.each([
  { what: 'body', large: { title: '\u0001'.repeat(10_000) } },
  { what: 'message', large: { name: 'x'.repeat(20_000) } },
])('a $what of more than 16 KiB is rendered for each request, and evicts nothing', async ({ large }) => {
  const books = [{ title: 'small' }, large, large, { title: 'small' }];
  const selector = 'library.v1.Library.GetBook';
  const rule = { selector, get: '/v1/{name=shelves/*/books/*}', responseBody: 'title' };
  const gateway = await start({ upstream: booksOf(books), guard: undefined, rules: [rule] });
  const titles: string[] = [];
  while (titles.length < books.length) titles.push((await get(gateway, BOOK)).text);
  expect(titles).toEqual(books.map(({ title = '' }: { title?: string }) => JSON.stringify(title)));
  expect(gateway.replyCache()).toMatchObject({ hits: 1, entries: 1 });
});

it.each([
  { what: 'replies to other methods', method: 'POST', path: '/v1/echo', options: {} },
  {
    what: 'replies that clients may not cache',
    method: 'GET',
    path: BOOK,
    options: { standardMethods: false },
  },
])('$what are not kept', async ({ method, path, options }) => {
  const gateway = await start(options);
  const headers = { authorization: MEMBER, 'content-type': 'application/json' };
  for (let sent = 0; sent < 2; sent += 1)
    expect(await httpRequest(gateway.origin, { method, path, headers })).toMatchObject({ status: 200 });
  expect(gateway.replyCache()).toEqual({ hits: 0, misses: 0, entries: 0, bytes: 0 });
});

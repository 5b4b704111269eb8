import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { eachPacket, isQuery, textOf, withText } from '../support/mysql-packets.js';
import { describeOn } from '../support/needs.js';
import { type KnexRouteStore, type OpenedStore, openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';
import { startTcpFront } from '../support/tcp-front.js';

/**
 * Starts a balancer that splits reads and writes, as ProxySQL and MySQL Router do: SELECT statements outside a
 * transaction go to the reader, all others to the writer. It is closed when the test ends.
 *
 * @param targetPort the server of both, which are two databases
 * @param reader the name of the reader's database; the writer's is the database in the client's URL
 * @returns the port of the balancer
 */
async function startSplittingFront(targetPort: number, reader: string): Promise<number> {
  const front = await startTcpFront(targetPort, (client, server) => {
    let inTransaction = false;
    const toServer = eachPacket((packet) => {
      if (!isQuery(packet)) return true;
      const text = textOf(packet);
      if (/^(?:begin|commit|rollback)/i.test(text)) inTransaction = /^begin/i.test(text);
      if (inTransaction || !/^select/i.test(text)) return true;
      return withText(packet, text.replace(/from `?routes`?/g, `from \`${reader}\`.routes`));
    });
    client.pipe(toServer).pipe(server);
    server.pipe(client);
  });
  onTestFinished(() => front.close());
  return front.port;
}

describeOn(engines.slice(1))('behind a balancer that sends reads to a lagging reader, on $name', (engine) => {
  let writer: OpenedStore;
  /** Has none of the writer's routes. */
  let reader: OpenedStore;
  let store: KnexRouteStore;
  let strict: KnexRouteStore;

  /** Opens a store behind the balancer that knows no route yet. */
  async function behindBalancer(duplicates: 'allow' | 'reject'): Promise<KnexRouteStore> {
    const name = new URL(reader.url).pathname.slice(1);
    return writer.storeWith({ duplicates }, writer.connect(await startSplittingFront(writer.port, name)));
  }

  beforeAll(async () => {
    [writer, reader] = [await openStore(engine), await openStore(engine)];
  });

  beforeEach(async () => {
    store = await behindBalancer('allow');
    strict = await behindBalancer('reject');
  });

  afterAll(async () => {
    await writer.close();
    await reader.close();
  });

  it('a get reads from the reader', async () => {
    const [created, replicated] = [entryOf(), entryOf()];
    await store.insert(created);
    await reader.store.insert(replicated);
    await expect(store.find(created.route.id)).resolves.toBeUndefined();
    await expect(store.find(replicated.route.id)).resolves.toEqual(replicated.route);
  });

  it('a create with a request id is stored once, whatever it shares a statement with', async () => {
    const first = entryOf({}, { idempotencyKey: 'once' });
    await store.insert(first);
    await expect(store.insert(entryOf({}, { idempotencyKey: 'once' }))).resolves.toEqual({
      outcome: 'repeated',
      route: first.route,
    });
    // From now on, repeats are looked for first, on the reader, which knows none.
    const together = [entryOf({}, { idempotencyKey: 'once' }), entryOf(), entryOf()];
    await expect(Promise.all(together.map((entry) => store.insert(entry)))).resolves.toEqual([
      { outcome: 'repeated', route: first.route },
      { outcome: 'inserted' },
      { outcome: 'inserted' },
    ]);
  });

  it('a duplicate is refused with the id of the first, or allowed', async () => {
    const first = entryOf({ path: '/split/:a' });
    await strict.insert(first);
    await expect(strict.insert(entryOf({ path: '/split/:b' }))).resolves.toEqual({
      outcome: 'duplicate',
      id: first.route.id,
    });
    await expect(store.insert(entryOf({ path: '/split/:c' }))).resolves.toEqual({
      outcome: 'inserted',
    });
  });

  it('a create that an earlier attempt has stored is not a duplicate of itself', async () => {
    const entry = entryOf();
    await writer.strict.insert(entry);
    await expect(strict.insert(entry)).resolves.toEqual({ outcome: 'inserted' });
  });

  it('a dry run finds what a create would find', async () => {
    const entry = entryOf({}, { idempotencyKey: 'dry' });
    await strict.insert(entry);
    await expect(strict.findByIdempotencyKey('me', 'dry')).resolves.toEqual(entry.route);
    await expect(strict.findDuplicate(entry.shape)).resolves.toBe(entry.route.id);
  });
});

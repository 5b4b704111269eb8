import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { describeOn } from '../support/needs.js';
import { openStore } from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';

const ROW =
  'insert into routes (id, method, path, middleware, handler, created_at_ms, caller, request_id, shape) values (?, "GET", "/", "[]", "h", 0, "other", ?, ?)';

describeOn(engines.slice(1))('on $name', (engine) => {
  it('an insert that loses a deadlock is stored after the other transaction ends', async () => {
    const { url, strict: store, close } = await openStore(engine);
    const other = await createConnection({ uri: url });
    onTestFinished(async () => {
      await other.end();
      await close();
    });
    const entry = entryOf({}, { caller: 'other', idempotencyKey: 'key' });

    // More rows than the store inserts, since the lighter transaction loses a deadlock.
    await other.beginTransaction();
    for (let row = 0; row < 20; row++) await other.query(ROW, [Buffer.alloc(16, row), null, null]);
    await other.query(ROW, [Buffer.alloc(16, 'a'), null, Buffer.from(entry.shape)]);
    // The insert holds the key and waits for the shape, …
    const stored = store.insert(entry);
    const waiting = async (): Promise<unknown[]> => {
      const [threads] = await other.query<RowDataPacket[]>('show full processlist');
      return threads.filter((thread) =>
        String(thread['Info']).includes(Buffer.from(entry.route.path).toString('hex')),
      );
    };
    await expect.poll(waiting).toHaveLength(1);
    // … while the other transaction holds the shape and waits for the key.
    await other.query(ROW, [Buffer.alloc(16, 'b'), 'key', null]);
    await other.rollback();
    await expect(stored).resolves.toEqual({ outcome: 'inserted' });
  });
});

import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { type Connection, createServer } from 'mysql2';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readDatabase } from '../../src/settings/config.js';
import { openDatabase } from '../../src/store/database.js';
import { KnexRouteStore } from '../../src/store/knex-route-store.js';
import { migrateUp } from '../../src/store/migrations.js';
import { engines } from '../support/engines.js';
import { entryOf } from '../support/store-entries.js';

/**
 * The capabilities of a server of the protocol (CLIENT_PROTOCOL_41 and all older ones except SSL), and its character
 * set.
 */
const CAPABILITIES = 0xf_f7ff;
const UTF8MB4 = 45;

const ROW = 'insert into routes values (?, "GET", "/", "[]", "h", 0, "other", ?, ?)';

describe.each(engines.slice(1))('on $name', (engine) => {
  it('an insert that loses a deadlock is stored when the other has ended', async () => {
    const database = await engine.createDatabase();
    const knex = openDatabase(readDatabase({ DATABASE_URL: database.url }));
    const other = await createConnection({ uri: database.url });
    onTestFinished(async () => {
      await other.end();
      await knex.destroy();
      await database.drop();
    });
    await migrateUp(knex);
    const entry = entryOf({}, { caller: 'other', requestId: 'key' });

    // More rows than the store's one: the lighter transaction loses.
    await other.beginTransaction();
    for (let row = 0; row < 20; row++) await other.query(ROW, [Buffer.alloc(16, row), null, null]);
    await other.query(ROW, [Buffer.alloc(16, 'a'), null, Buffer.from(entry.shape)]);
    // It has the key and waits for the shape, …
    const stored = new KnexRouteStore(knex).insert(entry, 'allow');
    const waiting = async (): Promise<unknown[]> => {
      const [threads] = await other.query<RowDataPacket[]>('show full processlist');
      return threads.filter((thread) => String(thread['Info']).includes(entry.route.path));
    };
    await expect.poll(waiting).toHaveLength(1);
    // … while the other has the shape and waits for the key.
    await other.query(ROW, [Buffer.alloc(16, 'b'), 'key', null]);
    await other.rollback();
    await expect(stored).resolves.toEqual({ outcome: 'inserted' });
  });
});

describe('a database that answers an insert with a deadlock', () => {
  /** A store on a server that deadlocks this many times, and the inserts that reached it. */
  async function storeOn(deadlocks: number): Promise<{ store: KnexRouteStore; inserts: string[] }> {
    const inserts: string[] = [];
    const server = createServer((connection: Connection) => {
      const answer = (write: () => void): void => {
        connection.sequenceId = 1;
        write();
        connection.sequenceId = 0;
      };
      const ok = (): void => {
        connection.writeOk();
      };
      const deadlock = (): void => {
        connection.writeError({ code: 1213, message: 'Deadlock found' });
      };
      connection.serverHandshake({
        serverVersion: '8',
        capabilityFlags: CAPABILITIES,
        characterSet: UTF8MB4,
        authCallback: (_: unknown, admit: (refusal: null) => void) => {
          admit(null);
          connection.sequenceId = 0;
        },
      });
      connection.on('error', () => undefined);
      connection.on('stmt_prepare', () => {
        answer(ok);
      });
      connection.on('query', (sql: string) => {
        const lost = sql.startsWith('insert') && inserts.push(sql) <= deadlocks;
        answer(lost ? deadlock : ok);
      });
    });
    // mysql2 would listen on every address of the machine.
    const listener = (Reflect.get(server, '_server') as Server).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const location = { host: '127.0.0.1', port, user: 'u', password: '', database: 'd' };
    const knex = openDatabase({ engine: 'mysql', ...location });
    onTestFinished(async () => {
      await knex.destroy();
      listener.close();
    });
    return { store: new KnexRouteStore(knex), inserts };
  }

  it('four times stores it the fifth time', async () => {
    const { store, inserts } = await storeOn(4);
    await expect(store.insert(entryOf(), 'allow')).resolves.toEqual({ outcome: 'inserted' });
    expect(inserts).toHaveLength(5);
  });

  it('five times is not asked again', async () => {
    const { store, inserts } = await storeOn(5);
    await expect(store.insert(entryOf(), 'allow')).rejects.toThrow(
      'The database answered ER_LOCK_DEADLOCK (1213).',
    );
    expect(inserts).toHaveLength(5);
  });
});

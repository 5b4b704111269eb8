import { randomBytes } from 'node:crypto';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { engines } from './engines.js';
import { dropLeftovers, identifyMysqlServer } from './mysql-databases.js';
import { describeOn } from './needs.js';

const DAY_MS = 24 * 60 * 60 * 1000;

describeOn(engines.slice(1))('dropLeftovers on $name', (engine) => {
  it.each([
    ['drops a test database that is older than a day', (now: number) => `rr_test_${now - DAY_MS - 1}_`, 0],
    [
      'keeps a test database that is a day old, as its run may still be in progress',
      (now: number) => `rr_test_${now - DAY_MS}_`,
      1,
    ],
    ['keeps a database that only has the prefix of test databases', () => 'rr_test_notes_', 1],
  ])('%s', async (_, prefix, kept) => {
    const now = Date.now();
    const name = prefix(now) + randomBytes(6).toString('hex');
    const database = await engine.createDatabase();
    onTestFinished(() => database.drop());
    const server = await identifyMysqlServer(database.url);
    const connection = await createConnection({ uri: server.url });
    try {
      await connection.query(`create database ${name}`);
      await dropLeftovers(server, now);
      const [rows] = await connection.query<RowDataPacket[]>('show databases like ?', [name]);
      expect(rows).toHaveLength(kept);
    } finally {
      await connection.query(`drop database if exists ${name}`);
      await connection.end();
    }
  });
});

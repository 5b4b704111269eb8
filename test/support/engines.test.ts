import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { expect, inject, it, onTestFinished } from 'vitest';
import { engines } from './engines.js';
import { describeOn, needs } from './needs.js';

it('a run covers the embedded engine and every MySQL-protocol server', needs('server'), () => {
  const names = engines.map(({ name }) => name);
  expect(names[0]).toBe('SQLite');
  expect(names.slice(1)).toEqual(inject('mysqlServers').map(({ name }) => name));
  expect(names.slice(1).join()).toMatch(/^(MariaDB|MySQL) \d+\.\d+\.\d+/);
});

describeOn(engines.slice(1))('a test database on $name', (engine) => {
  it('has latin1 as its default character set', async () => {
    const database = await engine.createDatabase();
    onTestFinished(() => database.drop());
    const connection = await createConnection({ uri: database.url });
    onTestFinished(() => connection.end());
    const [rows] = await connection.query<RowDataPacket[]>('select @@character_set_database as charset');
    expect(rows).toEqual([{ charset: 'latin1' }]);
  });
});

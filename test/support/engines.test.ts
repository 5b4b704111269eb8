import BetterSqlite3 from 'better-sqlite3';
import { access } from 'node:fs/promises';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { engines, type Database, type Engine } from './engines.js';
import { describeOn, needs } from './needs.js';

async function databaseOf(engine: Engine): Promise<Database> {
  const database = await engine.createDatabase();
  onTestFinished(() => database.drop());
  return database;
}

async function connectionTo({ url }: Database): Promise<Connection> {
  const connection = await createConnection({ uri: url });
  onTestFinished(() => connection.end());
  return connection;
}

async function rows(connection: Connection, sql: string): Promise<RowDataPacket[]> {
  const [result] = await connection.query<RowDataPacket[]>(sql);
  return result;
}

it('a run has the embedded engine and the servers that speak the MySQL protocol', needs('server'), () => {
  const names = engines.map(({ name }) => name);
  expect(names[0]).toBe('SQLite');
  expect(names.slice(1)).toEqual(inject('mysqlServers').map(({ name }) => name));
  expect(names.slice(1).join()).toMatch(/^(MariaDB|MySQL) \d+\.\d+\.\d+/);
});

describeOn(engines.slice(1))('a database on $name', (engine) => {
  it('is empty, and what one test makes there no other sees', async () => {
    const [mine, another] = await Promise.all([databaseOf(engine), databaseOf(engine)]);
    const [here, there] = await Promise.all([connectionTo(mine), connectionTo(another)]);
    expect(await rows(here, 'show tables')).toEqual([]);
    await here.query('create table kept (id int)');
    expect(await rows(there, 'show tables')).toEqual([]);
  });

  it('keeps text in latin1 unless a table says otherwise', async () => {
    const connection = await connectionTo(await databaseOf(engine));
    expect(await rows(connection, 'select @@character_set_database as charset')).toEqual([
      { charset: 'latin1' },
    ]);
  });

  it('is gone once dropped, and dropping it again does no harm', async () => {
    const database = await engine.createDatabase();
    await database.drop();
    await database.drop();
    await expect(createConnection({ uri: database.url })).rejects.toMatchObject({ code: 'ER_BAD_DB_ERROR' });
  });
});

describe.each(engines.slice(0, 1))('a database on $name', (engine) => {
  const fileOf = ({ url }: Database) => url.replace(/^sqlite:/, '');

  it('is a file that does not exist yet, of its own', async () => {
    const [mine, another] = await Promise.all([databaseOf(engine), databaseOf(engine)]);
    expect(fileOf(mine)).not.toBe(fileOf(another));
    await expect(access(fileOf(mine))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is gone once dropped, with the files beside it, and dropping it again does no harm', async () => {
    const database = await engine.createDatabase();
    const connection = new BetterSqlite3(fileOf(database));
    connection.exec('pragma journal_mode = wal; create table kept (id integer)');
    connection.close();
    await database.drop();
    await database.drop();
    await expect(access(fileOf(database))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

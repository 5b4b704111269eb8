import { createConnection } from 'mysql2/promise';
import { v7 } from 'uuid';
import { encodeId, ROUTE_COLUMNS, toRow } from '../../src/store/route-row.js';
import { idOf, storedRoute } from '../stored-routes.js';
import type { Call, Load } from './load.js';

const COLUMNS = [...ROUTE_COLUMNS, 'caller', 'request_id', 'shape'] as const;
const SELECT = `SELECT ${ROUTE_COLUMNS.join(', ')} FROM routes WHERE id = ?`;
const INSERT = `INSERT INTO routes (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})`;

/** A caller with its own connection, which sends one prepared statement after another, of one row each. */
export async function mysqlCall({ target, operation }: Load): Promise<Call> {
  const connection = await createConnection({ uri: target, timezone: 'Z' });
  if (operation === 'get') {
    return async (n) => {
      await connection.execute(SELECT, [encodeId(idOf(n)) ?? null]);
    };
  }
  return async (n) => {
    const { route, ...rest } = storedRoute(n);
    const row = toRow({ route: { ...route, id: v7() }, ...rest });
    await connection.execute(
      INSERT,
      COLUMNS.map((column) => row[column]),
    );
  };
}

import { expect, it } from 'vitest';
import type { RunningMysqlServer } from './mysql-launch.js';
import { startMysqlServer } from './mysql-server.js';

const refused = () => Promise.reject(new Error('not here'));
const server: RunningMysqlServer = { url: 'mysql://127.0.0.1:3306', stop: () => Promise.resolve() };

it('the first way to a server that works is taken', async () => {
  const found = await startMysqlServer([
    ['one way', refused],
    ['another way', () => Promise.resolve(server)],
    ['a third way', refused],
  ]);
  expect(found).toBe(server);
});

it('where no way works the refusal says what each met and what to do', async () => {
  const attempt = startMysqlServer([
    ['one way', refused],
    ['another way', () => Promise.reject(new Error('nor there'))],
  ]);
  await expect(attempt).rejects.toThrow(
    /one way: not here\n- another way: nor there\nDo one of these:\n- set TEST_MYSQL_URL=/,
  );
});

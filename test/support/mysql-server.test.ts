import { expect, it } from 'vitest';
import type { RunningMysqlServer } from './mysql-launch.js';
import { startMysqlServer } from './mysql-server.js';

const refused = () => Promise.reject(new Error('not here'));
const server: RunningMysqlServer = { url: 'mysql://127.0.0.1:3306', stop: () => Promise.resolve() };

it('the first way to a server that works is taken', async () => {
  const found = await startMysqlServer([refused, () => Promise.resolve(server), refused]);
  expect(found).toBe(server);
});

it('where no way works the refusal says in one line what each met', async () => {
  const attempt = startMysqlServer([
    refused,
    () => Promise.reject(Object.assign(new Error('failed'), { stderr: 'so\nlibaio.so.1 is missing\n' })),
  ]);
  await expect(attempt).rejects.toThrow(/^not here; libaio\.so\.1 is missing$/);
});

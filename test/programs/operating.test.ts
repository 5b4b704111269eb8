import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.js';
import { type Program, Programs } from '../support/process.js';
import { SERVICE_SETTINGS } from '../support/service.js';

function run(settings: Readonly<Record<string, string>>): Program {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  return programs.start('main', [], { ...SERVICE_SETTINGS, ...settings });
}

async function statusOf(url: string): Promise<number | undefined> {
  return fetch(url).then(
    ({ status }) => status,
    () => undefined,
  );
}

it('the log says where the pages for operators are', async () => {
  const { ops } = await run({ DATABASE_URL: 'sqlite::memory:' }).line('listening');
  await expect(statusOf(`${String(ops)}/readyz`)).resolves.toBe(200);
});

it('a service that waits for its database is alive, and not ready', async () => {
  const ops = `127.0.0.1:${await freePort()}`;
  const url = `mysql://me:password@127.0.0.1:${await freePort()}/routes`;
  const service = run({ DATABASE_URL: url, DATABASE_WAIT_MS: '60000', OPS_ADDRESS: ops });
  await service.line('waiting up to 60 s for the database');
  await expect(statusOf(`http://${ops}/livez`)).resolves.toBe(200);
  await expect(statusOf(`http://${ops}/readyz`)).resolves.toBe(503);
  await expect(service.stop()).resolves.toMatchObject({ exitCode: 0 });
});

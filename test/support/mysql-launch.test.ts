import { access, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { launchMysqlServer, type Launch } from './mysql-launch.js';
import { needs } from './needs.js';

const losesItsPort: Launch = {
  url: 'mysql://127.0.0.1:1',
  commands: [['sh', '-c', 'echo address already in use >&2; exit 1']],
  afterwards: [],
};

it(
  'a server that loses its port to another process is started again on another port',
  needs('server'),
  async () => {
    const folder = await mkdtemp(join(inject('temporaryFolder'), 'launch-'));
    const url = inject('mysqlServers')[0]?.url ?? '';
    const answers: Launch = { url, commands: [['sleep', '600']], afterwards: [['rm', '-rf', folder]] };
    const launches = [losesItsPort, answers];
    const ports: number[] = [];
    const server = await launchMysqlServer((port) => {
      ports.push(port);
      return Promise.resolve(launches[ports.length - 1] ?? losesItsPort);
    });
    expect(server.url).toBe(url);
    expect(new Set(ports).size).toBe(2);
    await server.stop();
    await expect(access(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  },
);

it('a server that never starts is given up with its last words', async () => {
  await expect(launchMysqlServer(() => Promise.resolve(losesItsPort))).rejects.toThrow(
    'address already in use',
  );
});

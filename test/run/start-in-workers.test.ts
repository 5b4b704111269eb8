import cluster from 'node:cluster';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { startInWorkers } from '../../src/run/start-in-workers.js';
import { readConfig } from '../../src/settings/config.js';
import { freePort } from '../support/free-port.js';
import { SERVICE_SETTINGS } from '../support/service.js';

it('a start in workers that fails leaves no listener for operators behind', async () => {
  cluster.setupPrimary({ execArgv: ['--eval', 'process.exit(3)'] });
  const port = await freePort();
  const settings = { ...SERVICE_SETTINGS, WORKERS: '2', OPS_ADDRESS: `127.0.0.1:${port}` };
  const started = startInWorkers(readConfig(settings), { logger: pino({ level: 'silent' }) });
  await expect(started).rejects.toThrow('a worker ended with exit code 3.');
  await expect(once(connect(port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
});

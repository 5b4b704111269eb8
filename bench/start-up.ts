import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Measured, Sample } from './figures.js';
import type { Servers } from './servers.js';

/** The name of the measurement. */
export const START_UP = 'Start to first answer, embedded';

/** Measures the time from starting the built service, on a new embedded database, to its first HTTP response. */
export async function measureStartUp(servers: Servers, rounds: number): Promise<Measured> {
  const samples: Sample[] = [];
  for (let round = 0; round < rounds; round++) {
    const file = join(await servers.folder(), 'routes.db');
    const begin = performance.now();
    const { http, stop } = await servers.service({ DATABASE_URL: `sqlite:${file}` });
    const [response] = (await once(get(`http://${http ?? ''}/healthz`), 'response')) as [IncomingMessage];
    samples.push({ p50Ms: performance.now() - begin });
    response.resume();
    if (response.statusCode !== 200) throw new Error(`The service answered ${response.statusCode ?? ''}.`);
    await stop();
  }
  return { name: START_UP, samples };
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { COMPOSE, HEALTH_CHECK, imageEnvironment } from '../support/compose-file.js';
import { freePort } from '../support/free-port.js';
import { runningService } from '../support/running-service.js';

/** Runs the words of a check, to which every proxy is closed, and resolves with its exit code. */
async function exitOf([node = '', ...args]: readonly string[], opsUrl: string): Promise<number | undefined> {
  const { port } = new URL(opsUrl);
  const own = args.map((arg) => arg.replace('port: 9464', `port: ${port}`));
  const closed = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9' };
  const env = { ...process.env, ...closed, OPS_ADDRESS: `[::]:${port}` };
  return promisify(execFile)(node, own, { env }).then(
    () => 0,
    (error: unknown) => (error as { code: number }).code,
  );
}

describe.each([
  ['the image', HEALTH_CHECK],
  ['docker-compose.yml', (COMPOSE.services['gateway']?.healthcheck?.test ?? []).slice(1)],
])('the health check of %s', (_, check) => {
  it.each([0, 1])(
    'passes for the server and for a separate gateway, without a proxy: %i',
    async (process) => {
      const settings = { OPS_ADDRESS: '[::]:0' };
      const { opsUrls } = await runningService({ topology: 'over a channel', settings });
      await expect(exitOf(check, opsUrls[process] ?? '')).resolves.toBe(0);
    },
  );

  it('fails where nothing listens', async () => {
    await expect(exitOf(check, `http://localhost:${await freePort()}`)).resolves.toBe(1);
  });
});

it('in compose, a gateway whose server is away is not healthy, but lives', async () => {
  const settings = { ROLE: 'gateway', GRPC_UPSTREAM: `127.0.0.1:${await freePort()}` };
  const { opsUrls } = await runningService({ settings });
  const inCompose = (COMPOSE.services['gateway']?.healthcheck?.test ?? []).slice(1);
  await expect(exitOf(inCompose, opsUrls[0] ?? '')).resolves.toBe(1);
  await expect(exitOf(HEALTH_CHECK, opsUrls[0] ?? '')).resolves.toBe(0);
});

it('the image listens on both families, and asks its own port', () => {
  const ports = { GRPC_ADDRESS: 50_051, HTTP_ADDRESS: 8_080, OPS_ADDRESS: 9_464 };
  for (const [name, port] of Object.entries(ports)) expect(imageEnvironment()[name]).toBe(`[::]:${port}`);
});

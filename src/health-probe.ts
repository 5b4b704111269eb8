import { credentials, Metadata } from '@grpc/grpc-js';
import { readConfig, type HttpConfig } from './settings/config.js';
import { HealthCheckResponse_ServingStatus as ServingStatus, HealthClient } from './gen/healthcheck.js';

/** The time limit for the service's answer, in milliseconds: shorter than a container's health check. */
const TIMEOUT_MS = 2_000;

/** Exits with code 0 when the service that runs here with the same settings is serving, else 1. */
async function main(): Promise<void> {
  const { grpc, http } = readConfig(process.env);
  const serving = http === undefined ? await isGrpcServing(grpc?.address ?? '') : await isHttpServing(http);
  process.exit(serving ? 0 : 1);
}

async function isHttpServing({ host, port, basePath }: HttpConfig): Promise<boolean> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { ok } = await fetch(`http://${authority}${basePath}/healthz`, {
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  return ok;
}

function isGrpcServing(address: string): Promise<boolean> {
  const client = new HealthClient(address, credentials.createInsecure(), { 'grpc.enable_http_proxy': 0 });
  const deadline = Date.now() + TIMEOUT_MS;
  return new Promise((resolve) => {
    client.check({ service: '' }, new Metadata(), { deadline }, (error, response) => {
      resolve(error === null && response.status === ServingStatus.SERVING);
    });
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});

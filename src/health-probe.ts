import { readFileSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { type ChannelCredentials, credentials, Metadata } from '@grpc/grpc-js';
import { tlsOptions } from '@route-registry/transcoder/grpc-js';
import { type HttpConfig, readConfig, type TlsFiles } from './settings/config.js';
import { HealthCheckResponse_ServingStatus as ServingStatus, HealthClient } from './gen/healthcheck.js';

/** The time limit for the service's response, in milliseconds; shorter than a container's health check. */
const TIMEOUT_MS = 2_000;

/**
 * Exits with code 0 if the local service with the same settings is serving, otherwise with 1. Does not verify the
 * service's TLS certificate, which is rarely valid for the local address.
 */
async function main(): Promise<void> {
  const { grpc, http, tls } = readConfig(process.env);
  const serving =
    http === undefined
      ? await isGrpcServing(grpc?.address ?? '', tls)
      : await isHttpServing(http, tls !== undefined);
  process.exit(serving ? 0 : 1);
}

function isHttpServing({ host, port, basePath }: HttpConfig, secure: boolean): Promise<boolean> {
  const request = { host, port, path: `${basePath}/healthz`, signal: AbortSignal.timeout(TIMEOUT_MS) };
  return new Promise((resolve, reject) => {
    const asked = secure ? getSecure({ ...request, rejectUnauthorized: false }) : getPlain(request);
    asked.on('error', reject).on('response', ({ statusCode }) => {
      resolve(statusCode === 200);
    });
  });
}

function isGrpcServing(address: string, tls: TlsFiles | undefined): Promise<boolean> {
  const client = new HealthClient(address, credentialsOf(tls), {
    ...tlsOptions(address).channelOptions,
    'grpc.enable_http_proxy': 0,
  });
  const deadline = Date.now() + TIMEOUT_MS;
  return new Promise((resolve) => {
    client.check({ service: '' }, new Metadata(), { deadline }, (error, response) => {
      resolve(error === null && response.status === ServingStatus.SERVING);
    });
  });
}

/** Presents the server's own certificate if the server requires client certificates. */
function credentialsOf(tls: TlsFiles | undefined): ChannelCredentials {
  const { certFile, keyFile, caFile } = tls ?? {};
  if (certFile === undefined || keyFile === undefined) return credentials.createInsecure();
  const own = caFile === undefined ? [] : [readFileSync(keyFile), readFileSync(certFile)];
  return credentials.createSsl(null, own[0], own[1], { rejectUnauthorized: false });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});

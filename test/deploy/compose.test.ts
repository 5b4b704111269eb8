import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig, readMigration } from '../../src/settings/config.js';
import { SETTINGS } from '../../src/settings/table.js';
import { COMPOSE, environmentOf } from '../support/compose-file.js';

const ROOT = resolve(import.meta.dirname, '../..');

/** `DRAIN_DELAY_MS` behind the balancer. */
const DRAIN_SECONDS = 2.5;
/** How long the service may take to stop after it: docs/operations.md, "Stop". */
const STOP_SECONDS = 10;

const { services, volumes } = COMPOSE;
/** All services, each with its name. */
const allServices = Object.entries(services);
/** Those that run this project's image. */
const ownServices = allServices.filter(([, { image }]) => image === 'route-registry');

/** The service with this name. @throws Error if there is none */
function serviceOf(name: string): (typeof services)[string] {
  const service = services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}.`);
  return service;
}

describe('docker-compose.yml', () => {
  it('starts the database, the migrations and one server when no profile is given', () => {
    const started = allServices.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name);
    expect(started).toEqual(['mysql', 'migrate', 'route-registry']);
  });

  it.each(ownServices)('gives %s only settings that exist', (_name, service) => {
    const unknown = Object.keys(environmentOf(service)).filter((name) => !(name in SETTINGS));
    expect(unknown).toEqual([]);
  });

  it('gives the migrations valid settings', () => {
    expect(() => readMigration(environmentOf(serviceOf('migrate')))).not.toThrow();
  });

  it.each(ownServices.filter(([name]) => name !== 'migrate'))('gives %s valid settings', (_name, service) => {
    expect(() => readConfig(environmentOf(service))).not.toThrow();
  });

  it.each(ownServices)('gives %s the time to stop that it needs behind the balancer', (_name, service) => {
    const [, seconds] = /^(\d+)s$/.exec(service.stop_grace_period ?? '') ?? [];
    expect(Number(seconds)).toBeGreaterThanOrEqual(DRAIN_SECONDS + STOP_SECONDS);
  });

  it.each(['route-registry', 'route-registry-2'])(
    'passes all settings of tokens on to %s, except those that name files',
    (name) => {
      const ofTokens = Object.keys(SETTINGS).filter((setting) => /^JWT_(?!.*_FILE$)/.test(setting));
      const passedOn = Object.keys(serviceOf(name).environment ?? {});
      expect(passedOn).toEqual(expect.arrayContaining(ofTokens));
    },
  );

  it("lets the server verify tokens with an issuer's keys where .env names their URL and empties the secret", () => {
    const url = 'https://issuer.example.com/keys';
    const env = environmentOf(serviceOf('route-registry'), { JWT_SECRET: '', JWT_JWKS_URL: url });
    expect(readConfig(env).grpc?.tokens.key).toEqual({ kind: 'jwks', url });
  });

  it('builds the image once', () => {
    const built = ownServices.filter(([, { build }]) => build !== undefined).map(([name]) => name);
    expect(built).toEqual(['route-registry']);
  });

  it('publishes each port once, on the loopback interface only', () => {
    const ports = allServices.flatMap(([, service]) => service.ports ?? []);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(new Set(ports.map((port) => port.split(':')[1])).size).toBe(ports.length);
  });

  it.each(allServices)('lets no process in %s gain privileges', (_name, service) => {
    expect(service.security_opt).toContain('no-new-privileges:true');
  });

  it.each(allServices)('lets %s mount only paths and volumes that exist', (_name, service) => {
    const sources = (service.volumes ?? []).map((mount) => mount.split(':')[0] ?? '');
    const isPath = (source: string): boolean => source.startsWith('.');
    const exists = (source: string): boolean =>
      isPath(source) ? existsSync(resolve(ROOT, source)) : source in volumes;
    expect(sources.filter((source) => !exists(source))).toEqual([]);
  });
});

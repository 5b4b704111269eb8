import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig, readMigration } from '../../src/settings/config.js';
import { SETTINGS } from '../../src/settings/table.js';
import { COMPOSE, environmentOf } from '../support/compose-file.js';

const ROOT = resolve(import.meta.dirname, '../..');

const { services, volumes } = COMPOSE;
const named = Object.entries(services);
const ours = named.filter(([, { image }]) => image === 'route-registry');

describe('docker-compose.yml', () => {
  it('starts the database, the migrations and one server when no profile is given', () => {
    const started = named.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name);
    expect(started).toEqual(['mysql', 'migrate', 'route-registry']);
  });

  it.each(ours)('gives %s valid settings', (name, service) => {
    const env = environmentOf(service);
    const readSettings = name === 'migrate' ? readMigration : readConfig;
    expect(() => readSettings(env)).not.toThrow();
    for (const setting of Object.keys(env)) expect(Object.keys(SETTINGS)).toContain(setting);
  });

  it.each(ours)('gives %s more time to stop than it needs behind the balancer', (_name, service) => {
    expect(Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1])).toBeGreaterThanOrEqual(13);
  });

  it('passes every setting of tokens on that names no file', () => {
    const names = Object.keys(SETTINGS).filter((name) => /^JWT_(?!.*_FILE$)/.test(name));
    const servers = [services['route-registry'], services['route-registry-2']];
    for (const server of servers)
      expect(Object.keys(server?.environment ?? {})).toEqual(expect.arrayContaining(names));
  });

  it('lets an issuer verify tokens where .env says so, in place of the secret', () => {
    const [server] = ours.filter(([name]) => name === 'route-registry').map(([, service]) => service);
    const url = 'https://issuer.example.com/keys';
    const env = environmentOf(server ?? { image: '' }, { JWT_SECRET: '', JWT_JWKS_URL: url });
    expect(readConfig(env).grpc?.tokens.key).toEqual({ kind: 'jwks', url });
  });

  it('builds the image once', () => {
    const built = ours.filter(([, { build }]) => build !== undefined).map(([name]) => name);
    expect(built).toEqual(['route-registry']);
  });

  it('publishes each port once, on the loopback interface only', () => {
    const ports = named.flatMap(([, service]) => service.ports ?? []);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(new Set(ports.map((port) => port.split(':')[1])).size).toBe(ports.length);
  });

  it.each(named)('lets no process in %s gain privileges', (_name, service) => {
    expect(service.security_opt).toContain('no-new-privileges:true');
  });

  it.each(named)('lets %s mount only what exists', (_name, { volumes: mounts = [] }) => {
    const sources = mounts.map((mount) => mount.split(':')[0] ?? '');
    const isThere = (source: string): boolean =>
      source.startsWith('.') ? existsSync(resolve(ROOT, source)) : source in volumes;
    expect(sources.filter((source) => !isThere(source))).toEqual([]);
  });
});

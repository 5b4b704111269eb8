import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ConfigMap } from 'kubernetes-types/core/v1.js';
import { expect, inject, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '../../../src/settings/config.js';
import { FOLDER, kustomization, readManifest, type Resource } from '../../support/kubernetes-api.js';
import { needs, programPath } from '../../support/needs.js';

it('kustomize builds each manifest, with the image and its tag', needs('kubectl'), async () => {
  const { stdout } = await promisify(execFile)(programPath('kubectl'), ['kustomize', FOLDER]);
  const built = parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
  const named = (all: readonly Resource[]): string[] =>
    all.map(({ kind, metadata }) => `${kind} ${metadata?.name ?? ''}`).sort();
  expect(named(built)).toEqual(named(kustomization.resources.map((file) => readManifest(file) as Resource)));
  const [{ name, newTag } = { name: '', newTag: '' }] = kustomization.images;
  const images = [...stdout.matchAll(/\bimage: (.*)$/gm)].map(([, image]) => image);
  expect(images).toEqual([`${name}:${newTag}`, `${name}:${newTag}`]);
});

it(
  'kustomize builds the settings of an issuer once its line replaces that of the secret',
  needs('kubectl'),
  async () => {
    const folder = await mkdtemp(join(inject('temporaryFolder'), 'kustomize-'));
    await cp(FOLDER, folder, { recursive: true });
    const file = join(folder, 'config-map.yaml');
    const changed = (await readFile(file, 'utf8')).replace(/^ {2}JWT_SECRET_FILE: .*\n/m, '');
    await writeFile(file, changed.replace('# JWT_JWKS_URL', 'JWT_JWKS_URL'));
    const { stdout } = await promisify(execFile)(programPath('kubectl'), ['kustomize', folder]);
    const built = parseAllDocuments(stdout).map((document) => document.toJS() as ConfigMap);
    const { DATABASE_URL_FILE, ...settings } = built.find(({ kind }) => kind === 'ConfigMap')?.data ?? {};
    expect(DATABASE_URL_FILE).toBe('/run/secrets/route-registry/database-url');
    const { tokens } = readConfig({ ...settings, DATABASE_URL: 'mysql://routes@mysql/routes' }).grpc ?? {};
    expect(tokens?.key).toMatchObject({ kind: 'jwks' });
  },
);

it('the commands of docs/operations.md make the rules a resource of the Prometheus operator', async () => {
  const document = readFileSync(resolve(FOLDER, '../../docs/operations.md'), 'utf8');
  const [, command = ''] = /^(\{ printf '[^]*?\n\}) \| kubectl -n routes apply -f -$/m.exec(document) ?? [];
  const { stdout } = await promisify(execFile)('sh', ['-euc', command], {
    cwd: resolve(FOLDER, '../..'),
    env: { ...process.env, REPOSITORY: 'https://git.test/routes' },
  });
  const rules = readFileSync(resolve(FOLDER, '../prometheus/rules/route-registry.yml'), 'utf8');
  expect(parse(stdout)).toEqual({
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'route-registry' },
    spec: parse(
      rules.replaceAll('https://git.example.com/route-registry', 'https://git.test/routes'),
    ) as unknown,
  });
});

it('the job of docs/operations.md for a Prometheus without the operator scrapes the ops ports, and tells namespaces apart', () => {
  const document = readFileSync(resolve(FOLDER, '../../docs/operations.md'), 'utf8');
  const [, text = ''] = /```yaml\n(scrape_configs:[^]*?)```/.exec(document) ?? [];
  expect(parse(text)).toMatchObject({
    scrape_configs: [
      {
        job_name: 'route-registry',
        relabel_configs: [
          { source_labels: ['__meta_kubernetes_pod_container_port_name'], regex: 'ops', action: 'keep' },
          { source_labels: ['__meta_kubernetes_namespace'], target_label: 'namespace' },
        ],
      },
    ],
  });
});

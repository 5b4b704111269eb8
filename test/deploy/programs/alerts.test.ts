import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { credentials } from '@grpc/grpc-js';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import type { Knex } from 'knex';
import { parse, stringify } from 'yaml';
import { RouteServiceClient } from '../../../src/gen/routing/v1/route_service.js';
import { parseDatabaseUrl } from '../../../src/settings/database-url.js';
import { openForMigrations } from '../../../src/store/database.js';
import { databaseOnMysql, startProcess } from '../../faults/rig/service-process.js';
import { createAuthority } from '../../support/certificates.js';
import { freePort } from '../../support/free-port.js';
import { watch } from '../../support/mysql-watchdog.js';
import { needs, programPath } from '../../support/needs.js';
import { startOidcIssuer } from '../../support/oidc-issuer.js';
import { runningService } from '../../support/running-service.js';
import { create, get, metadataOf, tokenFor } from '../../support/service.js';

const run = promisify(execFile);
const START_MS = 30_000;
const DEPLOY = resolve(import.meta.dirname, '../../../deploy');
const CONFIGURATION = resolve(DEPLOY, 'prometheus/prometheus.yml');
const RULES = resolve(DEPLOY, 'prometheus/rules/route-registry.yml');
const RULE_TESTS = resolve(DEPLOY, 'prometheus/tests/route-registry.test.yml');
const OUTAGE_TEST = resolve(DEPLOY, 'prometheus/tests/outage.test.yml');

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
}

interface Job {
  readonly job_name: string;
  readonly relabel_configs: readonly object[];
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly definition: string;
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}

function yaml(file: string): unknown {
  return parse(readFileSync(file, 'utf8'));
}

const rules = (yaml(RULES) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const dashboard = JSON.parse(
  readFileSync(resolve(DEPLOY, 'grafana/dashboards/route-registry.json'), 'utf8'),
) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const variables = dashboard.templating.list.filter(({ type }) => type === 'query');

/** A query as Grafana sends it, with its variables filled in. */
function asked(expression: string): string {
  return expression.replaceAll('$__rate_interval', '20s').replace(/\$(?:namespace|instance)/g, '.*');
}

/** Rewrites a condition so that its series are there, too, where it does not hold. */
function unconditional(expression: string): string {
  return expression.replace(/ (==|>|<) (?=\d)/g, ' $1 bool ').replaceAll(' unless ', ' and ');
}

describe('the alerts', () => {
  it('are in a configuration and rules that Prometheus accepts', needs('promtool'), async () => {
    await expect(promtool('check', 'config', CONFIGURATION)).resolves.toContain('SUCCESS');
  });

  it('fire when they should, and only then', needs('promtool'), async () => {
    await expect(promtool('test', 'rules', RULE_TESTS)).resolves.toContain('SUCCESS');
  });

  it(
    'say that everything fails in an outage that was recorded behind HAProxy',
    needs('promtool'),
    async () => {
      await expect(promtool('test', 'rules', OUTAGE_TEST)).resolves.toContain('SUCCESS');
    },
  );

  it('each have a test where they fire and one where they do not', () => {
    const { tests } = yaml(RULE_TESTS) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
    };
    const cases = tests.flatMap((unit) => unit.alert_rule_test);
    const names = alerts.map(({ alert }) => alert).sort();
    const tested = (fires: boolean): string[] => {
      const some = cases.filter((tested) => (tested.exp_alerts !== undefined) === fires);
      return [...new Set(some.map(({ alertname }) => alertname))].sort();
    };
    expect(tested(true)).toEqual(names);
    expect(tested(false)).toEqual(names);
  });
});

describe('the dashboard', () => {
  it('has panels with a title, a description and queries', () => {
    for (const { title, description, targets = [] } of panels) {
      expect(title).not.toBe('');
      expect(description).toMatch(/\.$/);
      expect(targets.length).toBeGreaterThan(0);
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});

it(
  'each rule and each panel finds its series in the metrics of the service, and no alert fires',
  needs('server', 'prometheus'),
  async () => {
    const prometheus = await scrapingService();
    const queries = [
      ...rules.map(({ alert, record, expr }) => [alert ?? record, expr] as const),
      ...panels.flatMap(({ title, targets = [] }) =>
        targets.map(({ expr }) => [title, asked(expr)] as const),
      ),
      ...variables.map(({ name, definition }) => [name, valuesOf(asked(definition))] as const),
    ];
    const missing = async (): Promise<unknown[]> => {
      await prometheus.callService();
      const found = await Promise.all(queries.map(([, query]) => prometheus.query(unconditional(query))));
      return queries.filter((_, index) => found[index]?.length === 0);
    };
    await expect.poll(missing, { timeout: START_MS, interval: 200 }).toEqual([]);
    await expect(prometheus.query('ALERTS{alertstate="firing"}')).resolves.toEqual([]);
  },
);

/** A query for the series with the label whose values a `label_values` definition of Grafana stands for. */
function valuesOf(definition: string): string {
  const [, metric, selectors, label] = /^label_values\((\w+)\{(.*)\}, (\w+)\)$/.exec(definition) ?? [];
  return `${metric ?? ''}{${selectors ?? ''},${label ?? ''}!=""}`;
}

/** Starts a Prometheus that scrapes the built service each second. */
async function scrapingService() {
  const opsAddress = `127.0.0.1:${await freePort()}`;
  const databaseUrl = await databaseOnMysql();
  const { grpc, http } = await startProcess({ DATABASE_URL: databaseUrl, OPS_ADDRESS: opsAddress });
  const knex = openForMigrations(parseDatabaseUrl(databaseUrl));
  onTestFinished(() => knex.destroy());
  const targets = [opsAddress, await opsAddressOfIssuers()];
  const { scrape_configs: jobs } = yaml(CONFIGURATION) as { scrape_configs: Job[] };
  const prometheus = await startPrometheus({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [RULES],
    scrape_configs: jobs.map(({ job_name, relabel_configs }) => ({
      job_name,
      relabel_configs,
      static_configs: [{ targets }],
    })),
  });
  const client = new RouteServiceClient(grpc, credentials.createInsecure());
  onTestFinished(() => {
    client.close();
  });
  return { ...prometheus, callService: () => use(client, http, knex) };
}

/** Starts a service with an issuer and a certificate, and returns the address of its ops port. */
async function opsAddressOfIssuers(): Promise<string> {
  const [folder, { settings }] = [
    await mkdtemp(join(inject('temporaryFolder'), 'tls-')),
    await startOidcIssuer(),
  ];
  const files = { TLS_CERT_FILE: join(folder, 'tls.crt'), TLS_KEY_FILE: join(folder, 'tls.key') };
  const { cert, key } = createAuthority().issue({ validMs: 48 * 3_600_000 });
  await writeFile(files.TLS_CERT_FILE, cert);
  await writeFile(files.TLS_KEY_FILE, key);
  const service = await runningService({ settings: { JWT_SECRET: '', ...settings, ...files } });
  await expect.poll(async () => (await fetch(`${service.opsUrls[0] ?? ''}/readyz`)).status).toBe(200);
  return new URL(service.opsUrls[0] ?? '').host;
}

/** Creates and gets routes over both protocols, also without a token, and once without the table. */
async function use(client: RouteServiceClient, http: string, knex: Knex): Promise<void> {
  const definition = { method: 'GET', path: '/users/:id', middleware: [], handler: 'h' };
  const headers = { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' };
  const metadata = metadataOf(tokenFor());
  const request = {
    route: { ...definition, id: '', createdAt: undefined },
    requestId: '',
    validateOnly: false,
  };
  const { route } = await create(client, request, metadata);
  await knex.schema.renameTable('routes', 'elsewhere');
  await get(client, '01a1f941-715b-7593-b057-19259d7b5bfc', metadata);
  await knex.schema.renameTable('elsewhere', 'routes');
  await get(client, route?.id ?? '', metadata);
  await get(client, 'unknown', metadataOf(undefined));
  await fetch(`${http}/v1/routing`, { method: 'POST', headers, body: JSON.stringify(definition) });
  await fetch(`${http}/v1/routing/${route?.id ?? ''}`, { headers });
  await fetch(`${http}/v1/routing/${route?.id ?? ''}`);
}

/** A sample of an instant vector: its labels, and its value as a string. */
interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

/** A running Prometheus server. */
interface Prometheus {
  /** @throws Error with the reason if the query cannot be evaluated */
  query(expression: string): Promise<readonly Sample[]>;
}

/** Runs promtool and returns its output. @throws Error with the output, if it fails */
async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(programPath('promtool'), args);
  return stdout + stderr;
}

/** Starts Prometheus with this configuration on a free port. It is stopped when the test ends. */
async function startPrometheus(configuration: object): Promise<Prometheus> {
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'prometheus-'));
  const file = join(folder, 'prometheus.yml');
  await writeFile(file, stringify(configuration));
  const port = await freePort();
  const watchdog = watch({
    commands: [
      [
        programPath('prometheus'),
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=warn',
      ],
    ],
    afterwards: [],
  });
  onTestFinished(() => watchdog.stop());
  const base = `http://127.0.0.1:${port}`;
  await expect.poll(() => answers(`${base}/-/ready`), { timeout: START_MS }).toBe(true);
  return { query: (expression) => queryPrometheus(base, expression) };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

interface QueryAnswer {
  readonly status: string;
  readonly error?: string;
  readonly data: { readonly resultType: string; readonly result: readonly Sample[] };
}

async function queryPrometheus(base: string, expression: string): Promise<readonly Sample[]> {
  const response = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(expression)}`);
  const { status, error, data } = (await response.json()) as QueryAnswer;
  if (status !== 'success') throw new Error(`${expression}: ${error ?? response.status}`);
  if (data.resultType !== 'vector') throw new Error(`${expression} is no vector, but ${data.resultType}`);
  return data.result;
}

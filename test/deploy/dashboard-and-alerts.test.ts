import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = resolve(import.meta.dirname, '../..');

/** Stands for the address of this repository's files, until docs/operations.md's command replaces it. */
const REPOSITORY = 'https://git.example.com/route-registry';

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: { readonly severity: string };
  readonly annotations?: { readonly runbook_url: string };
}

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

function textOf(file: string): string {
  return readFileSync(resolve(ROOT, file), 'utf8');
}

const { groups } = parse(textOf('deploy/prometheus/rules/route-registry.yml')) as {
  groups: { rules: Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const dashboardText = textOf('deploy/grafana/dashboards/route-registry.json');
const dashboard = JSON.parse(dashboardText) as Dashboard;
const queries = dashboard.panels.flatMap(({ targets = [] }) => targets);

/** The metrics and selectors in a query that also take other jobs' series; names with a colon are of our own rules. */
function ofEveryJob(expression: string): string[] {
  const metric = /\b(?:up|(?:grpc_server|http_server|nodejs|process|route_registry)_\w+)\b(?![{:"|])/g;
  const selector = /(?<!:\w+)\{(?!job="route-registry")[^}]*\}/g;
  return [...(expression.match(metric) ?? []), ...(expression.match(selector) ?? [])];
}

describe('the alerts', () => {
  it('match the headings of their section in docs/operations.md, including the severities', () => {
    const section = textOf('docs/operations.md').split('\n## Alerts\n')[1]?.split('\n## ')[0] ?? '';
    const headings = section.split('\n### ').slice(1);
    expect(headings.map((text) => text.split('\n')[0])).toEqual(alerts.map(({ alert }) => alert));
    for (const [i, { labels }] of alerts.entries())
      expect(headings[i]).toContain(`\`${labels?.severity ?? ''}\``);
  });

  it.each(rules)('take the series of the job route-registry alone: $alert $record', ({ expr }) => {
    expect(ofEveryJob(expr)).toEqual([]);
  });

  it.each(alerts)('link $alert to its heading', ({ alert = '', annotations }) => {
    const [address = '', anchor = ''] = annotations?.runbook_url.split('#') ?? [];
    expect(address).toBe(`${REPOSITORY}/docs/operations.md`);
    const anchors = [...textOf('docs/operations.md').matchAll(/^#+ (\w+)$/gm)].map(([, heading = '']) =>
      heading.toLowerCase(),
    );
    expect(anchors).toContain(anchor);
    expect(anchor).toBe(alert.toLowerCase());
  });
});

describe('the dashboard', () => {
  it.each(['route_registry_check_ok', 'route_registry_statement_failures_total'])('shows %s', (metric) => {
    expect(queries.map(({ expr }) => expr).join()).toContain(metric);
  });

  it.each(queries)('shows the job route-registry alone: $expr', ({ expr }) => {
    expect(ofEveryJob(expr)).toEqual([]);
  });

  it('asks the data source that its reader chooses', () => {
    expect(dashboard.templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource' });
    const sources = [...dashboardText.matchAll(/"datasource": \{\s*"type": "prometheus",\s*"uid": "(.*)"/g)];
    expect(sources).not.toEqual([]);
    expect(new Set(sources.map(([, uid]) => uid))).toEqual(new Set(['${datasource}']));
  });

  it('shows the namespaces and instances of the job alone, also when all are chosen', () => {
    expect(dashboard.templating.list.slice(1)).toMatchObject([
      {
        name: 'namespace',
        includeAll: true,
        definition: expect.stringContaining('{job="route-registry"}') as string,
      },
      {
        name: 'instance',
        includeAll: true,
        definition: expect.stringContaining('{job="route-registry",') as string,
      },
    ]);
    expect(dashboardText).not.toContain('allValue');
  });
});

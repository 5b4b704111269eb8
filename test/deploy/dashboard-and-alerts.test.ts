import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = resolve(import.meta.dirname, '../..');

interface Alert {
  readonly alert?: string;
  readonly labels?: { readonly severity: string };
  readonly annotations?: { readonly runbook_url: string };
}

function textOf(file: string): string {
  return readFileSync(resolve(ROOT, file), 'utf8');
}

const { groups } = parse(textOf('deploy/prometheus/rules/route-registry.yml')) as {
  groups: { rules: Alert[] }[];
};
const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);

describe('the alerts', () => {
  it('match the headings of their section in docs/operations.md, including the severities', () => {
    const section = textOf('docs/operations.md').split('\n## Alerts\n')[1]?.split('\n## ')[0] ?? '';
    const headings = section.split('\n### ').slice(1);
    expect(headings.map((text) => text.split('\n')[0])).toEqual(alerts.map(({ alert }) => alert));
    for (const [i, { labels }] of alerts.entries())
      expect(headings[i]).toContain(`\`${labels?.severity ?? ''}\``);
  });

  it('take the address of the repository from a label that the shipped configuration sets', () => {
    const { global } = parse(textOf('deploy/prometheus/prometheus.yml')) as {
      global: { external_labels: Readonly<Record<string, string>> };
    };
    expect(global.external_labels['repository']).toMatch(/^https:/);
  });

  it.each(alerts)('link $alert to its heading', ({ alert = '', annotations }) => {
    const [address = '', anchor = ''] = annotations?.runbook_url.split('#') ?? [];
    expect(address).toBe('{{ $externalLabels.repository }}/docs/operations.md');
    const anchors = [...textOf('docs/operations.md').matchAll(/^#+ (\w+)$/gm)].map(([, heading = '']) =>
      heading.toLowerCase(),
    );
    expect(anchors).toContain(anchor);
    expect(anchor).toBe(alert.toLowerCase());
  });
});

it.each(['route_registry_check_ok', 'route_registry_statement_failures_total'])(
  'the dashboard shows %s',
  (metric) => {
    const { panels } = JSON.parse(textOf('deploy/grafana/dashboards/route-registry.json')) as {
      panels: { targets?: { expr: string }[] }[];
    };
    expect(panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join()).toContain(metric);
  },
);

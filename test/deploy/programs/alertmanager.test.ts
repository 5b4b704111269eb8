import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { needs, programPath } from '../../support/needs.js';

const DEPLOY = resolve(import.meta.dirname, '../../../deploy/prometheus');
const CONFIGURATION = resolve(DEPLOY, 'alertmanager.yml');

interface Rule {
  readonly alert?: string;
  readonly labels?: { readonly severity: string };
}

/** Runs amtool, and returns what it prints. @throws Error with its output, if it fails */
async function amtool(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(programPath('amtool'), args);
  return stdout;
}

describe('the configuration for Alertmanager', () => {
  const { groups } = parse(readFileSync(resolve(DEPLOY, 'rules/route-registry.yml'), 'utf8')) as {
    groups: { rules: Rule[] }[];
  };
  const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);

  it('is valid', needs('amtool'), async () => {
    await expect(amtool('check-config', CONFIGURATION)).resolves.toContain('SUCCESS');
  });

  it.each(alerts)(
    'sends $alert to the receiver of its severity',
    needs('amtool'),
    async ({ alert, labels }) => {
      const { severity = '' } = labels ?? {};
      const all = [`alertname=${alert ?? ''}`, `severity=${severity}`];
      const test = ['config', 'routes', 'test', `--config.file=${CONFIGURATION}`, ...all];
      await expect(amtool(...test)).resolves.toBe(`${severity}s\n`);
    },
  );

  it('groups all alerts of a severity, and silences tickets while everything fails', () => {
    const { route, inhibit_rules } = parse(readFileSync(CONFIGURATION, 'utf8')) as {
      route: { routes: object[] };
      inhibit_rules: object[];
    };
    expect(route.routes).toMatchObject([{ group_by: ['severity'] }]);
    expect(inhibit_rules).toEqual([
      {
        source_matchers: ['alertname = RouteRegistryFailing'],
        target_matchers: ['alertname =~ "RouteRegistry.+"', 'severity = ticket'],
      },
    ]);
  });
});

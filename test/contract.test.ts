import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const CONTRACT = 'proto/routing/v1/route_service.proto';

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: { 'check:contract': string };
};

describe('the check of the contract', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'contract-'));
    for (const name of ['proto', 'buf.yaml', 'third_party'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** Runs the check on a contract in which texts are replaced by others. */
  function check(replacements: Record<string, string>): { status: number | null; complaints: string } {
    let contract = readFileSync(join(folder, CONTRACT), 'utf8');
    for (const [text, replacement] of Object.entries(replacements)) {
      expect(contract).toContain(text);
      contract = contract.replaceAll(text, replacement);
    }
    writeFileSync(join(folder, CONTRACT), contract);
    const path = [join(ROOT, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
    const options = {
      cwd: folder,
      encoding: 'utf8',
      shell: true,
      env: { ...process.env, PATH: path },
    } as const;
    const { status, stdout, stderr } = spawnSync(scripts['check:contract'], options);
    return { status, complaints: stdout + stderr };
  }

  it('accepts a new field', () => {
    const field = '  // A hint. Default: empty.\n  string hint = 9;\n';
    expect(check({ 'Request {': `Request {\n${field}` })).toEqual({ status: 0, complaints: '' });
  });

  it('rejects a renamed field, which REST clients use, and a deleted method, and names them', () => {
    const { status, complaints } = check({
      'string handler = 5': 'string handlers = 5',
      GetRoute: 'ReadRoute',
    });
    expect(status).not.toBe(0);
    expect(complaints).toContain('"Route" changed name from "handler"');
    expect(complaints).toContain('RPC "GetRoute" on service "RouteService" was deleted');
  });

  it('rejects a deleted service, and names it', () => {
    const { status, complaints } = check({ 'service Route': 'service Path' });
    expect(status).not.toBe(0);
    expect(complaints).toContain('service "RouteService" was deleted');
  });
});

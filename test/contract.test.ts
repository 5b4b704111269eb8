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
    for (const name of ['proto', 'buf.yaml'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** Runs the check on a contract in which one text is replaced by another. */
  function check(text: string, replacement: string): { status: number | null; complaints: string } {
    const contract = readFileSync(join(folder, CONTRACT), 'utf8');
    expect(contract).toContain(text);
    writeFileSync(join(folder, CONTRACT), contract.replaceAll(text, replacement));
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
    expect(check('Request {', `Request {\n${field}`)).toEqual({ status: 0, complaints: '' });
  });

  it.each([
    // REST clients use the names.
    ['a renamed field', 'string handler = 5', 'string handlers = 5', '"Route" changed name from "handler"'],
    ['a deleted service', 'service Route', 'service Path', 'service "RouteService" was deleted'],
    ['a deleted method', 'GetRoute', 'ReadRoute', 'RPC "GetRoute" on service "RouteService" was deleted'],
  ])('rejects %s, and names it', (_, text, replacement, complaint) => {
    const { status, complaints } = check(text, replacement);
    expect(status).not.toBe(0);
    expect(complaints).toContain(complaint);
  });
});

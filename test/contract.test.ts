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

  it.each([
    ['no change', 'string handler = 5', 'string handler = 5'],
    ['a new field', 'Request {', 'Request {\n  // A hint. Default: empty.\n  string hint = 9;\n'],
    ['a changed comment', '// The request of GetRoute.', '// All that GetRoute takes.'],
  ])('accepts %s', (_, text, replacement) => {
    expect(check(text, replacement)).toEqual({ status: 0, complaints: '' });
  });

  it.each([
    ['a renamed field', 'string handler = 5', 'string handlers = 5', '"Route" changed name from "handler"'],
    [
      'a changed field number',
      'validate_only = 3',
      'validate_only = 4',
      'field "3" with name "validate_only"',
    ],
    [
      'a changed field type',
      'string request_id = 2',
      'int32 request_id = 2',
      '"request_id" on message "CreateRouteRequest"',
    ],
    ['a deleted method', 'GetRoute', 'ReadRoute', 'RPC "GetRoute" on service "RouteService" was deleted'],
    [
      'a deleted service',
      'service RouteService',
      'service PathService',
      'service "RouteService" was deleted',
    ],
  ])('rejects %s, and names it', (_, text, replacement, complaint) => {
    const { status, complaints } = check(text, replacement);
    expect(status).not.toBe(0);
    expect(complaints).toContain(complaint);
  });
});

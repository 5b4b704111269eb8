import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FollowedFiles } from '../../src/process/followed-files.js';

let folder: string;
let followed: FollowedFiles<string> | undefined;
let values: string[];
let problems: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'route-registry-'));
  values = [];
  problems = [];
});

afterEach(() => {
  followed?.close();
  rmSync(folder, { recursive: true });
});

/** Joins the contents; "half" stands for one that is not whole. */
function joined(contents: readonly Buffer[]): string {
  const text = contents.join('+');
  if (text.includes('half')) throw new Error('The pair is not whole.');
  return text;
}

function follow(...files: string[]): FollowedFiles<string> {
  followed = new FollowedFiles({
    files: files.map((file) => join(folder, file)),
    read: joined,
    onChange: (value) => values.push(value),
    onProblem: ({ message }) => problems.push(message.replaceAll(folder, '')),
    intervalMs: 10,
  });
  return followed;
}

function write(file: string, text: string): void {
  writeFileSync(join(folder, file), text);
}

describe('followed files', () => {
  it('are read at the beginning, and again when they change', async () => {
    write('a', '1');
    write('b', '2');
    const pair = follow('a', 'b');
    expect(pair.value).toBe('1+2');
    write('b', '3');
    await expect.poll(() => pair.value).toBe('1+3');
    expect(values).toEqual(['1+3']);
  });

  it('are found anew where links in their path are swapped, as Kubernetes does', async () => {
    for (const name of ['old', 'new']) mkdirSync(join(folder, name));
    write('old/key', 'old');
    write('new/key', 'new');
    symlinkSync('old', join(folder, 'data'));
    const { value } = follow('data/key');
    expect(value).toBe('old');
    symlinkSync('new', join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'data'));
    await expect.poll(() => followed?.value).toBe('new');
  });

  it('keep their last value while they are not whole, and report that once', async () => {
    write('a', '1');
    const { value } = follow('a');
    write('a', 'half');
    await expect.poll(() => problems).toEqual(['The pair is not whole.']);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(followed?.value).toBe(value);
    expect(problems).toHaveLength(1);
    write('a', '2');
    await expect.poll(() => values).toEqual(['2']);
  });

  it('report a second time when they are not whole a second time', async () => {
    write('a', '1');
    follow('a');
    for (const [good, count] of [
      ['2', 1],
      ['3', 2],
    ] as const) {
      write('a', 'half');
      await expect.poll(() => problems.length).toBe(count);
      write('a', good);
      await expect.poll(() => followed?.value).toBe(good);
    }
  });

  it('keep their last value when one is gone', async () => {
    write('a', '1');
    follow('a');
    rmSync(join(folder, 'a'));
    await expect.poll(() => problems).toEqual([expect.stringContaining('ENOENT')]);
    expect(followed?.value).toBe('1');
  });

  it('are not read beyond a MiB', async () => {
    write('a', '1');
    follow('a');
    truncateSync(join(folder, 'a'), 1_048_577);
    await expect.poll(() => problems).toEqual(['The file /a is larger than 1048576 bytes.']);
    expect(followed?.value).toBe('1');
  });

  it('must be readable and whole at the beginning', () => {
    expect(() => follow('absent')).toThrow('ENOENT');
    write('a', 'half');
    expect(() => follow('a')).toThrow('The pair is not whole.');
  });
});

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FollowedFiles } from '../../src/files/followed-files.js';

let folder: string;
let followed: FollowedFiles<string> | undefined;
let values: string[];
let problems: string[];
let reads = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'route-registry-'));
  values = [];
  problems = [];
});

afterEach(() => {
  followed?.close();
  rmSync(folder, { recursive: true });
});

/** Joins the contents; "half" stands for an incomplete file. */
function joinContents(contents: readonly Buffer[]): string {
  reads++;
  const text = contents.join('+');
  if (text.includes('half')) throw new Error('The pair is not whole.');
  return text;
}

/** Resolves after the next read of the files. */
async function readAgain(): Promise<void> {
  const before = reads;
  await expect.poll(() => reads).toBeGreaterThan(before);
}

function follow(...files: string[]): FollowedFiles<string> {
  followed = new FollowedFiles({
    files: files.map((file) => join(folder, file)),
    read: joinContents,
    onProblem: ({ message }) => problems.push(message.replaceAll(folder, '')),
    intervalMs: 10,
  });
  followed.onChange((value) => values.push(value));
  return followed;
}

/** Replaces a file atomically: a reader could see an empty file while it is overwritten in place. */
function write(file: string, text: string): void {
  writeFileSync(join(folder, `${file}.next`), text);
  renameSync(join(folder, `${file}.next`), join(folder, file));
}

describe('followed files', () => {
  it('are read at the start, and again when they change', async () => {
    write('a', '1');
    write('b', '2');
    const pair = follow('a', 'b');
    expect(pair.value).toBe('1+2');
    write('b', '3');
    await expect.poll(() => pair.value).toBe('1+3');
    expect(values).toEqual(['1+3']);
  });

  it('are read again when a link in their path is swapped, as Kubernetes does', async () => {
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

  it('keep their last value while they are incomplete, and report that once', async () => {
    write('a', '1');
    const { value } = follow('a');
    write('a', 'half');
    await expect.poll(() => problems).toEqual(['The pair is not whole.']);
    await readAgain();
    expect(followed?.value).toBe(value);
    expect(problems).toHaveLength(1);
    write('a', '2');
    await expect.poll(() => values).toEqual(['2']);
  });

  it('report a second time when they become incomplete a second time', async () => {
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

  it('keep their last value when one of them is removed', async () => {
    write('a', '1');
    follow('a');
    rmSync(join(folder, 'a'));
    await expect.poll(() => problems).toEqual([expect.stringContaining('ENOENT')]);
    expect(followed?.value).toBe('1');
  });

  it('must be readable and complete at the start', () => {
    expect(() => follow('absent')).toThrow('ENOENT');
    write('a', 'half');
    expect(() => follow('a')).toThrow('The pair is not whole.');
  });

  it('may be 1 MiB long', () => {
    write('a', 'x'.repeat(1_048_576));
    const { value } = follow('a');
    expect(value).toHaveLength(1_048_576);
  });

  const LARGE = 'The file /a is larger than 1048576 bytes.';
  const IRREGULAR = '/a is not a regular file.';
  it.each<[string, string, string]>([
    ['are one byte longer than 1 MiB', 'head -c 1048577 /dev/zero > "$0"', LARGE],
    ['are longer than 1 MiB, in a file that states no size', 'ln -s /proc/kallsyms "$0"', LARGE],
    ['are a pipe', 'mkfifo "$0"', IRREGULAR],
    ['are a device', 'ln -s /dev/zero "$0"', IRREGULAR],
    ['are a folder', 'mkdir "$0"', IRREGULAR],
  ])('are refused at the start and at a change when they %s', async (_, command, problem) => {
    const path = join(folder, 'a');
    const make = (file: string) => execFileSync('sh', ['-c', command, file]);
    make(path);
    expect(() => follow('a')).toThrow(problem.replace('/a', path));
    rmSync(path, { recursive: true });
    write('a', '1');
    const { value } = follow('a');
    make(`${path}.next`);
    rmSync(path);
    renameSync(`${path}.next`, path);
    await expect.poll(() => problems).toContain(problem);
    expect(followed?.value).toBe(value);
  });
});

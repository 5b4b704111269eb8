import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Files as Kubernetes mounts them: symlinks through one symlink, which is replaced when the contents change. */
export class MountedFiles {
  readonly #folder = mkdtempSync(join(tmpdir(), 'route-registry-'));
  #version = 0;

  /** The files are removed when the test ends. @param contents the texts of the files, by name */
  constructor(contents: Readonly<Record<string, string>>) {
    onTestFinished(() => {
      rmSync(this.#folder, { recursive: true });
    });
    this.swap(contents);
    for (const name of Object.keys(contents)) symlinkSync(join('..data', name), this.path(name));
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  /** Replaces the contents of all files at once. */
  swap(contents: Readonly<Record<string, string>>): void {
    const version = `..${(this.#version += 1)}`;
    mkdirSync(this.path(version));
    for (const [name, text] of Object.entries(contents)) writeFileSync(join(this.path(version), name), text);
    symlinkSync(version, this.path('..next'));
    renameSync(this.path('..next'), this.path('..data'));
  }
}

import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** What a command builds: source folders, each with a file whose modification time is that of the latest build. */
interface Build {
  readonly command: string;
  readonly parts: readonly (readonly [sources: string, mark: string])[];
}

const BUILDS = {
  service: {
    command: 'npm run build',
    parts: [
      ['packages/transcoder/src', 'packages/transcoder/dist/.tsbuildinfo'],
      ['src', 'dist/.tsbuildinfo'],
    ],
  },
  examples: {
    command: 'npm run build:examples',
    parts: [
      ['packages/client/src', 'packages/client/dist/.tsbuildinfo'],
      ['examples/typescript', 'dist/tsconfig.build.tsbuildinfo'],
    ],
  },
  faults: {
    command: 'npm run build:faults',
    parts: [['test/faults/programs', 'dist/faults/.tsbuildinfo']],
  },
} as const satisfies Record<string, Build>;

/**
 * The folder of the programs that were built, for tests that run them.
 *
 * @throws Error as `requireBuild` does
 */
export function buildFolder(what: keyof typeof BUILDS = 'service'): string {
  requireBuild(what);
  return join(ROOT, 'dist');
}

/** @throws Error that names the build command, if a source has changed since the build */
export function requireBuild(what: keyof typeof BUILDS): void {
  const { command, parts } = BUILDS[what];
  for (const [sources, mark] of parts) {
    const builtMs = statSync(join(ROOT, mark), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    for (const name of readdirSync(join(ROOT, sources), { recursive: true, encoding: 'utf8' })) {
      const file = join(sources, name);
      if (file.endsWith('.ts') && statSync(join(ROOT, file)).mtimeMs > builtMs)
        throw new Error(
          `This test runs what is built, but ${file} has changed since. Build it with: ${command}`,
        );
    }
  }
}

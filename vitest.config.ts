import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import type { InlineConfig } from 'vitest/node';
import type { Need } from './test/support/programs.js';

/** A part of the tests, as vitest takes it. */
type Tier = InlineConfig & {
  /** What its tests need that npm does not bring; whatever is missing leaves only the tests out that need it. */
  readonly needs: readonly Need[];
};

/** Ends a worker whose vitest is gone, which would live on until its test has ended. */
const WORKER_EXIT = "data:text/javascript,process.once('disconnect',()=>process.exit(1))";

const LONG = process.env['FAULTS'] === 'long';

/** The tests of `npm run test:<tier>`, by its name, and of `npm test`. */
const TIERS: Readonly<Record<string, Tier>> = {
  /** All that no other tier has. */
  quick: {
    needs: ['server'],
    include: ['{packages/*/,}test/**/*.test.ts'],
    exclude: [
      'packages/*/test/packed-package.test.ts',
      'test/{browser,cluster,deploy/programs,faults,programs,servers}/**',
    ],
    // Isolated, each file would load everything again.
    isolate: false,
  },
  process: {
    needs: ['server', 'curl', 'grpcurl', 'python', 'another user'],
    include: ['test/programs/*.test.ts', 'packages/*/test/packed-package.test.ts'],
    // Each starts programs that compute, too.
    maxWorkers: availableParallelism(),
  },
  browser: {
    needs: ['server', 'chromium'],
    include: ['test/browser/*.test.ts'],
  },
  deploy: {
    needs: [
      ...(['server', 'haproxy', 'kubectl', 'mysql', 'mysqldump'] as const),
      ...(['prometheus', 'promtool', 'sqlite3', 'systemd-analyze'] as const),
    ],
    include: ['test/deploy/programs/*.test.ts'],
    testTimeout: 60_000,
    fileParallelism: false,
  },
  faults: {
    needs: ['server', 'mariadbd', 'haproxy'],
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/faults/rig/global-setup.ts'],
    testTimeout: LONG ? 900_000 : 90_000,
    // One by one: they measure.
    fileParallelism: false,
  },
  fuzz: { needs: [], include: ['fuzz/*.test.ts'], fileParallelism: false },
  servers: {
    needs: ['go', 'python'],
    include: ['test/servers/*.test.ts'],
    // They install what they need.
    testTimeout: 180_000,
  },
  cluster: {
    needs: ['galera', 'haproxy'],
    include: ['test/cluster/*.test.ts'],
    globalSetup: ['test/faults/rig/global-setup.ts'],
    testTimeout: 240_000,
    fileParallelism: false,
  },
};

const { TIER = 'quick' } = process.env;
const tier = TIERS[TIER];
if (tier === undefined) throw new Error(`There is no tier ${TIER}.`);
const { needs, ...options } = tier;

export default defineConfig({
  // Like the compiler, packages of this repository are read as source.
  ssr: { resolve: { conditions: ['@route-registry/source', 'node', 'development|production'] } },
  test: {
    provide: { needs },
    globalSetup: ['test/support/global-setup.ts'],
    // Once for each worker, however many files it takes.
    execArgv: ['--import', WORKER_EXIT],
    pool: 'forks',
    // Twice as many files at a time as there are cores: most tests wait more than they compute.
    maxWorkers: 2 * availableParallelism(),
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // Far longer than anything takes: other test files run at the same time.
    expect: { poll: { timeout: 20_000 } },
    reporters: ['default', './test/support/left-out.ts'],
    ...options,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts', 'packages/*/src/**/*.ts'],
      exclude: ['**/src/gen/**'],
      reporter: ['text-summary'],
      thresholds: {
        'packages/client/**': { branches: 100 },
        'packages/transcoder/**': { branches: 100 },
        'src/gateway/**': { branches: 100 },
        'src/registry/**': { branches: 100 },
      },
    },
  },
});

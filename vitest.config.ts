import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import type { Need } from './test/support/programs.js';

type Options = NonNullable<TestProjectInlineConfiguration['test']>;

/** Ends a worker whose vitest is gone, which would live on until its test has ended. */
const WORKER_EXIT = "data:text/javascript,process.once('disconnect',()=>process.exit(1))";

/**
 * A project, which like the compiler reads packages of this repository as source.
 *
 * @param needs what its tests need that npm does not bring; whatever is missing leaves only the tests out that need it
 */
function project(name: string, needs: readonly Need[], options: Options): TestProjectInlineConfiguration {
  return {
    ssr: { resolve: { conditions: ['@route-registry/source', 'node', 'development|production'] } },
    test: {
      name,
      provide: { needs },
      globalSetup: ['test/support/global-setup.ts'],
      // Once for each worker, however many files it takes.
      execArgv: ['--import', WORKER_EXIT],
      pool: 'forks',
      testTimeout: 90_000,
      hookTimeout: 120_000,
      // Far longer than anything takes: other test files run at the same time.
      expect: { poll: { timeout: 20_000 } },
      ...options,
    },
  };
}

/** The tests of `npm test`. */
const QUICK = [
  'packages/*',
  project('units', [], {
    include: [
      'test/*.test.ts',
      'test/{auth,calls,deploy,edge,files,gateway,grpc,openapi,registry,run,settings,watch,watch/metrics}/*.test.ts',
    ],
    isolate: false,
  }),
  project('service', ['server'], {
    include: ['test/{client,end-to-end,store,watch/tracing}/*.test.ts'],
    isolate: false,
  }),
];

/** Also builds the contracts of the transcoder's tests. */
const WITH_CONTRACTS = ['test/support/global-setup.ts', 'packages/transcoder/test/support/contracts.ts'];
const LONG = process.env['FAULTS'] === 'long';

/** The tests of `npm run test:<tier>`, by its name. */
const TIERS: Readonly<Record<string, TestProjectInlineConfiguration>> = {
  process: project('process', ['server', 'curl', 'grpcurl', 'python', 'another user'], {
    include: ['test/programs/*.test.ts', 'packages/*/test/packed-package.test.ts'],
    globalSetup: WITH_CONTRACTS,
    // Each starts programs that compute, too.
    maxWorkers: availableParallelism(),
  }),
  engines: project('engines', ['server'], {
    include: [
      'test/store/*.test.ts',
      'test/end-to-end/{outages,routes,silent-database,upgrades}.test.ts',
      'test/watch/tracing/service-spans.test.ts',
    ],
  }),
  browser: project('browser', ['server', 'chromium'], {
    include: ['test/browser/*.test.ts'],
    globalSetup: WITH_CONTRACTS,
  }),
  deploy: project(
    'deploy',
    [
      ...(['server', 'amtool', 'haproxy', 'kubectl', 'mysql', 'mysqldump'] as const),
      ...(['prometheus', 'promtool', 'sqlite3', 'systemd-analyze'] as const),
    ],
    {
      include: ['test/deploy/programs/*.test.ts'],
      testTimeout: 60_000,
      hookTimeout: 120_000,
      fileParallelism: false,
    },
  ),
  faults: project('faults', ['server', 'mariadbd', 'haproxy', 'python'], {
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/faults/rig/global-setup.ts'],
    testTimeout: LONG ? 900_000 : 90_000,
    hookTimeout: 120_000,
    // One by one: they measure.
    fileParallelism: false,
  }),
  fuzz: project('fuzz', [], { include: ['fuzz/*.test.ts'], fileParallelism: false }),
  servers: project('servers', ['another user', 'containerd', 'etcd', 'go', 'python'], {
    include: ['test/servers/*.test.ts'],
    // They install what they need.
    testTimeout: 180_000,
  }),
  cluster: project('cluster', ['galera', 'haproxy'], {
    include: ['test/cluster/*.test.ts'],
    globalSetup: ['test/faults/rig/global-setup.ts'],
    testTimeout: 240_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  }),
};

const { TIER } = process.env;
const tier = TIER === undefined ? undefined : TIERS[TIER];
if (TIER !== undefined && tier === undefined) throw new Error(`There is no tier ${TIER}.`);

export default defineConfig({
  test: {
    // Twice as many files at a time as there are cores: most tests wait more than they compute.
    maxWorkers: 2 * availableParallelism(),
    reporters: ['default', './test/support/left-out.ts'],
    projects: tier === undefined ? QUICK : [tier],
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

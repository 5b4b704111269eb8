import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

type Options = NonNullable<TestProjectInlineConfiguration['test']>;

/** One project, which like the compiler reads packages of this repository as source. */
function project(test: Options): TestProjectInlineConfiguration {
  return {
    ssr: { resolve: { conditions: ['@route-registry/source', 'node', 'development|production'] } },
    test: {
      pool: 'forks',
      setupFiles: ['test/support/worker-exit.ts'],
      testTimeout: 30_000,
      hookTimeout: 60_000,
      // Far longer than anything takes: other test files run at the same time.
      expect: { poll: { timeout: 10_000 } },
      ...test,
    },
  };
}

/** The rooms whose tests need no database server, and mostly compute. */
const UNITS = [
  'test/*.test.ts',
  'test/{app,auth,bench,calls,deploy,fuzz,gateway,grpc,metrics,openapi,ops,process,registry,settings}/*.test.ts',
];

/** What depends on an engine. */
const ON_ENGINES = [
  'test/store/*.test.ts',
  'test/client/*.test.ts',
  'test/end-to-end/{failures,outages,replicas,routes,silent-database,upgrades}.test.ts',
  'test/tracing/service-spans.test.ts',
];

const SERVERS = ['test/support/global-setup.ts'];

/** The tests of a command of their own, `npm run test:<tier>`, by its name. */
const TIERS: Readonly<Record<string, Options>> = {
  process: { include: ['test/programs/*.test.ts'], globalSetup: SERVERS },
  engines: { include: ON_ENGINES, globalSetup: SERVERS },
  browser: { include: ['test/browser/*.test.ts'], globalSetup: SERVERS },
  deploy: {
    include: ['test/deploy/programs/*.test.ts'],
    globalSetup: SERVERS,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
  faults: {
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/faults/rig/global-setup.ts'],
    testTimeout: process.env['FAULTS'] === 'long' ? 900_000 : 90_000,
    hookTimeout: 120_000,
    // One by one: they measure.
    fileParallelism: false,
  },
  cluster: {
    include: ['test/cluster/*.test.ts'],
    globalSetup: ['test/cluster/rig/global-setup.ts'],
    testTimeout: 240_000,
    hookTimeout: 120_000,
    fileParallelism: false,
  },
};

/** The tests of `npm test`. */
const QUICK = [
  'packages/*',
  project({ name: 'units', include: UNITS, isolate: false }),
  project({
    name: 'service',
    include: ['test/{client,end-to-end,store,support,tracing}/*.test.ts'],
    globalSetup: SERVERS,
  }),
];

const { TIER } = process.env;
const tier = TIER === undefined ? undefined : TIERS[TIER];
if (TIER !== undefined && tier === undefined) throw new Error(`There is no tier ${TIER}.`);

export default defineConfig({
  test: {
    // Twice as many files at a time as there are cores: most tests wait more than they compute.
    maxWorkers: 2 * availableParallelism(),
    projects: tier === undefined ? QUICK : [project({ name: String(TIER), ...tier })],
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

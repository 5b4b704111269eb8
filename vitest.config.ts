import { defineConfig } from 'vitest/config';

// Like the compiler, reads packages of this repository as source.
const ssr = {
  resolve: { conditions: ['@route-registry/source', 'node', 'development|production'] },
};

export default defineConfig({
  test: {
    // As many files at a time as the machine has cores: most tests wait more than they compute.
    maxWorkers: '100%',
    projects: [
      'packages/*',
      {
        ssr,
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: ['test/faults/**', 'test/cluster/**', 'test/deploy/programs/**'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/worker-exit.ts'],
          pool: 'forks',
          testTimeout: 30_000,
          hookTimeout: 60_000,
          // Far longer than anything takes: other test files run at the same time.
          expect: { poll: { timeout: 10_000 } },
        },
      },
      {
        ssr,
        test: {
          name: 'faults',
          // `npm run test:faults` also runs those that take longer or need more programs.
          include: [
            process.env['FAULTS'] === undefined ? 'test/faults/*.test.ts' : 'test/faults/**/*.test.ts',
          ],
          globalSetup: ['test/faults/rig/global-setup.ts'],
          setupFiles: ['test/support/worker-exit.ts'],
          pool: 'forks',
          testTimeout: process.env['FAULTS'] === 'long' ? 900_000 : 90_000,
          hookTimeout: 120_000,
          // Other work on the machine may disturb one measurement, hardly two.
          retry: 1,
          // After everything else and one by one: they measure.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        ssr,
        test: {
          name: 'deploy',
          // Only with `npm run test:deploy`: they need programs of operators.
          include: process.env['DEPLOY'] === undefined ? [] : ['test/deploy/programs/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/worker-exit.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
      {
        ssr,
        test: {
          name: 'cluster',
          // Only with `npm run test:cluster`: real clusters need half a minute to start.
          include: process.env['CLUSTER'] === undefined ? [] : ['test/cluster/*.test.ts'],
          globalSetup: ['test/cluster/rig/global-setup.ts'],
          setupFiles: ['test/support/worker-exit.ts'],
          pool: 'forks',
          testTimeout: 240_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
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

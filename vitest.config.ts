import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      'packages/*',
      {
        // Like the compiler, reads packages of this repository as source.
        ssr: {
          resolve: { conditions: ['@route-registry/source', 'module', 'node', 'development|production'] },
        },
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          setupFiles: ['test/support/worker-exit.ts'],
          pool: 'forks',
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts', 'packages/*/src/**/*.ts'],
      exclude: ['**/src/gen/**'],
      reporter: ['text-summary'],
      thresholds: {
        'packages/transcoder/**': { branches: 100 },
        'src/gateway/**': { branches: 100 },
        'src/registry/**': { branches: 100 },
      },
    },
  },
});

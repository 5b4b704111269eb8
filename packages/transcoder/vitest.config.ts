import { defineConfig } from 'vitest/config';

export default defineConfig({
  // As the compiler does: the package finds itself as source.
  ssr: { resolve: { conditions: ['@route-registry/source', 'module', 'node', 'development|production'] } },
  test: {
    name: 'transcoder',
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/gen/**'],
      reporter: ['text-summary'],
      thresholds: { branches: 100 },
    },
  },
});

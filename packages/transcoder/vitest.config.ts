import { defineConfig } from 'vitest/config';

export default defineConfig({
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

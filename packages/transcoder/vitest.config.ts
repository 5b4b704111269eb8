import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Like the compiler, the package resolves itself to its source.
  ssr: { resolve: { conditions: ['@route-registry/source', 'module', 'node', 'development|production'] } },
  test: {
    name: 'transcoder',
    include: ['test/**/*.test.ts'],
    // Part of `npm run test:process`: it packs, installs and compiles.
    exclude: ['test/packed-package.test.ts'],
    globalSetup: ['test/support/contracts.ts'],
    pool: 'forks',
    isolate: false,
    testTimeout: 90_000,
    // Far longer than anything takes: other test files run at the same time.
    expect: { poll: { timeout: 20_000 } },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/gen/**'],
      reporter: ['text-summary'],
      thresholds: { branches: 100 },
    },
  },
});

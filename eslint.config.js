import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['**/dist/', '**/src/**/gen/', '**/coverage/', 'node_modules/', 'data/', '.cache/'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      // Numbers in messages are meant to be read; the rule would wrap each in String().
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  {
    files: ['src/**/*.ts', 'packages/*/src/**/*.ts'],
    rules: { 'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }] },
  },
  {
    files: ['{packages/*/,}test/**/*.ts', 'fuzz/**/*.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        {
          property: 'mockRestore',
          // Once more, that is what was faked when the spy was set: the timers of every later file of the process.
          message:
            'Use vi.restoreAllMocks: Vitest restores a spy once more at the end of its file otherwise.',
        },
      ],
    },
  },
  {
    // Programs of users, who read what they print.
    files: ['examples/**/*.ts', 'packages/client/examples/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    // The one file that reads a private field of grpc-js, in brackets so that the compiler checks that it exists.
    files: ['src/grpc/http2-servers.ts'],
    rules: { '@typescript-eslint/dot-notation': ['error', { allowPrivateClassPropertyAccess: true }] },
  },
);

import { expect, it } from 'vitest';
import { createTranscoder } from '../../src/transcoder.js';
import { withRule } from '../support/library-contract.js';
import { LibraryServer } from '../support/library-server.js';

const ignore = (): void => undefined;

it('what is left out of a contract is in its list, with one warning per item in the log', () => {
  const pattern = { case: 'get', value: '/a' } as const;
  const warnings: unknown[] = [];
  const warn = (fields: object, message: string): void => void warnings.push({ ...fields, message });
  const { skipped } = createTranscoder({
    descriptorSet: withRule('HoldBody', {
      pattern,
      additionalBindings: [{ pattern }, { pattern: { case: 'get', value: '/**/**' } }],
    }),
    rules: [{ selector: 'library.v1.Unsupported.Stream', get: '/v1/stream' }],
    upstream: new LibraryServer(),
    unsupported: 'skip',
    log: { debug: ignore, info: ignore, warn, error: ignore },
  });
  expect(skipped).toEqual([
    'library.v1.Unsupported.Stream: the upstream serves no streams.',
    'library.v1.Unsupported.HoldBody: the path template "/**/**" has "**" twice.',
    'library.v1.Unsupported.HoldBody: GET /a is bound to library.v1.Unsupported.HoldBody, which comes first.',
  ]);
  expect(warnings).toEqual(skipped.map((reason) => ({ reason, message: 'method skipped' })));
});

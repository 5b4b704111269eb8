import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { patterns, samples, verdicts } from '../openapi/patterns.js';
import { needs, programPath } from '../support/needs.js';

const PROGRAM = `import json, re, sys
patterns, samples = json.load(sys.stdin)
print(json.dumps([[re.search(pattern, sample) is not None for sample in samples] for pattern in patterns]))`;

it(
  'the patterns of the OpenAPI document match the same strings in Python and in JavaScript',
  needs('python'),
  () => {
    const { stdout, stderr } = spawnSync(programPath('python'), ['-c', PROGRAM], {
      input: JSON.stringify([patterns, samples]),
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(verdicts('u'));
  },
);

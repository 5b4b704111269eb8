import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { describeService } from '../../src/openapi/document.js';

it('npm run openapi prints the OpenAPI document', () => {
  const printed = execFileSync('npm', ['run', '--silent', 'openapi'], { encoding: 'utf8' });
  expect(JSON.parse(printed)).toEqual(JSON.parse(JSON.stringify(describeService())));
});

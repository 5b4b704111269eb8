import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { describeService } from '../../src/openapi/document.js';
import { DescriptionCheck } from '../../packages/transcoder/corpus/description-check.js';
import { openApi } from '../support/openapi.js';

it('npm run openapi prints the OpenAPI document', () => {
  const printed = execFileSync('npm', ['run', '--silent', 'openapi'], { encoding: 'utf8' });
  expect(JSON.parse(printed)).toEqual(JSON.parse(JSON.stringify(describeService())));
});

it('the OpenAPI document is valid, and passes the strict rules of Redocly', async () => {
  const check = await DescriptionCheck.create();
  expect(await check.problems(openApi())).toEqual([]);
  expect(await check.problems({ ...openApi(), paths: { '/x': {} }, tags: 1 })).not.toEqual([]);
});

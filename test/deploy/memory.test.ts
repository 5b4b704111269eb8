import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { COMPOSE } from '../support/compose-file.js';

const ROOT = resolve(import.meta.dirname, '../..');

function read(file: string): string {
  return readFileSync(resolve(ROOT, file), 'utf8');
}

it('the service has 1 GiB wherever it is deployed, as docs/operations.md says', () => {
  const ours = Object.values(COMPOSE.services).filter(({ image }) => image === 'route-registry');
  expect(new Set(ours.map((service) => service.mem_limit))).toEqual(new Set(['1g']));
  expect(read('deploy/kubernetes/deployment.yaml')).toContain('limits: { memory: 1Gi }');
  expect(read('deploy/systemd/route-registry@.service')).toMatch(/^MemoryMax=1G$/m);
  expect(read('docs/operations.md')).toContain('give the service 1 GiB');
});

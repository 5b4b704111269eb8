import { expect, inject, it } from 'vitest';
import { engines } from './engines.js';
import { needs } from './needs.js';

it('a run covers the embedded engine and every MySQL-protocol server', needs('server'), () => {
  const names = engines.map(({ name }) => name);
  expect(names[0]).toBe('SQLite');
  expect(names.slice(1)).toEqual(inject('mysqlServers').map(({ name }) => name));
  expect(names.slice(1).join()).toMatch(/^(MariaDB|MySQL) \d+\.\d+\.\d+/);
});

import { expect, it } from 'vitest';
import { failFor } from './global-setup.js';
import { needs, programPath } from './needs.js';

it('a test cannot need what its project does not declare', () => {
  expect(() => needs('galera')).toThrow("galera is not in this project's needs: vitest.config.ts");
});

it('programPath throws for a missing program', () => {
  expect(() => programPath('kubectl')).toThrow('kubectl is missing');
});

it('with CI=true, a run fails with one sentence that names everything that is missing', () => {
  expect(() => {
    failFor({ server: 'there is no docker. To have it, start Docker.', chromium: 'there is no chromium.' });
  }).toThrow(
    'With CI=true nothing may be missing, and this is: ' +
      'server: there is no docker. To have it, start Docker. chromium: there is no chromium.',
  );
});

it('with CI=true, a program that Debian does not package may be missing', () => {
  failFor({ grpcurl: 'there is no grpcurl.' });
});

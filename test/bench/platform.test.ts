import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { PLATFORM, requirePlatform } from '../../bench/platform.js';

it('figures are published only on the Node of the image', () => {
  const dockerfile = readFileSync(resolve(import.meta.dirname, '../../Dockerfile'), 'utf8');
  const images = [...dockerfile.matchAll(/^FROM node:(\d+)\./gm)].map(([, major]) => Number(major));
  expect(images).toEqual([PLATFORM, PLATFORM]);
  expect(() => {
    requirePlatform(`${PLATFORM}.0.0`);
  }).not.toThrow();
  expect(() => {
    requirePlatform('20.20.2');
  }).toThrow('Published figures are those of Node 24; this is Node 20.20.2.');
});

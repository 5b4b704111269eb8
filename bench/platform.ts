import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Published figures are all measured on the major version of Node that the image has.
 *
 * @param root the folder of the repository
 * @throws Error on another one
 */
export function requirePlatform(root: string): void {
  const [, platform] = /^FROM node:(\d+)\./m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8')) ?? [];
  const { node } = process.versions;
  if (platform !== node.split('.')[0])
    throw new Error(`Published figures are those of Node ${platform ?? '?'}; this is Node ${node}.`);
}

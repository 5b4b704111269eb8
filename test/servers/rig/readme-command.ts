import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { originOf, startCommand } from '../../../packages/transcoder/test/support/running-command.js';

/** The README of the transcoder. */
const README = readFileSync(resolve(import.meta.dirname, '../../../packages/transcoder/README.md'), 'utf8');

/**
 * Starts the command that the README names for a server, on any port. It stops when the test ends.
 *
 * @param server the first cell of its row in the README
 * @param target the address of the server, in place of the README's
 * @param descriptors the path of a descriptor set, in place of the README's
 * @returns its origin, once it serves
 */
export async function startReadmeCommand(
  server: string,
  target: string,
  descriptors?: string,
): Promise<string> {
  const row = README.split('\n').find((line) => line.startsWith(`| ${server} |`)) ?? '';
  const [, text] = /`npx transcoder (.*?)`/.exec(row) ?? [];
  if (text === undefined) throw new Error(`The README names no command for ${server}.`);
  const args = [...text.matchAll(/'([^']*)'|[^\s']+/g)].map(([whole, quoted]) => quoted ?? whole);
  const replacements: Readonly<Record<string, string | undefined>> = {
    '--target': target,
    '--descriptors': descriptors,
  };
  return originOf(startCommand(...args.map((arg, at) => replacements[String(args[at - 1])] ?? arg)));
}

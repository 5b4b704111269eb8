import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { inject } from 'vitest';
import { parse } from 'yaml';
import { Program } from './process.js';

const ROOT = resolve(import.meta.dirname, '../..');

/** A service of docker-compose.yml, with anchors merged and variables not yet interpolated. */
interface ComposeService {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly profiles?: readonly string[];
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly depends_on?: Readonly<Record<string, unknown>> | readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly mem_limit?: string;
  readonly stop_grace_period?: string;
}

/** The parsed docker-compose.yml. */
export const COMPOSE = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), {
  merge: true,
  uniqueKeys: true,
}) as {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};

/** The value of each variable without a default that is absent: valid for every setting that holds a secret. */
const SECRET = 'a-secret-of-thirty-two-bytes-or-more';

/** The environment of a service. @param variables those in `.env`; all others have their defaults */
export function environmentOf(
  { environment = {} }: ComposeService,
  variables: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const filled = (value: string | number): string =>
    String(value).replace(
      /\$\{(\w+):?([-?])([^}]*)\}/g,
      (_, name: string, kind: string, text: string) => variables[name] ?? (kind === '-' ? text : SECRET),
    );
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, filled(value)]));
}

/** The environment and the command of the image, from the last stage of the Dockerfile. */
function image(): { readonly environment: Record<string, string>; readonly command: readonly string[] } {
  const text =
    readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .at(-1) ?? '';
  const pairs = [...text.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
  return {
    environment: Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string])),
    command: JSON.parse(/^CMD (.*)$/m.exec(text)?.[1] ?? '[]') as string[],
  };
}

/**
 * Starts a service of docker-compose.yml as a local process. The service's environment overrides the image's, and so
 * does its command, if it has one.
 *
 * @param variables those in `.env`
 * @param changes overrides for a machine without containers: addresses, and the URL of the database
 * @param command replaces the service's command, as with `docker compose exec`
 */
export async function startComposed(
  name: string,
  variables: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string>>,
  command?: readonly string[],
): Promise<Program> {
  const service = COMPOSE.services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}.`);
  const { environment, command: usual } = image();
  const [node, file = '', ...args] = command ?? service.command ?? usual;
  const program = /^dist\/([a-z-]+)\.js$/.exec(file)?.[1];
  if (node !== 'node' || program === undefined) throw new Error(`${name} runs no program of the service.`);
  const folder = await mkdtemp(join(inject('temporaryFolder'), 'composed-'));
  return new Program(program, args, folder, {
    ...environment,
    ...environmentOf(service, variables),
    ...changes,
  });
}

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

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
  readonly healthcheck?: { readonly test?: readonly string[] };
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
  const fill = (value: string | number): string =>
    String(value).replace(
      /\$\{(\w+):?([-?])([^}]*)\}/g,
      (_, name: string, kind: string, text: string) => variables[name] ?? (kind === '-' ? text : SECRET),
    );
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, fill(value)]));
}

/** The last stage of the Dockerfile. */
export const IMAGE =
  readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
    .split(/^FROM /m)
    .at(-1) ?? '';

/** The words of the image's health check. */
export const HEALTH_CHECK = JSON.parse(/^HEALTHCHECK .*?(\[.*)$/m.exec(IMAGE)?.[1] ?? '[]') as string[];

/** The environment of the image. */
export function imageEnvironment(): Record<string, string> {
  const pairs = [...IMAGE.matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
  return Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]));
}

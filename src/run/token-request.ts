import { parseArgs } from 'node:util';
import { isSubject } from '../auth/token.js';
import { ALL_SCOPES } from '../routes/route-service.js';

/** How to run the program. */
export const USAGE = `Usage: npm run --silent token -- --scope "${ALL_SCOPES.join(' ')}" --sub NAME [--ttl 1h]`;

/** A number and its unit: seconds, minutes, hours or days. */
const TTL = /^([1-9]\d{0,5})([smhd])$/;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

const OPTIONS = {
  scope: { type: 'string' },
  sub: { type: 'string' },
  ttl: { type: 'string', default: '1h' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The contents of the token to create. */
interface TokenRequest {
  /** Scopes that methods require, separated by spaces. */
  readonly scope: string;
  readonly sub: string;
  readonly ttlSeconds: number;
}

/**
 * Parses the command line of the program that creates tokens.
 *
 * @param args without the names of Node and the program
 * @returns undefined if the command line has `--help`
 * @throws Error that says what is wrong, and how to run the program
 */
export function readTokenRequest(args: readonly string[], env: NodeJS.ProcessEnv): TokenRequest | undefined {
  const kept = keptByNpm(args, env);
  if (kept.length > 0) throw misused(`npm has kept ${kept.join(' and ')} for itself: write -- before them.`);
  const { scope = '', sub, ttl, help } = parseArgs({ args: [...args], options: OPTIONS }).values;
  if (help === true) return undefined;
  const scopes = scope.split(' ').filter((each) => each !== '');
  if (scopes.length === 0) throw misused('--scope is missing.');
  const unread = scopes.find((each) => !ALL_SCOPES.includes(each));
  if (unread !== undefined) {
    const allowed = ALL_SCOPES.join(' and ');
    throw misused(`No method asks for the scope ${JSON.stringify(unread)}; there are ${allowed}.`);
  }
  if (sub === undefined) throw misused('--sub is missing.');
  if (!isSubject(sub)) throw misused('--sub must have 1 to 255 characters, and no control characters.');
  const [, count, unit = ''] = TTL.exec(ttl) ?? [];
  const unitSeconds = UNIT_SECONDS[unit];
  if (unitSeconds === undefined)
    throw misused('--ttl must be a whole number from 1 to 999999 followed by s, m, h or d, such as 1h.');
  return { scope, sub, ttlSeconds: Number(count) * unitSeconds };
}

/** The options that npm has kept: without `--`, npm takes them as its own settings and passes them on as variables. */
function keptByNpm(args: readonly string[], env: NodeJS.ProcessEnv): string[] {
  return Object.keys(OPTIONS)
    .filter((name) => env[`npm_config_${name}`] !== undefined)
    .map((name) => `--${name}`)
    .filter((option) => !args.some((arg) => arg === option || arg.startsWith(`${option}=`)));
}

function misused(cause: string): Error {
  return new Error(`${cause}\n${USAGE}`);
}

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { escapeInvisible } from '../registry/failure.js';
import { isLoopback, splitAddress } from '../settings/addresses.js';
import { type Config, ConfigError } from '../settings/config.js';
import { unknownSettings } from '../settings/reader.js';
import type { TokenConfig } from '../settings/tokens.js';
import { unsupportedTraceVariables } from '../settings/traces.js';

/**
 * Describes why a program cannot start, for a terminal. Only a `ConfigError`, whose text is our own, may have several
 * lines. Other messages may quote a server, so control characters in them are escaped.
 */
export function startProblem(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return escapeInvisible(error instanceof Error ? error.message : String(error));
}

/**
 * Opens something that a setting names.
 *
 * @param failure the beginning of the error message, before the cause; must name the setting and hold no secret
 * @throws Error with `failure` and the cause in one line
 */
export async function openOrExplain<T>(failure: string, open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw explained(failure, error);
  }
}

function explained(failure: string, error: unknown): Error {
  const cause = error instanceof Error ? error.message : String(error);
  return new Error(`${failure}: ${cause}`, { cause: error });
}

/** Error codes of the operating system, in words. */
const REFUSALS: readonly (readonly [code: string, words: string])[] = [
  ['EADDRINUSE', 'another program uses it, perhaps another copy of this service.'],
  ['EACCES', 'this user may not use it; ports below 1024 often need a privilege.'],
  ['EADDRNOTAVAIL', 'this machine does not have this address.'],
  ['ENOTFOUND', 'no machine has this name.'],
];

/**
 * Listens on the address in a setting. Where the kernel has no IPv6, `0.0.0.0` takes the place of `[::]`.
 *
 * @param listen is called with the address, and with its host
 * @throws Error with the setting, its value and the cause in words
 */
export async function listenOrExplain<T>(
  setting: string,
  address: string,
  listen: (address: string, host: string) => Promise<T>,
): Promise<T> {
  const on = (each: string): Promise<T> => listen(each, splitAddress(each)?.host ?? '');
  return openOrExplain(`Cannot listen on ${setting}=${address}`, async () => {
    try {
      return await on(address).catch((error: unknown) => {
        if (!messageOf(error).includes('EAFNOSUPPORT')) throw error;
        return on(address.replace('[::]', '0.0.0.0'));
      });
    } catch (error) {
      const words = REFUSALS.find(([code]) => messageOf(error).includes(code))?.[1];
      throw words === undefined ? error : new Error(words, { cause: error });
    }
  });
}

/** Holds the error code: grpc-js reports it nowhere else. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

/** Logs what an operator should know before the service starts. */
export function warnAtStart({ grpc, traces }: Config, env: NodeJS.ProcessEnv, logger: Logger): void {
  if (grpc?.database.engine === 'mysql' && grpc.database.exposed)
    logger.warn(
      'no TLS to the database: anybody on the network path can read everything and obtain the password',
    );
  if (grpc !== undefined && isExposed(grpc.address) && (abortsAtPing() || abortsAfterSessionError()))
    logger.warn(
      { node: process.versions.node, nghttp2: process.versions['nghttp2'] },
      'anybody who reaches the gRPC port can abort this process through a fault in the HTTP/2 of this Node: use 24.21, 26.10 or later',
    );
  const settings = unknownSettings(env);
  if (settings.length > 0) logger.warn({ settings }, 'variables that look like settings have no effect');
  const variables = traces ? unsupportedTraceVariables(env) : [];
  if (variables.length > 0)
    logger.warn(
      { variables },
      'spans are sent over HTTP in protobuf with W3C Trace Context, whatever these variables say',
    );
}

/** Whether another machine may reach a server on this address. */
function isExposed(grpcAddress: string): boolean {
  const tcp = splitAddress(grpcAddress);
  return tcp !== undefined && !isLoopback(tcp.host);
}

/** Versions as in `process.versions`. */
type Versions = Readonly<Record<string, string | undefined>>;

/** From nghttp2 1.69 on, a PING of the wrong length after GOAWAY and HEADERS ends the connection, not the process. */
const PING_FIXED_MINOR = 69;
/** Node releases in which the fault of `abortsAfterSessionError` was found; 24.21 and 26.10 do not have it. */
const SESSION_ERROR_ABORTS = /^(22\.23\.3|26\.[89]\.\d+)$/;

/**
 * Whether a client can abort the process with GOAWAY, HEADERS and a PING of the wrong length (nghttp2 pull request
 * 2509).
 */
export function abortsAtPing({ nghttp2 = '' }: Versions = process.versions): boolean {
  const [major, minor = 0] = nghttp2.split('.').map(Number);
  return major === 1 && minor < PING_FIXED_MINOR;
}

/**
 * Whether a client can abort the process with a request after a frame on which Node destroys the session while nghttp2
 * goes on: a GOAWAY that reports an error, or a PING with ACK that answers none (Node issue 64850).
 */
export function abortsAfterSessionError({ node = '' }: Versions = process.versions): boolean {
  return SESSION_ERROR_ABORTS.test(node);
}

/** Where the service listens; undefined for a server that does not run. */
interface Places {
  readonly grpcAddress: string | undefined;
  readonly httpUrl: string | undefined;
  /** Whether the gateway serves `/docs`. */
  readonly docs: boolean;
}

/** The name of the container that this process runs in; undefined outside a Docker container, and always under npm. */
export function containerOfThisProcess(env: NodeJS.ProcessEnv): string | undefined {
  // Docker creates this file in every container, whose default host name is its id.
  if (env['npm_lifecycle_event'] === undefined && existsSync('/.dockerenv')) return hostname();
  return undefined;
}

/**
 * Where to find the service and how to get a token, for somebody who started it by hand: at most four lines.
 *
 * @param tokens the tokens that the gRPC server accepts; undefined if only the gateway runs
 * @param container the name of the container that the service runs in; undefined outside a container
 */
export function firstSteps(
  { grpcAddress, httpUrl, docs }: Places,
  tokens: TokenConfig | undefined,
  container: string | undefined,
): string {
  const lines = [
    ...(grpcAddress === undefined ? [] : [`gRPC   ${reachable(grpcAddress)}`]),
    ...(httpUrl === undefined ? [] : [`REST   ${reachable(httpUrl)}`]),
    ...(httpUrl === undefined || !docs ? [] : [`docs   ${reachable(httpUrl)}/docs`]),
    ...(tokens === undefined ? [] : [tokenLine(tokens, container)]),
  ];
  return `\n${lines.join('\n')}\n\n`;
}

/** The address to connect to; `localhost` for a service that listens on every interface. */
function reachable(address: string): string {
  return address.replace(/^(https?:\/\/)?(?:0\.0\.0\.0|\[::\])(?=:)/, '$1localhost');
}

function tokenLine({ key, issuer, scopes }: TokenConfig, container: string | undefined): string {
  if (key.kind === 'publicKeyFile' || key.kind === 'jwks') return `token  from ${issuer}`;
  const program =
    container === undefined ? 'npm run --silent token --' : `docker exec ${container} node dist/token.js`;
  // `docker exec` inherits the container's settings. A second terminal does not, and only local mode works without any.
  const where = key.kind === 'local' || container !== undefined ? '' : 'with the same settings:  ';
  return `token  ${where}export TOKEN=$(${program} --scope "${scopes.read} ${scopes.write}" --sub me)`;
}

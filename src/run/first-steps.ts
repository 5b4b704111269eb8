import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { ALL_SCOPES } from '../routes/route-service.js';
import type { TokenConfig } from '../settings/token-config.js';

/** Where the service listens; absent for what does not run. */
interface Places {
  readonly grpcAddress: string | undefined;
  readonly httpUrl: string | undefined;
  /** Whether the gateway serves `/docs`. */
  readonly docs: boolean;
}

/** The name of the container in which this process runs; undefined for the project's folder, and always under npm. */
export function containerOfThisProcess(env: NodeJS.ProcessEnv): string | undefined {
  // Docker creates this file in every container, whose default host name is its id.
  if (env['npm_lifecycle_event'] === undefined && existsSync('/.dockerenv')) return hostname();
  return undefined;
}

/**
 * Where to find the service and how to get a token, for whoever started it by hand: at most four lines.
 *
 * @param tokens that the gRPC server accepts; undefined for a gateway alone
 * @param container in which the service runs; undefined for the project's folder
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

function tokenLine({ key, issuer }: TokenConfig, container: string | undefined): string {
  if (key.kind === 'publicKeyFile' || key.kind === 'jwks') return `token  from ${issuer}`;
  const program =
    container === undefined ? 'npm run --silent token --' : `docker exec ${container} node dist/token.js`;
  // A container has its settings; a second terminal has only those of local mode, which are none.
  const where = key.kind === 'local' || container !== undefined ? '' : 'with the same settings:  ';
  return `token  ${where}export TOKEN=$(${program} --scope "${ALL_SCOPES.join(' ')}" --sub me)`;
}

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { TokenConfig } from '../settings/tokens.js';

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
  const lines: string[] = [];
  if (grpcAddress !== undefined) lines.push(`gRPC   ${reachableAddress(grpcAddress)}`);
  if (httpUrl !== undefined) lines.push(`REST   ${reachableAddress(httpUrl)}`);
  if (httpUrl !== undefined && docs) lines.push(`docs   ${reachableAddress(httpUrl)}/docs`);
  if (tokens !== undefined) lines.push(tokenLine(tokens, container));

  return `\n${lines.join('\n')}\n\n`;
}

/** The address to connect to; `localhost` for a service that listens on every interface. */
function reachableAddress(address: string): string {
  return address.replace(/^(https?:\/\/)?(?:0\.0\.0\.0|\[::\])(?=:)/, '$1localhost');
}

function tokenLine({ key, issuers, scopes }: TokenConfig, container: string | undefined): string {
  if (key.kind === 'publicKeyFile' || key.kind === 'jwks') return `token  from ${issuers.join(' or ')}`;
  const program =
    container === undefined ? 'npm run --silent token --' : `docker exec ${container} node dist/token.js`;
  // `docker exec` inherits the container's settings. A second terminal does not, and only local mode works without any.
  const where = key.kind === 'local' || container !== undefined ? '' : 'with the same settings:  ';
  return `token  ${where}export TOKEN=$(${program} --scope "${scopes.read} ${scopes.write}" --sub me)`;
}

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';

/** The addresses of the service; absent for a face that does not run. */
interface Addresses {
  readonly grpcAddress: string | undefined;
  readonly httpUrl: string | undefined;
}

/** The name of the container in which this process runs; undefined for the project's folder, and always under npm. */
export function containerOfThisProcess(env: NodeJS.ProcessEnv): string | undefined {
  // Docker creates this file in every container, whose default host name is its id.
  if (env['npm_lifecycle_event'] === undefined && existsSync('/.dockerenv')) return hostname();
  return undefined;
}

/** The commands to paste into a second terminal to try the service in local mode, without TLS and over TCP. */
export function localModeHint({ grpcAddress, httpUrl }: Addresses, container: string | undefined): string {
  const { where, token, buf } = container === undefined ? IN_FOLDER : commandsFor(container);
  return [
    '',
    `Try it from a second terminal, ${where}:`,
    '',
    `TOKEN=$(${token} --scope "routes:read routes:write" --sub me --ttl 1h)`,
    ...(httpUrl === undefined ? [] : restCommands(reachable(httpUrl))),
    ...(grpcAddress === undefined ? [] : [grpcCommand(buf, reachable(grpcAddress))]),
    '',
    '',
  ].join('\n');
}

const IN_FOLDER = { where: 'in this folder', token: 'npm run --silent token --', buf: 'npx buf' };

function commandsFor(container: string): typeof IN_FOLDER {
  const where = 'on the machine where these ports of the container are published';
  return { where, token: `docker exec ${container} node dist/token.js`, buf: 'buf' };
}

/** The address to connect to; `localhost` for a service that listens on every interface. */
function reachable(address: string): string {
  return address.replace(/^(http:\/\/)?(?:0\.0\.0\.0|\[::\])(?=:)/, '$1localhost');
}

function restCommands(url: string): string[] {
  const authorization = '-H "Authorization: Bearer $TOKEN"';
  const route = `{"method":"GET","path":"/users/:id","middleware":["authenticate"],"handler":"getUser"}`;
  return [
    `ID=$(curl -sS ${url}/v1/routing ${authorization} -H 'Content-Type: application/json' -d '${route}' | tee /dev/stderr | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
    `curl -sS ${url}/v1/routing/$ID ${authorization}`,
  ];
}

function grpcCommand(buf: string, address: string): string {
  return `${buf} curl --protocol grpc --http2-prior-knowledge -H "Authorization: Bearer $TOKEN" -d "{\\"routeId\\":\\"$ID\\"}" http://${address}/routing.v1.RouteService/GetRoute`;
}

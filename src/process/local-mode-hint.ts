import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import type { TlsFiles } from './followed-tls.js';

/** The addresses of the service; absent for a half that does not run. */
export interface Addresses {
  readonly grpcAddress: string | undefined;
  readonly httpUrl: string | undefined;
  /** The service's TLS files, by their paths in this process; absent without TLS. */
  readonly tls: TlsFiles | undefined;
}

/** The place where the service runs, from its user's view. */
export type Place =
  /** The project's folder, with or without npm. */
  | { readonly kind: 'folder'; readonly npm: boolean }
  /** A container of this name or id. */
  | { readonly kind: 'container'; readonly name: string };

/** The place of this process. Under npm it is a folder, even in a developer's container. */
export function placeOfThisProcess(env: NodeJS.ProcessEnv): Place {
  const npm = env['npm_lifecycle_event'] !== undefined;
  // Docker creates this file in every container, whose default host name is its id.
  if (!npm && existsSync('/.dockerenv')) return { kind: 'container', name: hostname() };
  return { kind: 'folder', npm };
}

/**
 * The commands to paste into a second terminal to try the service in local mode. With TLS, they trust the service's
 * certificate itself, whoever signed it.
 */
export function localModeHint({ grpcAddress, httpUrl, tls }: Addresses, place: Place): string {
  const { where, token, buf } = commandsOf(place);
  const { fetched, trusting } = trustOf(tls?.certFile, place);
  const rest = httpUrl === undefined ? [] : restCommands(trusting, reachable(httpUrl));
  const grpc = grpcAddress === undefined ? [] : [grpcCommand(buf, trusting, reachable(grpcAddress), tls)];
  return [
    '',
    `Try it from a second terminal, ${where}:`,
    '',
    ...fetched,
    `TOKEN=$(${token} --scope "routes:read routes:write" --sub me --ttl 1h)`,
    ...rest,
    ...grpc,
    '',
    '',
  ].join('\n');
}

function commandsOf(place: Place): { where: string; token: string; buf: string } {
  if (place.kind === 'container') {
    const where = 'on the machine where these ports of the container are published';
    return { where, token: `docker exec ${place.name} node dist/token.js`, buf: 'buf' };
  }
  const token = place.npm ? 'npm run --silent token --' : 'node dist/token.js';
  return { where: 'in this folder', token, buf: 'npx buf' };
}

/** The options that make clients trust a certificate, and the commands that fetch it. */
function trustOf(certFile: string | undefined, place: Place): { fetched: string[]; trusting: string } {
  if (certFile === undefined) return { fetched: [], trusting: '' };
  const file = `'${certFile.replaceAll("'", `'\\''`)}'`;
  if (place.kind === 'folder') return { fetched: [], trusting: `--cacert ${file} ` };
  return { fetched: [`docker exec ${place.name} cat ${file} > tls.crt`], trusting: '--cacert tls.crt ' };
}

/** The address to connect to; `localhost` for a service that listens on every interface. */
function reachable(address: string): string {
  return address.replace(/^(https?:\/\/)?(?:0\.0\.0\.0|\[::\])(?=:)/, '$1localhost');
}

function restCommands(trusting: string, url: string): string[] {
  const authorization = '-H "Authorization: Bearer $TOKEN"';
  const route = `{"method":"GET","path":"/users/:id","middleware":["authenticate"],"handler":"getUser"}`;
  return [
    `ID=$(curl -sS ${trusting}${url}/v1/routing ${authorization} -H 'Content-Type: application/json' -d '${route}' | tee /dev/stderr | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
    `curl -sS ${trusting}${url}/v1/routing/$ID ${authorization}`,
  ];
}

function grpcCommand(buf: string, trusting: string, address: string, tls: TlsFiles | undefined): string {
  const [scheme, http2] = tls === undefined ? ['http', '--http2-prior-knowledge '] : ['https', ''];
  // The client's own certificate, if the service requires one.
  const own = tls?.caFile === undefined ? '' : '--cert client.crt --key client.key ';
  const target = address.startsWith('unix:')
    ? `--unix-socket ${address.slice('unix:'.length)} ${scheme}://localhost`
    : `${scheme}://${address}`;
  return `${buf} curl --protocol grpc ${http2}${trusting}${own}-H "Authorization: Bearer $TOKEN" -d "{\\"routeId\\":\\"$ID\\"}" ${target}/routing.v1.RouteService/GetRoute`;
}

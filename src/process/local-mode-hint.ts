/** The addresses of the service; absent for a half that does not run. */
export interface Addresses {
  readonly grpcAddress: string | undefined;
  readonly httpUrl: string | undefined;
  /** Whether they speak TLS. */
  readonly tls: boolean;
}

/** The commands to paste into a second terminal to try the service in local mode. */
export function localModeHint({ grpcAddress, httpUrl, tls }: Addresses): string {
  const rest = httpUrl === undefined ? [] : restCommands(httpUrl);
  const grpc = grpcAddress === undefined ? [] : grpcCommands(grpcAddress, tls);
  return [
    '',
    'Try it from a second terminal, in this folder:',
    '',
    tokenCommand(),
    ...rest,
    ...grpc,
    '',
    '',
  ].join('\n');
}

function tokenCommand(): string {
  return 'TOKEN=$(npm run --silent token -- --scope "routes:read routes:write" --sub me --ttl 1h)';
}

function restCommands(url: string): string[] {
  const authorization = '-H "Authorization: Bearer $TOKEN"';
  const route = `{"method":"GET","path":"/users/:id","middleware":["authenticate"],"handler":"getUser"}`;
  return [
    `ID=$(curl -sS ${url}/v1/routing ${authorization} -H 'Content-Type: application/json' -d '${route}' | tee /dev/stderr | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
    `curl -sS ${url}/v1/routing/$ID ${authorization}`,
  ];
}

function grpcCommands(address: string, tls: boolean): string[] {
  const [scheme, http2] = tls ? ['https', ''] : ['http', '--http2-prior-knowledge '];
  const target = address.startsWith('unix:')
    ? `--unix-socket ${address.slice('unix:'.length)} ${scheme}://localhost`
    : `${scheme}://${address}`;
  return [
    `npx buf curl --protocol grpc ${http2}-H "Authorization: Bearer $TOKEN" -d "{\\"routeId\\":\\"$ID\\"}" ${target}/routing.v1.RouteService/GetRoute`,
  ];
}

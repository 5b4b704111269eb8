import { createServer, type Server, type ServerOptions } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { channelUpstream } from '../../../../src/gateway/channel-upstream.js';
import { createGateway, type GatewayLog, type GatewayOptions } from '../../../../src/gateway/gateway.js';
import { listen } from '../../../../test/gateway/grpc-server.js';
import { libraryDescriptorSet, registry } from './library-contract.js';
import { LibraryServer } from './library-server.js';

/** A gateway to the library that listens on a loopback port. */
export interface RunningGateway {
  readonly origin: string;
  readonly library: LibraryServer;
  /** The lines of the log, as JSON values. */
  readonly log: readonly LogLine[];
  close(): Promise<void>;
}

/** A line of the log. */
export interface LogLine {
  readonly level: keyof GatewayLog;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How a gateway reaches the library: in the same process, or over a socket. */
export const WAYS = ['in memory', 'over a channel'] as const;
export type Way = (typeof WAYS)[number];

/** Starts a library, a gateway to it, and an HTTP server for that. */
export async function startGateway(
  way: Way,
  options: Partial<GatewayOptions> = {},
  limits: ServerOptions = {},
): Promise<RunningGateway> {
  const library = new LibraryServer();
  const reached = await reach[way](library);
  const log: LogLine[] = [];
  const ids = requestIds();
  const gateway = createGateway({
    descriptorSet: libraryDescriptorSet,
    upstream: reached.upstream,
    deadlineMs: 5_000,
    realm: 'library',
    newRequestId: () => `made-${ids.next().value}`,
    log: collectingLog(log),
    ...options,
  });
  const server = createServer(limits, gateway.onRequest).on('clientError', gateway.onClientError);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    library,
    log,
    close: async () => {
      await closed(server);
      reached.close();
    },
  };
}

const HEALTH_CHECK = '/grpc.health.v1.Health/Check';

const reach = {
  'in memory': (library: LibraryServer) => ({ upstream: library, close: () => undefined }),
  'over a channel': async (library: LibraryServer) => {
    const services = [...registry].filter((type) => type.kind === 'service');
    const paths = services.flatMap(({ typeName, methods }) =>
      methods.map(({ name }) => `/${typeName}/${name}`),
    );
    const server = await listen(library, [...paths, HEALTH_CHECK]);
    const upstream = channelUpstream(server.address);
    return {
      upstream,
      close: () => {
        upstream.close();
        server.close();
      },
    };
  },
} satisfies Record<Way, unknown>;

function* requestIds(): Generator<number, never> {
  for (let id = 1; ; id += 1) yield id;
}

function collectingLog(lines: LogLine[]): GatewayLog {
  const add = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } });
  };
  return { debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}

/** Writes bytes to a server and reads until it closes the connection. */
export function rawExchange(origin: string, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const { hostname, port } = new URL(origin);
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      resolve(Buffer.concat(chunks).toString('latin1'));
    });
  });
}

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';

/** Listens on a free loopback port and prints the address, in the format of the service's own log line. */
export function announce(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    print({ http: `http://127.0.0.1:${port}` });
  });
}

/** The same for a gRPC server. */
export function announceGrpc(server: GrpcServer): void {
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
    if (error !== null) throw error;
    print({ grpc: `127.0.0.1:${port}` });
  });
}

function print(addresses: Readonly<Record<string, string>>): void {
  process.stdout.write(`${JSON.stringify({ msg: 'listening', ...addresses })}\n`);
}

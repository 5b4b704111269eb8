import cluster from 'node:cluster';
import type { Server, Socket } from 'node:net';

/** Limits the open connections of a server, those of each worker by themselves. Further ones are closed at once. */
export function limitConnections(server: Server, maxConnections: number): void {
  if (!cluster.isWorker) {
    server.maxConnections = maxConnections;
    return;
  }
  // Among workers, Node would pass a connection beyond `maxConnections` from one to the next for ever.
  let open = 0;
  server.on('connection', (socket: Socket) => {
    open++;
    socket.once('close', () => open--);
    if (open > maxConnections) socket.destroy();
  });
}

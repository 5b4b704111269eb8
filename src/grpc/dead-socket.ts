import { once } from 'node:events';
import { lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';

/** Removes a Unix socket on which no process listens, such as a killed process leaves behind. */
export async function removeDeadSocket(path: string): Promise<void> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    const refused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
    // Other files refuse connections too.
    if (refused && (await lstat(path)).isSocket()) await rm(path);
  } finally {
    socket.destroy();
  }
}

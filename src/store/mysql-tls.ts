import { connect, isIP, type Socket } from 'node:net';
import type { MysqlTls } from '../settings/mysql-tls.js';

/** The options of mysql2 for TLS, and for the host that it checks. */
interface DriverOptions {
  readonly ssl: object;
  readonly host: string;
  readonly stream?: () => Socket;
}

/** The options that make mysql2 verify the server before it sends the login. */
export function tlsOptions(
  { ca, checksHost, cert, key }: MysqlTls,
  host: string,
  port: number,
): DriverOptions {
  const ssl = {
    ca,
    verifyIdentity: checksHost,
    minVersion: 'TLSv1.2',
    ...(cert !== undefined && key !== undefined && { cert, key }),
  };
  if (isIP(host) === 0) return { ssl, host };
  // If the host is an address, mysql2 names no server, and Node then checks the name "localhost". The final dot, as in
  // an absolute name, makes mysql2 name it; Node's check drops the dot and finds the address.
  return { ssl, host: `${host}.`, stream: () => connect({ host, port, noDelay: true, keepAlive: true }) };
}

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
  // For an IP address, mysql2 passes no server name, and Node then checks the certificate for "localhost". The final
  // dot, as in an absolute name, makes mysql2 pass the address; Node's check drops the dot and recognizes the address.
  return { ssl, host: `${host}.`, stream: () => connect({ host, port, noDelay: true, keepAlive: true }) };
}

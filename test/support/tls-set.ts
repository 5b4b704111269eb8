import { credentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { createAuthority, type Pair } from './certificates.js';

/** The authority that clients and servers trust, and one that they do not. */
export const authority = createAuthority();
export const otherAuthority = createAuthority();

/** Certificates for a server on loopback or for a client. */
export const first = authority.issue();
export const second = authority.issue();
export const elliptic = authority.issueElliptic();
export const ofOtherAuthority = otherAuthority.issue();
export const expired = authority.issue({ validMs: -1_000 });
/** A certificate for another host, by name and by address. */
export const elsewhere = authority.issue({ names: ['elsewhere.test'], addresses: ['127.0.0.2'] });

/**
 * A client with a separate connection: grpc-js shares connections only between clients with equal credentials. It is
 * closed when the test ends.
 *
 * @param own its certificate and key; default: none
 */
export function secureClient(address: string, trusted = authority.cert, own?: Pair): RouteServiceClient {
  const [key, cert] = own === undefined ? [] : [Buffer.from(own.key), Buffer.from(own.cert)];
  const client = new RouteServiceClient(
    byName(address),
    credentials.createSsl(Buffer.from(trusted), key, cert),
  );
  onTestFinished(() => {
    client.close();
  });
  return client;
}

/** Replaces the address by a name: RFC 6066 forbids addresses as the server name of TLS, and Node warns about them. */
export function byName(address: string): string {
  return address.replace('127.0.0.1', 'localhost');
}

import { credentials } from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { RouteServiceClient } from '../../src/gen/routing/v1/route_service.js';
import { createAuthority, type Pair } from './certificates.js';

/** The authority that everybody trusts, and one that nobody does. */
export const authority = createAuthority();
export const otherAuthority = createAuthority();

/** Certificates for a server on loopback, or for a client. */
export const first = authority.issue();
export const second = authority.issue();
export const ofOtherAuthority = otherAuthority.issue();
export const expired = authority.issue({ validMs: -1_000 });
/** For another host, by name and by address. */
export const elsewhere = authority.issue({ names: ['elsewhere.test'], addresses: ['127.0.0.2'] });

/**
 * A client with a connection of its own until the end of the test: grpc-js shares those with equal credentials only.
 *
 * @param own its certificate; default: none
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

/** RFC 6066 keeps addresses out of the server name that TLS sends, so Node warns of them. */
export function byName(address: string): string {
  return address.replace('127.0.0.1', 'localhost');
}

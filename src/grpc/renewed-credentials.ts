import type { SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';

/** The certificate of a server, which may be renewed while the server runs. */
export interface ServerTls {
  /** With `ca`, every client needs a certificate from one of these authorities. */
  readonly latest: SecureContextOptions;
  /** Calls the listener whenever `latest` has changed. */
  onRenewed(listener: () => void): void;
}

/**
 * Server credentials that grpc-js reloads whenever they are renewed (decision 27). Open connections are not affected.
 */
export class RenewedCredentials extends ServerCredentials {
  /** @param handshakeMs how long a handshake may take, in milliseconds */
  constructor(tls: ServerTls, handshakeMs: number) {
    const requestCert = tls.latest.ca !== undefined;
    super({ requestCert, rejectUnauthorized: true, handshakeTimeout: handshakeMs }, tls.latest);
    tls.onRenewed(() => {
      this.updateSecureContextOptions(tls.latest);
    });
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

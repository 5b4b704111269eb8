import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import type { ChannelOptions, VerifyOptions } from '@grpc/grpc-js';

/** What a channel with TLS needs besides its certificates. */
export interface TlsOptions {
  /** The last argument of `credentials.createSsl` and `credentials.createFromSecureContext`. */
  readonly verifyOptions: VerifyOptions;
  /** To be merged with the other options of the channel. */
  readonly channelOptions: ChannelOptions;
}

/** Stands for an address as the server's name; it is nobody's (RFC 6761, section 6.4). */
const PLACEHOLDER = 'ip-address.invalid';

/**
 * What TLS to a target needs if that is an IP address; for any other, the options are empty. TLS names a server only by
 * a DNS name (RFC 6066, section 3). grpc-js would name it by the address, which Node 26 refuses, and `createSsl` has no
 * option against it. These options name a placeholder, and check the certificate for the address (of several, the first,
 * as grpc-js does). The client's package has the same function, since neither package depends on the other.
 *
 * @param target a target of grpc-js: `host:port`, `dns:///host:port`, `ipv4:host:port,host:port`
 */
export function tlsOptions(target: string): TlsOptions {
  const first = target.replace(/^(?:dns|ipv4|ipv6):(?:\/\/[^/]*\/)?/, '').replace(/,.*/, '');
  // An IPv6 address without brackets has no port.
  const address = isIP(first) === 0 ? first.replace(/^\[?(.+?)\]?(?::\d+)?$/, '$1') : first;
  if (isIP(address) === 0) return { verifyOptions: {}, channelOptions: {} };
  const verifyOptions: VerifyOptions = {
    checkServerIdentity: (name, certificate) =>
      checkServerIdentity(name === PLACEHOLDER ? address : name, certificate),
  };
  return { verifyOptions, channelOptions: { 'grpc.ssl_target_name_override': PLACEHOLDER } };
}

import { isIP } from 'node:net';
import { checkServerIdentity as checkNameInCertificate } from 'node:tls';
import type { ChannelOptions, VerifyOptions } from '@grpc/grpc-js';

/** Stands for an address as the server's name: a reserved name that no server has (RFC 6761, section 6.4). */
const PLACEHOLDER = 'ip-address.invalid';

/**
 * What TLS to a target needs if that is an IP address; for any other target, the options are empty.
 *
 * SNI, by which TLS names the server, cannot carry an IP address (RFC 6066, section 3). grpc-js would send the address
 * nevertheless, which Node 26 refuses, and `createSsl` has no option against it. So these options send a placeholder, and
 * check the certificate for the address; of several addresses, for the first, as grpc-js does.
 *
 * `packages/transcoder/src/grpc-js/tls-options.ts` has the same function, since neither the client nor the transcoder depends
 * on the other. A change belongs into both.
 *
 * @param target a target of grpc-js: `host:port`, `dns:///host:port`, `ipv4:host:port,host:port`
 */
export function tlsOptions(target: string): {
  readonly verifyOptions: VerifyOptions;
  readonly channelOptions: ChannelOptions;
} {
  const address = hostOf(firstEndpoint(target));
  if (isIP(address) === 0) return { verifyOptions: {}, channelOptions: {} };

  const verifyOptions: VerifyOptions = {
    // The name is another if the application itself has set the option `grpc.ssl_target_name_override`.
    checkServerIdentity: (name, certificate) =>
      checkNameInCertificate(name === PLACEHOLDER ? address : name, certificate),
  };
  return { verifyOptions, channelOptions: { 'grpc.ssl_target_name_override': PLACEHOLDER } };
}

/** The first `host:port` of a target, without its scheme and authority. */
function firstEndpoint(target: string): string {
  return target.replace(/^(?:dns|ipv4|ipv6):(?:\/\/[^/]*\/)?/, '').replace(/,.*/, '');
}

/** The host of `host`, `host:port`, `[host]` or `[host]:port`. */
function hostOf(endpoint: string): string {
  // An IPv6 address without brackets has no port.
  return isIP(endpoint) === 0 ? endpoint.replace(/^\[?(.+?)\]?(?::\d+)?$/, '$1') : endpoint;
}

import type { ChannelOptions, VerifyOptions } from '@grpc/grpc-js';
import { ChannelCredentials, Client, credentials, status } from '@grpc/grpc-js';
import type { TokenSource } from './bearer-token.js';
import { MAX_ATTEMPTS, RETRIED } from './failed-call.js';
import { RouteService } from './gen/routing/v1/route_service_pb.js';
import { describeValue, isObject, requireKnown } from './input.js';
import { tlsOptions } from './tls-options.js';

/** Certificates and keys in PEM. */
export interface TlsFiles {
  /** The certificate authorities trusted to sign the server's certificate. Default: those of Node. */
  readonly ca?: Buffer | undefined;
  /** The certificate of this client, with its key, if the server requires one. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

/** Options of a client. */
export interface RouteClientOptions {
  /** The bearer token of each call. */
  readonly token: TokenSource;
  /**
   * Whether and how to use TLS: `true` with Node's certificate authorities, your own certificates, or channel
   * credentials of grpc-js. `false` sends the token in plaintext, for a network that does its own encryption, such as a
   * service mesh. Default: `false` for a target on this machine (`localhost`, `127.0.0.1`, `[::1]`, `unix:`), `true`
   * for any other.
   *
   * If the target is an IP address, the certificate must have it (of several, the first). On Node 26, channel
   * credentials then need `checkServerIdentity` for it, and `grpc.ssl_target_name_override` among the channel options.
   */
  readonly tls?: boolean | TlsFiles | ChannelCredentials | undefined;
  /**
   * Whether a call waits for a connection until its deadline, as while the service restarts. With `false`, it fails
   * with `UNAVAILABLE` after up to four attempts, about 0.7 seconds. Default: true.
   */
  readonly waitForReady?: boolean | undefined;
  /** Channel options of grpc-js, which override the defaults of this package. */
  readonly channelOptions?: ChannelOptions | undefined;
}

const RETRY_POLICY = {
  maxAttempts: MAX_ATTEMPTS,
  initialBackoff: '0.1s',
  maxBackoff: '1s',
  backoffMultiplier: 2,
  retryableStatusCodes: RETRIED.map((code) => status[code]),
};
/** The retries are those of grpc-js (gRFC A6). */
const SERVICE_CONFIG = {
  loadBalancingConfig: [{ round_robin: {} }],
  methodConfig: [{ name: [{ service: RouteService.typeName }], retryPolicy: RETRY_POLICY }],
  // Of the target, not of the client. Retries need more than half of the tokens.
  retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
};

const DEFAULTS: ChannelOptions = {
  'grpc.service_config': JSON.stringify(SERVICE_CONFIG),
  // Ignores service configs in the TXT records of the target's name, so that this config applies.
  'grpc.service_config_disable_resolution': 1,
  // Channels of the same target would otherwise share their connections.
  'grpc.use_local_subchannel_pool': 1,
  // An HTTP proxy in the environment is meant for external traffic.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Reconnects to a restarted server within about a second, also at another address.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // Closes the connection to a silent server after 15 seconds, whether or not calls are in progress.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/**
 * Opens a channel, which connects at its first call.
 *
 * @throws Error when an option is unknown or has the wrong type, the target is a URL, or a certificate comes without
 *   its key
 */
export function openChannel(target: string, options: RouteClientOptions): Client {
  requireTarget(target);
  if (!isObject(options)) throw new Error(`The options must be an object, not ${describeValue(options)}.`);
  requireKnown('option', options, ['token', 'tls', 'waitForReady', 'channelOptions']);
  const { token, tls = !isOnThisMachine(target), waitForReady = true, channelOptions } = options;
  if (typeof token !== 'string' && typeof token !== 'function')
    throw new Error(`The token must be a string or a function; it is ${describeValue(token)}.`);
  if (typeof waitForReady !== 'boolean')
    throw new Error(`waitForReady must be true or false, not ${describeValue(waitForReady)}.`);

  const overrides = definedOptions(channelOptions);
  if (tls instanceof ChannelCredentials) return new Client(target, tls, { ...DEFAULTS, ...overrides });

  const ofTarget = tlsOptions(target);
  const channelCredentials = credentialsOf(tls, ofTarget.verifyOptions);
  return new Client(target, channelCredentials, { ...DEFAULTS, ...ofTarget.channelOptions, ...overrides });
}

/** The schemes of URLs that others take for a gRPC server; `tcp` leaves open whether it speaks TLS. */
const URL_SCHEME = /^(?:(?<plaintext>http|grpc)|(?<tls>https|grpcs)|tcp):\/\/(?<address>[^/?#]*)/i;

/** Refuses a URL, which grpc-js would try to resolve as a host name, again and again. */
function requireTarget(target: unknown): void {
  if (typeof target !== 'string')
    throw new Error(`The target must be a string, not ${describeValue(target)}.`);
  const url = URL_SCHEME.exec(target)?.groups;
  if (url === undefined) return;
  const address = `The target is a URL; gRPC takes an address: '${url['address']}'`;
  if (url['tls'] !== undefined) throw new Error(`${address}, with the option tls: true.`);
  if (url['plaintext'] !== undefined) throw new Error(`${address}, with the option tls: false.`);
  throw new Error(`${address}.`);
}

/** The channel options that have a value: the others keep their defaults. */
function definedOptions(channelOptions: unknown = {}): ChannelOptions {
  if (!isObject(channelOptions))
    throw new Error(`channelOptions must be an object, not ${describeValue(channelOptions)}.`);
  return Object.fromEntries(Object.entries(channelOptions).filter(([, value]) => value !== undefined));
}

function credentialsOf(tls: unknown, verifyOptions: VerifyOptions): ChannelCredentials {
  if (tls === false) return credentials.createInsecure();
  const files = tls === true ? {} : tls;
  // Credentials of another copy of grpc-js are objects, too.
  if (!isObject(files) || Object.keys(files).some((name) => !['ca', 'cert', 'key'].includes(name))) {
    const allowed = 'true, false, { ca, cert, key }, or channel credentials of this @grpc/grpc-js';
    throw new Error(`tls must be ${allowed}, not ${describeValue(tls)}.`);
  }
  const { ca, key, cert }: TlsFiles = files;
  return credentials.createSsl(ca, key, cert, verifyOptions);
}

const LOOPBACK = String.raw`(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?`;
const ON_THIS_MACHINE = new RegExp(
  String.raw`^(?:unix(?:-abstract)?:.+|(?:dns:(?:///)?|ipv4:|ipv6:)?${LOOPBACK}(?:,${LOOPBACK})*)$`,
);

/** Whether each address of a target is on this machine. */
export function isOnThisMachine(target: string): boolean {
  return ON_THIS_MACHINE.test(target);
}

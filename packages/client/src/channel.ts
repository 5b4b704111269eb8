import {
  ChannelCredentials,
  type ChannelOptions,
  Client,
  credentials,
  type VerifyOptions,
} from '@grpc/grpc-js';
import { requireToken, type TokenSource } from './bearer-token.js';
import { isObject, shown } from './text.js';
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
  /** Channel options of grpc-js, which override the defaults of this package. */
  readonly channelOptions?: ChannelOptions | undefined;
}

const DEFAULTS: ChannelOptions = {
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  // Ignores service configs in the TXT records of the target's name, so that this one applies.
  'grpc.service_config_disable_resolution': 1,
  // Channels of the same target would otherwise share their connections.
  'grpc.use_local_subchannel_pool': 1,
  // An HTTP proxy in the environment is meant for external traffic.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Reconnects to a restarted server within about a second.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // Closes the connection to a silent server after 15 seconds, whether or not calls are in progress.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/**
 * Opens channels, each of which connects at its first call.
 *
 * @throws Error when an option has the wrong type, the target is a URL, or a certificate comes without its key
 */
export function channelOpener(target: string, options: RouteClientOptions): () => Client {
  requireTarget(target);
  if (!isObject(options)) throw new Error(`The options must be an object, not ${shown(options)}.`);
  const { token, tls = !isOnThisMachine(target), channelOptions } = options;
  requireToken(token);
  const given = givenOptions(channelOptions);
  if (tls instanceof ChannelCredentials) return () => new Client(target, tls, { ...DEFAULTS, ...given });
  const secured = tlsOptions(target);
  const opened = channelCredentials(tls, secured.verifyOptions);
  return () => new Client(target, opened, { ...DEFAULTS, ...secured.channelOptions, ...given });
}

/** Refuses a URL, which grpc-js would try to resolve as a host name, again and again. */
function requireTarget(target: unknown): void {
  if (typeof target !== 'string') throw new Error(`The target must be a string, not ${shown(target)}.`);
  const [, scheme = '', address = ''] = /^(https?):\/\/([^/?#]*)/i.exec(target) ?? [];
  if (scheme === '') return;
  const tls = String(scheme.toLowerCase() === 'https');
  throw new Error(`The target is a URL; gRPC takes an address: '${address}', with the option tls: ${tls}.`);
}

/** The channel options that have a value: the others keep their defaults. */
function givenOptions(channelOptions: unknown = {}): ChannelOptions {
  if (!isObject(channelOptions))
    throw new Error(`channelOptions must be an object, not ${shown(channelOptions)}.`);
  return Object.fromEntries(Object.entries(channelOptions).filter(([, value]) => value !== undefined));
}

function channelCredentials(tls: unknown, verifyOptions: VerifyOptions): ChannelCredentials {
  if (tls === false) return credentials.createInsecure();
  const files = tls === true ? {} : tls;
  // Credentials of another copy of grpc-js are objects, too.
  if (!isObject(files) || Object.keys(files).some((name) => !['ca', 'cert', 'key'].includes(name))) {
    const allowed = 'true, false, { ca, cert, key }, or channel credentials of this @grpc/grpc-js';
    throw new Error(`tls must be ${allowed}, not ${shown(tls)}.`);
  }
  const [ca, key, cert] = ['ca', 'key', 'cert'].map((name) => pemIn(files, name));
  return credentials.createSsl(ca, key, cert, verifyOptions);
}

function pemIn(files: Readonly<Record<string, unknown>>, name: string): Buffer | null {
  const pem = files[name] ?? null;
  if (pem === null || Buffer.isBuffer(pem)) return pem;
  throw new Error(`tls.${name} must be a buffer with PEM, not ${shown(pem)}.`);
}

const LOOPBACK = String.raw`(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?`;
const ON_THIS_MACHINE = new RegExp(
  String.raw`^(?:unix(?:-abstract)?:.+|(?:dns:(?:///)?|ipv4:|ipv6:)?${LOOPBACK}(?:,${LOOPBACK})*)$`,
);

/** Whether each address of a target is on this machine. */
export function isOnThisMachine(target: string): boolean {
  return ON_THIS_MACHINE.test(target);
}

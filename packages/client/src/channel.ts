import {
  ChannelCredentials,
  type ChannelOptions,
  Client,
  credentials,
  type VerifyOptions,
} from '@grpc/grpc-js';
import type { TokenSource } from './bearer-token.js';
import { RouteService } from './gen/routing/v1/route_service_pb.js';
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
   */
  readonly tls?: boolean | TlsFiles | ChannelCredentials | undefined;
  /** Channel options of grpc-js, which override the defaults of this package. */
  readonly channelOptions?: ChannelOptions | undefined;
}

/** The gRPC service config (github.com/grpc/grpc/blob/master/doc/service_config.md). */
const SERVICE_CONFIG = {
  loadBalancingConfig: [{ round_robin: {} }],
  methodConfig: [
    {
      name: [{ service: RouteService.typeName }],
      retryPolicy: {
        maxAttempts: 4,
        initialBackoff: '0.1s',
        maxBackoff: '1s',
        backoffMultiplier: 2,
        retryableStatusCodes: ['UNAVAILABLE', 'RESOURCE_EXHAUSTED'],
      },
    },
  ],
  // Retries stop while failed attempts outnumber a tenth of the successful ones by 50.
  retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
};

const DEFAULTS: ChannelOptions = {
  'grpc.service_config': JSON.stringify(SERVICE_CONFIG),
  // Ignores service configs in the TXT records of the target's name, so that the policy above applies.
  'grpc.service_config_disable_resolution': 1,
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
 * Opens a channel, which connects at the first call.
 *
 * @throws Error when the target is a URL, grpc-js cannot parse it, or a certificate comes without its key
 */
export function openChannel(target: string, { tls, channelOptions }: RouteClientOptions): Client {
  refuseUrl(target);
  if (tls instanceof ChannelCredentials) return new Client(target, tls, { ...DEFAULTS, ...channelOptions });
  const secured = tlsOptions(target);
  return new Client(target, channelCredentials(tls ?? !isOnThisMachine(target), secured.verifyOptions), {
    ...DEFAULTS,
    ...secured.channelOptions,
    ...channelOptions,
  });
}

/** Refuses a URL, which grpc-js would try to resolve as a host name, again and again. */
function refuseUrl(target: string): void {
  const [, scheme = '', address = ''] = /^(https?):\/\/([^/?#]*)/i.exec(target) ?? [];
  if (scheme === '') return;
  const tls = String(scheme.toLowerCase() === 'https');
  throw new Error(`The target is a URL; gRPC takes an address: '${address}', with the option tls: ${tls}.`);
}

function channelCredentials(tls: boolean | TlsFiles, verifyOptions: VerifyOptions): ChannelCredentials {
  if (tls === false) return credentials.createInsecure();
  const { ca = null, key = null, cert = null } = tls === true ? {} : tls;
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

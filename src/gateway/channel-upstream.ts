import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { type ChannelOptions, Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { UnaryCall, UnaryReply, Upstream } from '@route-registry/transcoder';
import { now, onWallClock } from './clock.js';

const OPTIONS: ChannelOptions = {
  // A proxy named by the environment is for external traffic.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Far more than an answer has: a response is hardly larger than its request.
  'grpc.max_receive_message_length': 256 * 1024,
  // Only the client knows whether a call may be repeated.
  'grpc.enable_retries': 0,
  // Spreads the load over all addresses of the target, whatever service config its DNS records hold.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
  // Reconnects to a restarted server within about a second.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // Drops a silent server after 15 seconds, whether or not calls are in progress.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/** An upstream with a channel of its own. */
export interface ChannelUpstream extends Upstream {
  /** Closes the channel: calls in progress run to their end, later ones fail with `UNAVAILABLE`. */
  close(): void;
}

/** The trusted authorities and the certificate of a channel, which may be renewed. */
interface ChannelTls {
  /** Without `ca`, the channel trusts the authorities that Node trusts. */
  readonly latest: SecureContextOptions;
  /** Calls the listener whenever `latest` has changed. */
  onRenewed(listener: () => void): void;
}

/**
 * Opens a channel to one or more gRPC servers, and makes one plain unary call for each request. The channel connects
 * with the first call, and reconnects after a lost connection. Calls are never retried.
 *
 * @param target a target of grpc-js (doc/naming.md of gRPC): `host:port`, `dns:///host:port`, `unix:/path`,
 *   `ipv4:host:port,host:port`. Calls are spread evenly over all its addresses.
 * @param tls default: no TLS. With it, the server's certificate must be valid for the host of the target. When it is
 *   renewed, later calls use a new channel; calls in progress run to their end on the old one.
 * @param options replace the defaults, for tests.
 */
export function channelUpstream(
  target: string,
  tls?: ChannelTls,
  options: ChannelOptions = {},
): ChannelUpstream {
  const open = (): Client => {
    const identity =
      tls === undefined
        ? credentials.createInsecure()
        : credentials.createFromSecureContext(createSecureContext(tls.latest));
    return new Client(target, identity, { ...OPTIONS, ...options });
  };
  let client = open();
  let closed = false;
  tls?.onRenewed(() => {
    if (closed) return;
    client.close();
    client = open();
  });
  return {
    unary(call: UnaryCall): UnaryReply | Promise<UnaryReply> {
      if (call.cancellation.cancelled) return notCalled(status.CANCELLED, 'The client has gone.');
      if (call.deadline <= now()) return notCalled(status.DEADLINE_EXCEEDED, 'The deadline has passed.');
      if (closed) return notCalled(status.UNAVAILABLE, 'The channel is closed.');
      return request(client, call);
    },
    close() {
      closed = true;
      client.close();
    },
  };
}

function notCalled(code: status, details: string): UnaryReply {
  return { code, details };
}

function request(
  client: Client,
  { path, message, metadata, deadline, cancellation }: UnaryCall,
): Promise<UnaryReply> {
  return new Promise((resolve) => {
    let received: Buffer | undefined;
    let headersCame = false;
    const call = client.makeUnaryRequest(
      path,
      same,
      same,
      Buffer.from(message),
      toMetadata(metadata),
      { deadline: onWallClock(deadline) },
      (error, value) => {
        if (error === null) received = value;
        else resolve(failed(error, headersCame));
      },
    );
    call.on('metadata', () => {
      headersCame = true;
    });
    // The status follows the message or the error, and has the trailers.
    call.on('status', ({ metadata: trailers }) => {
      if (received !== undefined) resolve({ code: status.OK, details: '', message: received, trailers });
    });
    cancellation.onCancelled(() => {
      call.cancel();
    });
  });
}

/** The codes of grpc-js for calls that break off in progress; their messages name hosts. */
const BROKEN_OFF: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.RESOURCE_EXHAUSTED,
  status.UNAVAILABLE,
]);

/** Trailers show that the server ended the call; if it had sent headers before, they may be empty. */
function failed({ code, details, metadata }: ServiceError, headersCame: boolean): UnaryReply {
  const empty = Object.keys(metadata.getMap()).length === 0;
  const answered = headersCame ? !(empty && BROKEN_OFF.has(code)) : !empty;
  if (answered) return { code, details, trailers: metadata };
  // An answer too large for this side is a fault of the server; trying again would not help.
  return headersCame && code === status.RESOURCE_EXHAUSTED
    ? { code: status.INTERNAL, details }
    : { code, details };
}

function toMetadata(entries: UnaryCall['metadata']): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of entries) metadata.set(key, value);
  return metadata;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

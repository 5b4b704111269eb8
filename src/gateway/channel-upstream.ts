import { type ChannelOptions, Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { UnaryCall, UnaryReply, Upstream } from '@route-registry/transcoder';

const OPTIONS: ChannelOptions = {
  // A proxy that the environment names is for traffic to the outside.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // Only the caller knows whether a call may be repeated.
  'grpc.enable_retries': 0,
  // The load is spread over all addresses of the target, whatever its DNS records say of it.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.service_config_disable_resolution': 1,
  // A server that restarts is found again within about a second.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // A server that falls silent is left out after 15 seconds, whether calls are under way or not.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/** An upstream that is reached over a channel of its own. */
export interface ChannelUpstream extends Upstream {
  /** Closes the channel: calls that are under way go on to their end, later ones are `UNAVAILABLE`. */
  close(): void;
}

/**
 * Opens a channel without TLS to one gRPC server or several, and makes one plain unary call for each call. The
 * channel connects with the first call, and again after a connection was lost. Calls are never repeated.
 *
 * @param target an address or a name as grpc-js takes it (doc/naming.md of gRPC): `host:port`,
 *   `dns:///host:port`, `unix:/path`, `ipv4:host:port,host:port`. All its addresses share the calls evenly.
 * @param options in place of the ones that it has by default, for tests.
 */
export function channelUpstream(target: string, options: ChannelOptions = {}): ChannelUpstream {
  const client = new Client(target, credentials.createInsecure(), { ...OPTIONS, ...options });
  let closed = false;
  return {
    unary(call: UnaryCall): UnaryReply | Promise<UnaryReply> {
      if (call.cancellation.cancelled) return notCalled(status.CANCELLED, 'The client has gone.');
      if (call.deadline <= Date.now()) return notCalled(status.DEADLINE_EXCEEDED, 'The deadline has passed.');
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
      { deadline },
      (error, value) => {
        if (error === null) received = value;
        else resolve(failed(error, headersCame));
      },
    );
    call.on('metadata', () => {
      headersCame = true;
    });
    // It comes after the message or the error, and has the trailers.
    call.on('status', ({ metadata: trailers }) => {
      if (received !== undefined) resolve({ code: status.OK, details: '', message: received, trailers });
    });
    cancellation.onCancelled(() => {
      call.cancel();
    });
  });
}

/** The codes that grpc-js gives to calls that break off under way, with texts that name hosts. */
const BROKEN_OFF: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.INTERNAL,
  status.UNAVAILABLE,
]);

/** Trailers tell that the server ended the call; where it had sent headers before, they may be empty. */
function failed({ code, details, metadata }: ServiceError, headersCame: boolean): UnaryReply {
  const empty = Object.keys(metadata.getMap()).length === 0;
  const answered = headersCame ? !(empty && BROKEN_OFF.has(code)) : !empty;
  return answered ? { code, details, trailers: metadata } : { code, details };
}

function toMetadata(entries: UnaryCall['metadata']): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of entries) metadata.set(key, value);
  return metadata;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}

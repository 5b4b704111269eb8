import { createSecureContext } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import type { Upstream } from '@route-registry/transcoder';
import { grpcUpstream, tlsOptions } from '@route-registry/transcoder/grpc-js';
import type { Logger } from 'pino';
import type { Pipeline } from '../calls/pipeline.js';
import { memoryUpstream, onWallClock } from '../gateway/upstream.js';
import type { Closing } from './closing.js';
import { followTls } from './follow-tls.js';
import type { Operations } from './operations.js';
import type { Limits, TlsFiles } from '../settings/config.js';
import type { Tracing } from '../watch/tracing/tracing.js';

/** The parts of the process that an upstream uses. */
interface UpstreamDependencies {
  readonly closing: Closing;
  readonly logger: Logger;
  /** Absent when tracing is off. */
  readonly tracing: Tracing | undefined;
  readonly operations: Pick<Operations, 'metrics'>;
  readonly config: { readonly limits: Pick<Limits, 'maxWaitingCalls'> };
  /** How often the TLS files are reread, in milliseconds; default: 10,000. */
  readonly fileCheckMs?: number;
}

const CHANNEL_OPTIONS = {
  // Far larger than any response, which is hardly larger than its request.
  'grpc.max_receive_message_length': 256 * 1024,
  // Drops the connection to a silent server after 15 seconds, even without calls: this service allows such pings.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
};

/** Opens a channel to the configured gRPC server or, if there is none, calls the pipeline in this process directly. */
export async function openUpstream(
  target: string | undefined,
  tlsFiles: TlsFiles | undefined,
  pipeline: Pipeline | undefined,
  dependencies: UpstreamDependencies,
): Promise<Upstream> {
  if (target === undefined && pipeline !== undefined) return memoryUpstream(pipeline);
  if (target === undefined) throw new Error('The gateway has no gRPC server to call.');
  const tls =
    tlsFiles &&
    (await followTls(
      'GRPC_UPSTREAM_CA_FILE, GRPC_UPSTREAM_CERT_FILE or GRPC_UPSTREAM_KEY_FILE',
      tlsFiles,
      dependencies,
    ));
  const { verifyOptions, channelOptions } = tlsOptions(target);
  const identity = (): ChannelCredentials =>
    tls === undefined
      ? credentials.createInsecure()
      : credentials.createFromSecureContext(createSecureContext(tls.latest), verifyOptions);
  const channel = grpcUpstream(target, {
    credentials: identity(),
    // As many as the server lets wait: here nobody knows which calls wait.
    maxCallsOfCaller: Math.floor(dependencies.config.limits.maxWaitingCalls / 2),
    channelOptions: { ...CHANNEL_OPTIONS, ...channelOptions },
  });
  dependencies.operations.metrics?.callsLeftRunning(() => channel.leftRunning);
  tls?.onRenewed(() => {
    channel.renew(identity());
  });
  dependencies.closing.resource('channel to the gRPC server', () => {
    channel.close();
  });
  const upstream = onWallClock(channel);
  return dependencies.tracing?.upstream(upstream, target) ?? upstream;
}

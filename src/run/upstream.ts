import type { Upstream } from '@route-registry/transcoder';
import type { Logger } from 'pino';
import type { Pipeline } from '../calls/pipeline.js';
import { channelUpstream } from '../gateway/channel-upstream.js';
import { memoryUpstream } from '../gateway/memory-upstream.js';
import type { Closing } from './closing.js';
import { followTls } from './follow-tls.js';
import type { TlsFiles } from '../settings/tls-config.js';
import type { Tracing } from '../watch/tracing/tracing.js';

/** The parts of the process that an upstream uses. */
interface UpstreamDependencies {
  readonly closing: Closing;
  readonly logger: Logger;
  /** How often the TLS files are read again, in milliseconds. Default: 10,000. */
  readonly rereadMs?: number | undefined;
  /** Absent when tracing is off. */
  readonly tracing: Tracing | undefined;
}

/** Opens the configured gRPC server or, without one, the pipeline in this process, which needs no socket. */
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
  const channel = channelUpstream(target, tls);
  dependencies.closing.resource('channel to the gRPC server', () => {
    channel.close();
  });
  return dependencies.tracing?.upstream(channel, target) ?? channel;
}

import type { CallLog } from '../calls/call-log.js';
import type { Metrics } from '../watch/metrics/metrics.js';
import { Readiness, startOpsServer } from '../watch/ops-server.js';
import type { Closing } from './closing.js';
import { listenOrExplain } from './open-or-explain.js';
import { joinAddress } from '../settings/reader.js';
import type { Config } from '../settings/config.js';
import { serviceVersion } from './version.js';

/** The operators' view of a process. */
export interface Operations {
  readonly readiness: Readiness;
  /** Absent when metrics are off. */
  readonly metrics: Metrics | undefined;
  /** The base URL of its pages; absent without a listener. */
  readonly url: string | undefined;
}

/**
 * Opens the operators' listener, which must open before the rest of the service, so that it closes last. If
 * `OPS_ADDRESS` is `off`, there is no listener and nothing is measured.
 *
 * @throws Error when it cannot listen
 */
export async function openOperations(
  { ops, grpc, http }: Config,
  { closing, callLog }: { readonly closing: Closing; readonly callLog: CallLog },
): Promise<Operations> {
  const readiness = new Readiness([
    ...(grpc === undefined ? [] : ['database', 'schema']),
    ...(http?.upstream === undefined ? [] : ['upstream']),
  ]);
  if (ops === undefined) return { readiness, metrics: undefined, url: undefined };
  // Loaded only when metrics are on.
  const loaded = await import('../watch/metrics/metrics.js');
  const metrics = new loaded.Metrics();
  const role = grpc === undefined ? 'gateway' : http === undefined ? 'grpc' : 'all';
  metrics.buildInfo({ version: serviceVersion(), role });
  metrics.readiness(readiness);
  metrics.linesLeftOut(callLog.leftOut);
  const { host, port } = ops;
  const server = await listenOrExplain('OPS_ADDRESS', joinAddress(host, port), () =>
    startOpsServer(host, port, { readiness: () => readiness.report, metrics }),
  );
  closing.resource('listener for operators', () => server.close());
  return { readiness, metrics, url: `http://${joinAddress(host, server.port)}` };
}

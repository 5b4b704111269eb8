import type { Logger } from 'pino';
import { Admission, type PipelineOptions } from '../../src/calls/pipeline.js';
import { CallLog, logCalls } from '../../src/calls/call-log.js';
import { readConfig } from '../../src/settings/config.js';

/** The default limits. */
export const { limits: LIMITS } = readConfig({});

/** Options of a pipeline, with the default limits unless others are given. */
export function pipelineOptions(
  given: Pick<PipelineOptions, 'authenticator'> & Partial<PipelineOptions>,
  logger: Logger,
): PipelineOptions {
  const log = new CallLog(logger, 'failures');
  return {
    ...LIMITS,
    deadlineMs: 60_000,
    admission: new Admission(LIMITS),
    log,
    observers: [logCalls(log)],
    ...given,
  };
}

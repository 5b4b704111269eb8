import type { Logger } from 'pino';
import { Admission, type InterceptorOptions } from '../../src/calls/pipeline.js';
import { CallLog, logging } from '../../src/calls/call-log.js';
import { readConfig } from '../../src/settings/config.js';

/** The default limits. */
export const { limits: LIMITS } = readConfig({});

/** Options of interceptors, with the default limits unless others are given. */
export function interceptorOptions(
  given: Pick<InterceptorOptions, 'authenticator'> & Partial<InterceptorOptions>,
  logger: Logger,
): InterceptorOptions {
  const log = new CallLog(logger, 'failures');
  return {
    ...LIMITS,
    deadlineMs: 60_000,
    admission: new Admission(LIMITS),
    log,
    observers: [logging(log)],
    ...given,
  };
}

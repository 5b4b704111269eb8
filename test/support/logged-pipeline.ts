import type { Logger } from 'pino';
import { CallLog, logCalls } from '../../src/calls/call-log.js';
import type { Interceptor, Method } from '../../src/calls/call.js';
import { createPipeline, createSteps, type Pipeline, type StepOptions } from '../../src/calls/pipeline.js';
import { readConfig } from '../../src/settings/config.js';

/** The default limits. */
export const { limits: LIMITS } = readConfig({});

/**
 * A pipeline that logs its calls, with the default limits but a deadline of a minute, unless others are given.
 *
 * @param observers outside the log; default: none
 */
export function loggedPipeline(
  methods: readonly Method[],
  options: Pick<StepOptions, 'authenticator'> & Partial<StepOptions>,
  logger: Logger,
  observers: readonly Interceptor[] = [],
): Pipeline {
  const log = new CallLog(logger, 'failures');
  const steps = createSteps({ ...LIMITS, deadlineMs: 60_000, log, ...options });
  return createPipeline(methods, steps, [...observers, logCalls(log)]);
}

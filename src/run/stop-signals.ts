import { constants } from 'node:os';
import { performance } from 'node:perf_hooks';

/** The signals that stop a process gracefully. */
const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];
/**
 * Signals within this time after the first signal count as its repetition, in milliseconds: npm forwards a signal that
 * the terminal has already sent to the whole process group, and so do `timeout` and service managers.
 */
const REPEAT_MS = 1_000;

/**
 * Listens for the signals that stop a process.
 *
 * @param stop stops the process gracefully; called for the first signal
 * @param force ends the process at once with this exit code, which is not 0; called for every later signal that is
 *   not a repetition of the first signal
 * @param repeatMs how long after the first signal further signals count as its repetition, in milliseconds
 */
export function onStopSignals(
  stop: (signal: NodeJS.Signals) => void,
  force: (signal: NodeJS.Signals, exitCode: number) => void,
  repeatMs = REPEAT_MS,
): void {
  let stoppingSince: number | undefined;
  const listener = (signal: NodeJS.Signals): void => {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now();
      stop(signal);
    } else if (performance.now() - stoppingSince >= repeatMs) {
      force(signal, 128 + constants.signals[signal]);
    }
  };
  for (const signal of STOP_SIGNALS) process.on(signal, listener);
}

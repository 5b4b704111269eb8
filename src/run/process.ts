import { constants } from 'node:os';
import { performance } from 'node:perf_hooks';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** Where a program writes that runs to its end. */
export interface Terminal {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/** The format of log lines: `pretty` for people, `json` for programs, or `auto`, which depends on the output. */
export type LogFormat = 'auto' | 'json' | 'pretty';

export interface LogOptions {
  /** A level of pino, or `silent`. */
  readonly level: string;
  readonly format: LogFormat;
  /** Whether the output is a terminal: `auto` then means `pretty`, otherwise `json`. */
  readonly terminal: boolean;
}

/** Every character that a terminal would interpret, except the line breaks and tabs of stack traces. */
const CONTROL = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Creates a logger that writes each line at once, as JSON with an ISO 8601 time or formatted for people. */
export async function openLogger(output: DestinationStream, options: LogOptions): Promise<Logger> {
  const { level, format, terminal } = options;
  const pretty = format === 'pretty' || (format === 'auto' && terminal);
  return pino(
    { level, timestamp: stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    pretty ? await readable(output, terminal) : output,
  );
}

/** Uses pino-pretty's formatter without its stream, which would still buffer lines when the process exits. */
async function readable(output: DestinationStream, terminal: boolean): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty');
  const prettify = prettyFactory({
    // At a terminal, pino-pretty's default respects NO_COLOR and TERM.
    ...(terminal ? {} : { colorize: false }),
    ignore: 'pid,hostname',
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss.l',
  });
  return {
    write(line) {
      output.write(prettify(JSON.parse(line, shown)));
    },
  };
}

function shown(_key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return value.replace(CONTROL, (character) => `\\u{${Number(character.codePointAt(0)).toString(16)}}`);
}

/** The signals that stop a process gracefully. */
const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];
/**
 * Signals within this time after the first one count as its repetition, in milliseconds: npm forwards a signal that the
 * terminal has already sent to the whole process group, and so do `timeout` and service managers.
 */
const REPEAT_MS = 1_000;

/**
 * Listens for the signals that stop a process.
 *
 * @param stop stops the process gracefully; called for the first signal
 * @param force ends the process at once with the given exit code, which is not 0; called for every later signal that is
 *   not a repetition of the first one
 * @param repeatMs how long after the first signal further ones count as its repetition, in milliseconds
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

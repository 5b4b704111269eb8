import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { escapeInvisible } from '../registry/text.js';

/** The format of log lines: `pretty` for people, `json` for programs, or `auto`, which depends on the output. */
export type LogFormat = 'auto' | 'json' | 'pretty';

export interface LogOptions {
  /** A level of pino, or `silent`. */
  readonly level: string;
  readonly format: LogFormat;
  /** Whether the output is a terminal: `auto` then means `pretty`, otherwise `json`. */
  readonly terminal: boolean;
}

/** Creates a logger that writes each line at once, as JSON with an ISO 8601 time or formatted for people. */
export async function openLogger(output: DestinationStream, options: LogOptions): Promise<Logger> {
  const { level, format, terminal } = options;
  const pretty = format === 'pretty' || (format === 'auto' && terminal);
  return pino(
    { level, timestamp: stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    pretty ? await prettyStream(output, terminal) : output,
  );
}

/** Uses pino-pretty's formatter without its stream, which would still buffer lines when the process exits. */
async function prettyStream(output: DestinationStream, terminal: boolean): Promise<DestinationStream> {
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
      output.write(prettify(JSON.parse(line, withoutControls)));
    },
  };
}

/** Escapes what a terminal would interpret, except the line breaks and tabs of stack traces. */
function withoutControls(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/[^\n\t]+/g, escapeInvisible) : value;
}

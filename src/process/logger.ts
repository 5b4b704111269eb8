import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** How log lines look: for people, for programs, or whichever suits the reader of stdout. */
export type LogFormat = 'auto' | 'json' | 'pretty';

/** The form of a log. */
export interface LogOptions {
  /** A level of pino, or `silent`. */
  readonly level: string;
  readonly format: LogFormat;
  /** Whether the output is a terminal, where `auto` is `pretty`; elsewhere it is `json`. */
  readonly terminal: boolean;
}

/** Everything that a terminal would obey, but for the line breaks and tabs of stacks. */
const CONTROL = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A logger that hands each line to the output at once, as JSON with an ISO time, or as a line for people. */
export async function openLogger(output: DestinationStream, options: LogOptions): Promise<Logger> {
  const { level, format, terminal } = options;
  const pretty = format === 'pretty' || (format === 'auto' && terminal);
  return pino(
    { level, timestamp: stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    pretty ? await readable(output, terminal) : output,
  );
}

/** The function of pino-pretty without its stream, which would hold lines back when the process exits. */
async function readable(output: DestinationStream, terminal: boolean): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty');
  const prettify = prettyFactory({
    // At a terminal, its default heeds NO_COLOR and TERM.
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

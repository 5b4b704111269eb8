import { escapeInvisible } from '../registry/text.js';
import { ConfigError } from '../settings/config.js';

/** Where a program writes that runs to its end. */
export interface Terminal {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}

/**
 * Describes why a program cannot start, for a terminal. Only a `ConfigError`, whose text is our own, may have several
 * lines. Other messages may quote a server, so control characters in them are escaped.
 */
export function startProblem(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return escapeInvisible(error instanceof Error ? error.message : String(error));
}

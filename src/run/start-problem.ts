import { escapeInvisible } from '../registry/text.js';
import { ConfigError } from '../settings/config.js';

/**
 * Why a program cannot start, for a terminal. Only the problems of settings, which are our own words, have several lines;
 * anything else may repeat a server, whose control characters a terminal must not see.
 */
export function startProblem(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return escapeInvisible(error instanceof Error ? error.message : String(error));
}

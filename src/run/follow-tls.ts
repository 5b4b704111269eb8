import { FollowedTls, type TlsLog } from '../edge/followed-tls.js';
import type { TlsFiles } from '../settings/config.js';
import type { Closing } from './closing.js';
import { openOrExplain } from './open-or-explain.js';

/** The parts of the process that are needed to follow files. */
interface FollowDependencies {
  readonly closing: Closing;
  readonly logger: TlsLog;
  /** How often the files are reread, in milliseconds; default: 10,000. */
  readonly fileCheckMs?: number;
}

/**
 * Follows TLS files, which may change at any time, until the service closes.
 *
 * @param settings the names of the settings for these files
 * @throws Error that names the settings and the file, when a file cannot be read or used
 */
export async function followTls(
  settings: string,
  files: TlsFiles,
  { closing, logger, fileCheckMs }: FollowDependencies,
): Promise<FollowedTls> {
  const tls = await openOrExplain(`The files of ${settings} cannot be used`, () =>
    FollowedTls.open(files, logger, fileCheckMs),
  );
  closing.resource('TLS files', () => {
    tls.close();
  });
  return tls;
}

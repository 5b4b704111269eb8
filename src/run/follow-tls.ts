import { FollowedTls, type TlsLog } from '../edge/followed-tls.js';
import type { TlsFiles } from '../settings/tls-config.js';
import type { Closing } from './closing.js';
import { openOrExplain } from './open-or-explain.js';

/**
 * Follows the files until the service closes.
 *
 * @param settings the names of the settings for these files
 * @throws Error that names the settings and the file, when a file cannot be read or used
 */
export async function followTls(
  settings: string,
  files: TlsFiles,
  { closing, logger }: { closing: Closing; logger: TlsLog },
): Promise<FollowedTls> {
  const tls = await openOrExplain(`The files of ${settings} cannot be used`, () =>
    FollowedTls.open(files, logger),
  );
  closing.resource('TLS files', () => {
    tls.close();
  });
  return tls;
}

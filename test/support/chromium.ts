import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { installPackages } from './apt.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Keeps the browser itself from looking for a network that tests do not have. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
];

/** How long a browser may take to start if it must be installed first, in milliseconds. */
export const BROWSER_TIMEOUT_MS = 300_000;

/**
 * Starts a headless Chromium with a temporary profile: the one at `CHROME_PATH`, else one on the PATH, else, as root on
 * Debian or Ubuntu, one installed from the distribution's packages.
 */
export async function startChromium(): Promise<Browser> {
  const executablePath = process.env['CHROME_PATH'] ?? (await installed()) ?? (await installedNow());
  // Chromium's sandbox does not run as root.
  const sandbox = process.getuid?.() !== 0;
  return chromium.launch({ executablePath, args: QUIET, chromiumSandbox: sandbox });
}

async function installed(): Promise<string | undefined> {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  for (const path of folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (usable) return path;
  }
  return undefined;
}

async function installedNow(): Promise<string> {
  try {
    await installPackages(
      ['chromium'],
      'the tests of the page need it, CHROME_PATH is not set, and none is on the PATH',
    );
  } catch (cause) {
    throw new Error(
      'The tests of the page need a Chromium: put one on the PATH, or name it by CHROME_PATH. ' +
        'It cannot be installed from packages here.',
      { cause },
    );
  }
  const path = await installed();
  if (path === undefined) throw new Error('The package was installed and has no Chromium.');
  return path;
}

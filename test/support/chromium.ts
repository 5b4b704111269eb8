import { type Browser, chromium } from 'playwright-core';
import { programPath } from './needs.js';

/** Stops the browser's own network traffic: tests have no network. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
];

/** Starts a headless Chromium with a temporary profile. */
export async function startChromium(): Promise<Browser> {
  // Chromium's sandbox does not work as root.
  const sandbox = process.getuid?.() !== 0;
  return chromium.launch({ executablePath: programPath('chromium'), args: QUIET, chromiumSandbox: sandbox });
}

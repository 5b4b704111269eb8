import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startChromium } from '../support/chromium.js';
import { executeCreate, openCreate, PICTURE, shownTexts } from '../support/docs-page.js';
import { needs } from '../support/needs.js';
import { startService } from '../support/service.js';

it(
  "the README's picture of /docs, which `npm run screenshot` takes, has the texts of the page",
  needs('chromium'),
  async () => {
    const service = await startService({ databaseUrl: 'sqlite::memory:' });
    onTestFinished(() => service.close());
    const browser = await startChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage({ viewport: PICTURE.size });
    await executeCreate(await openCreate(page, service.httpUrl));
    const pictured = readFileSync(resolve(import.meta.dirname, '../..', PICTURE.texts), 'utf8');
    // The page renders an operation in steps, and how many texts fit a picture depends on the machine's fonts.
    await expect.poll(async () => (await shownTexts(page)).slice(0, pictured.length)).toBe(pictured);
  },
);

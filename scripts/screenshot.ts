// Takes a screenshot of /docs after entering a token and creating a route, and without arguments notes its texts for a
// test. Needs Chromium.
//   npm run screenshot -- [WIDTH] [FILE]     the README's picture by default, else the whole page
import { writeFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { executeCreate, openCreate, PICTURE, shownTexts } from '../test/support/docs-page.js';
import { findProgram } from '../test/support/programs.js';
import { startService } from '../test/support/service.js';

const [width = String(PICTURE.size.width), file = PICTURE.file] = process.argv.slice(2);
const fullPage = process.argv.length > 2;

const service = await startService({ databaseUrl: 'sqlite::memory:' });
const browser = await chromium.launch({
  executablePath: await findProgram('chromium'),
  chromiumSandbox: false,
});
try {
  const page = await browser.newPage({ viewport: { ...PICTURE.size, width: Number(width) } });
  const create = await openCreate(page, service.httpUrl);
  await executeCreate(create);
  const texts = await shownTexts(page, PICTURE.size.height);
  await page.screenshot({ path: file, fullPage });
  if (!fullPage) writeFileSync(PICTURE.texts, texts);
} finally {
  await browser.close();
  await service.close();
}

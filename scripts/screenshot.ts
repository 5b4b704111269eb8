// Takes a screenshot of /docs after entering a token and creating a route. Needs Chromium.
//   npm run screenshot -- [WIDTH] [FILE]     1280 and docs/docs-page.png by default
import { chromium } from 'playwright-core';
import { findProgram } from '../test/support/programs.js';
import { startService, tokenFor } from '../test/support/service.js';

const HEIGHT = 800;
const [width = '1280', file = 'docs/docs-page.png'] = process.argv.slice(2);

const service = await startService({ databaseUrl: 'sqlite::memory:' });
const browser = await chromium.launch({
  executablePath: await findProgram('chromium'),
  chromiumSandbox: false,
});
try {
  const page = await browser.newPage({ viewport: { width: Number(width), height: HEIGHT } });
  await page.goto(`${service.httpUrl}/docs`);
  await page.getByRole('button', { name: 'Authorize' }).click();
  const dialog = page.locator('.modal-ux');
  await dialog.getByRole('textbox').fill(tokenFor());
  await dialog.getByRole('button', { name: 'Apply credentials' }).click();
  await dialog.getByRole('button', { name: 'Close' }).first().click();
  const create = page.locator('#operations-RouteService-createRoute');
  await create.locator('.opblock-summary-control').click();
  await create.getByRole('button', { name: 'Execute' }).click();
  await create.locator('.live-responses-table').waitFor();
  await page.evaluate('scrollTo(0, 0)');
  await page.screenshot({ path: file, fullPage: process.argv.length > 2 });
} finally {
  await browser.close();
  await service.close();
}

import type { Locator, Page } from 'playwright-core';
import { tokenFor } from './service.js';

/** The picture of `/docs` in the README, and the texts that it shows, one a line. `npm run screenshot` writes both. */
export const PICTURE = {
  file: 'docs/docs-page.png',
  texts: 'docs/docs-page.txt',
  size: { width: 1_280, height: 800 },
};

/** Enters a token on the page. */
export async function authorize(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).click();
  const dialog = page.locator('.modal-ux');
  await dialog.getByRole('textbox').fill(tokenFor());
  await dialog.getByRole('button', { name: 'Apply credentials' }).click();
  await dialog.getByRole('button', { name: 'Close' }).first().click();
}

/** Opens `/docs`, enters a token, and expands the create. */
export async function openCreate(page: Page, httpUrl: string): Promise<Locator> {
  await page.goto(`${httpUrl}/docs`);
  await authorize(page);
  const create = page.locator('#operations-RouteService-createRoute');
  await create.locator('.opblock-summary-control').click();
  await create.getByRole('button', { name: 'Execute' }).waitFor();
  return create;
}

/** The texts that the page shows, one a line: those that begin above a height, in pixels; default: all. */
export async function shownTexts(page: Page, above = Infinity): Promise<string> {
  await page.evaluate(() => {
    scrollTo(0, 0);
  });
  const texts = await page.evaluate((limit) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    const found: string[] = [];
    while (walker.nextNode() !== null) {
      const { currentNode: text } = walker;
      range.selectNodeContents(text);
      const { top, height } = range.getBoundingClientRect();
      if (height > 0 && top < limit) found.push((text.textContent ?? '').trim());
    }
    return found.filter((text) => text !== '');
  }, above);
  return `${texts.join('\n')}\n`;
}

import type { Locator, Page } from 'playwright-core';
import { tokenFor } from './service.js';

/** The picture of `/docs` in the README, and the texts that it shows, one a line. `npm run screenshot` writes both. */
export const PICTURE = {
  file: 'docs/docs-page.png',
  texts: 'test/browser/picture.txt',
  size: { width: 1_280, height: 990 },
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

/** Executes the create of `openCreate`, and scrolls to its request body, which its answer follows. */
export async function executeCreate(create: Locator): Promise<void> {
  await create.getByRole('button', { name: 'Execute' }).click();
  await create.locator('.live-responses-table').waitFor();
  await create.locator('.opblock-section-request-body').evaluate((element) => {
    element.scrollIntoView();
  });
}

/** What differs at each call, and what stands for it. */
const VARIABLE: readonly (readonly [RegExp, string])[] = [
  [/eyJ[\w.-]+/g, 'TOKEN'],
  [/127\.0\.0\.1:\d+/g, 'HOST'],
  [/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'ID'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
];

/**
 * The texts that the page shows from the top of the window on, one a line, without what differs at each call.
 *
 * @param height how far down texts may begin, in pixels. Default: to the end of the page.
 */
export async function shownTexts(page: Page, height = Infinity): Promise<string> {
  const texts = await page.evaluate((limit) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    const found: string[] = [];
    while (walker.nextNode() !== null) {
      const { currentNode: text } = walker;
      range.selectNodeContents(text);
      const box = range.getBoundingClientRect();
      if (box.height > 0 && box.top >= 0 && box.top < limit) found.push((text.textContent ?? '').trim());
    }
    return found.filter((text) => text !== '');
  }, height);
  const all = `${texts.join('\n')}\n`;
  return VARIABLE.reduce((shown, [pattern, name]) => shown.replace(pattern, name), all);
}

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChromium } from '../support/chromium.js';
import { authorize } from '../support/docs-page.js';
import { engines } from '../support/engines.js';
import { needs } from '../support/needs.js';
import { type Service, startServiceOn } from '../support/service.js';

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1_280, height: 800 };
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Runs in the page: each visible word of five characters or more, and on how many lines it is. */
function wordsShown(): { word: string; lines: number }[] {
  const found: { word: string; lines: number }[] = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const { currentNode: text } = texts;
    for (const { 0: word, index } of (text.textContent ?? '').matchAll(/\w[\w-]{4,}/g)) {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (text.parentElement?.checkVisibility() === true) found.push({ word, lines: tops.size });
    }
  }
  return found;
}

describe.each(['', '/api/routes'])(
  'the /docs page under the base path "%s"',
  needs('chromium'),
  (basePath) => {
    let service: Service;
    let browser: Browser;

    beforeAll(async () => {
      service = await startServiceOn(engines[0], { settings: { BASE_PATH: basePath } });
      browser = await startChromium();
    });

    afterAll(async () => {
      await browser.close();
      await service.close();
    });

    /** Opens the page, and records the browser's errors and the origins of its requests. */
    async function open(): Promise<{ page: Page; complaints: string[]; origins: Set<string> }> {
      const page = await browser.newPage();
      const complaints: string[] = [];
      const origins = new Set<string>();
      page.on('console', (message) => complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => origins.add(new URL(request.url()).origin));
      await page.goto(`${service.httpUrl}/docs`);
      await page.locator('.opblock').first().waitFor();
      return { page, complaints, origins };
    }

    it('lets a user paste a token, create a route, see the 201 with its id, and get the route by that id', async () => {
      const { page, complaints, origins } = await open();
      await authorize(page);

      const create = page.locator('#operations-RouteService-createRoute');
      await create.locator('.opblock-summary-control').click();
      await create.getByRole('button', { name: 'Execute' }).click();
      const created = create.locator('.live-responses-table');
      await expect(created.locator('.response-col_status').last().innerText()).resolves.toMatch(/^201/);
      const body = await created.locator('.highlight-code code').first().innerText();
      const route = JSON.parse(body) as Record<string, unknown>;
      expect(route).toMatchObject({ method: 'GET', path: '/users/:id', handler: 'getUser' });
      expect(route['id']).toMatch(/^[0-9a-f-]{36}$/);

      const get = page.locator('#operations-RouteService-getRoute');
      await get.locator('.opblock-summary-control').click();
      await get.getByPlaceholder('route_id').fill(String(route['id']));
      await get.getByRole('button', { name: 'Execute' }).click();
      const fetched = get.locator('.live-responses-table');
      await expect(fetched.locator('.response-col_status').last().innerText()).resolves.toMatch(/^200/);
      expect(JSON.parse(await fetched.locator('.highlight-code code').first().innerText())).toEqual(route);

      expect(complaints).toEqual([]);
      expect([...origins]).toEqual([new URL(service.httpUrl).origin]);
      await page.close();
    });

    it('shows the 401 to a user without a token', async () => {
      const { page } = await open();
      const create = page.locator('#operations-RouteService-createRoute');
      await create.locator('.opblock-summary-control').click();
      await create.getByRole('button', { name: 'Execute' }).click();
      const answer = create.locator('.live-responses-table');
      await expect(answer.locator('.response-col_status').last().innerText()).resolves.toMatch(/^401/);
      await expect(answer.locator('.highlight-code code').first().innerText()).resolves.toContain(
        'TOKEN_MISSING',
      );
      await page.close();
    });

    it.each([PHONE, DESKTOP])(
      'fits a window $width pixels wide, and breaks neither an id nor a reason',
      async (size) => {
        const { page } = await open();
        await page.setViewportSize(size);
        const create = page.locator('#operations-RouteService-createRoute');
        await create.locator('.opblock-summary-control').click();
        await create.getByRole('button', { name: 'Execute' }).click();
        await create.locator('.live-responses-table').waitFor();
        await create.locator('summary').first().click();
        await create.locator('.headers-wrapper').waitFor();
        const words = await page.evaluate(wordsShown);
        const shown = words.map(({ word }) => word);
        const reasons = ['CONTENT_TYPE_UNSUPPORTED', 'UPSTREAM_UNAVAILABLE', 'TOKEN_MISSING'];
        expect(shown).toEqual(expect.arrayContaining([...reasons, expect.stringMatching(UUID)]));
        expect(words.filter(({ lines }) => lines > 1)).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(size.width);
        await page.close();
      },
    );

    it('shows both operations of the contract within three screens, with the reasons of all errors', async () => {
      const { page } = await open();
      await page.setViewportSize(DESKTOP);
      for (const name of ['createRoute', 'getRoute']) {
        const operation = page.locator(`#operations-RouteService-${name}`);
        await operation.locator('.opblock-summary-control').click();
        await operation.getByRole('button', { name: 'Execute' }).waitFor();
        await operation.getByText('SHUTTING_DOWN').waitFor();
      }
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      expect(height).toBeLessThanOrEqual(3 * DESKTOP.height);
      await page.close();
    });

    it('opens a response to its body and its headers', async () => {
      const { page } = await open();
      const create = page.locator('#operations-RouteService-createRoute');
      await create.locator('.opblock-summary-control').click();
      const response = create.locator('.response[data-code="401"]').first();
      await response.getByText('Unauthorized').click();
      await response.getByText('type.googleapis.com/google.rpc.ErrorInfo').first().waitFor();
      await response.getByText('WWW-Authenticate').waitFor();
      await page.close();
    });

    it('explains in the Authorize dialog how to get a token', async () => {
      const { page } = await open();
      await page.getByRole('button', { name: 'Authorize' }).click();
      const dialog = page.locator('.modal-ux');
      await dialog.getByText('npm run --silent token -- --scope "routes:read routes:write"').waitFor();
      await dialog.getByText('without the word Bearer').waitFor();
      await page.close();
    });

    it('is dark for a user who prefers a dark colour scheme', async () => {
      const { page } = await open();
      const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await page.emulateMedia({ colorScheme: 'dark' });
      await expect.poll(background).toBe('rgb(28, 32, 34)');
      const create = page.locator('#operations-RouteService-createRoute');
      await create.locator('.opblock-summary-control').click();
      const label = create.getByText('Examples:').first();
      expect(await label.evaluate((element) => getComputedStyle(element).color)).toBe('rgb(228, 230, 230)');
      await page.emulateMedia({ colorScheme: 'light' });
      await expect.poll(background).toBe('rgb(250, 250, 250)');
      await page.close();
    });

    it('runs no injected script', async () => {
      const { page, complaints } = await open();
      await page.evaluate(`{
      const script = document.createElement('script');
      script.textContent = 'document.title = "changed"';
      document.body.append(script);
    }`);
      await expect(page.title()).resolves.toBe('Route Registry');
      expect(complaints.join()).toContain('Content Security Policy');
      await page.close();
    });
  },
);

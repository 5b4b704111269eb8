import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Browser, Locator, Page } from 'playwright-core';
import {
  type PackedLibrary,
  startPackedLibrary,
} from '../../packages/transcoder/test/support/packed-library.js';
import { startChromium } from '../support/chromium.js';
import { needs } from '../support/needs.js';

/** Long enough to build, pack and compile the library, in milliseconds. */
const PACKING_MS = 120_000;

describe(
  "the /docs page of the packed transcoder in front of Google's example library API",
  needs('chromium'),
  () => {
    let library: PackedLibrary;
    let browser: Browser;
    let page: Page;
    const complaints: string[] = [];

    beforeAll(async () => {
      library = await startPackedLibrary();
      browser = await startChromium();
      page = await browser.newPage();
      page.on('console', (message) => complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));
      await page.goto(`${library.origin}/docs`);
    }, PACKING_MS);

    afterAll(async () => {
      await browser.close();
      await library.close();
    });

    /** Expands an operation on the page. */
    async function open(operationId: string): Promise<Locator> {
      const operation = page.locator(`#operations-LibraryService-${operationId}`);
      await operation.locator('.opblock-summary-control').click();
      return operation;
    }

    /** Executes an operation as filled in, and returns the status and the body of the response. */
    async function execute(operation: Locator): Promise<[status: string, body: unknown]> {
      await operation.getByRole('button', { name: 'Execute' }).click();
      const live = operation.locator('.live-responses-table');
      const status = await live.locator('.response-col_status').last().innerText();
      return [status.slice(0, 3), JSON.parse(await live.locator('.highlight-code code').first().innerText())];
    }

    it('lets a user create a resource and get it by its path', async () => {
      const created = await execute(await open('createShelf'));
      expect(created).toEqual(['201', { name: 'shelves/1', theme: 'string' }]);
      const get = await open('getShelf');
      await get.getByPlaceholder('name', { exact: true }).fill('1');
      expect(await execute(get)).toEqual(['200', { name: 'shelves/1', theme: 'string' }]);
      expect(complaints).toEqual([]);
    });

    it('shows an error that names the invalid field', async () => {
      const merge = await open('mergeShelves');
      await merge.getByPlaceholder('name', { exact: true }).fill('1');
      await merge.locator('textarea').fill('{"otherShelf": 7}');
      const [status, body] = await execute(merge);
      expect([status, JSON.stringify(body)]).toEqual([
        '400',
        expect.stringContaining('"field":"other_shelf"'),
      ]);
    });
  },
);

import { createServer } from 'node:http';
import { createTranscoder, type UnaryCall } from '@route-registry/transcoder';
import { describe as describeContract, type DescriptionOptions } from '@route-registry/transcoder/openapi';
import { documentPages, withPages } from '@route-registry/transcoder/page';
import { type Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { shopImage } from '../../packages/transcoder/test/support/library-contract.js';
import { listening } from '../../packages/transcoder/test/support/opening.js';
import { startChromium } from '../support/chromium.js';
import { needs } from '../support/needs.js';

const printed = { selector: 'shop.v1.Till.GetItem', get: '/v1/till/{name=**}:print' };
const RULES = [{ ...printed, additionalBindings: [{ post: '/v1/till/{name=**}' }] }];

/** Opens the page of a shop. Returns it with the names of the items that it has asked for. */
async function open(description: Partial<DescriptionOptions> = {}): Promise<{ page: Page; asked: string[] }> {
  const asked: string[] = [];
  const unary = ({ message }: UnaryCall) => {
    // The name is the only field of the request.
    asked.push(Buffer.from(message.subarray(2)).toString());
    return { code: 0, details: '', answered: true, message: new Uint8Array() };
  };
  const options = { descriptorSet: shopImage, rules: RULES, upstream: { unary } };
  const pages = documentPages(() => describeContract({ ...options, ...description }));
  const origin = await listening(createServer(withPages(createTranscoder(options), pages)));
  const browser = await startChromium();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`${origin}/docs`);
  await page.locator('.opblock').first().waitFor();
  return { page, asked };
}

describe('the page of a contract', needs('chromium'), () => {
  it.each(['Till_getItem', 'Till_getItem_2'])(
    'sends a value for several segments as it is typed: %s',
    async (id) => {
      const { page, asked } = await open();
      const operation = page.locator(`#operations-Till-${id}`);
      await operation.locator('.opblock-summary-control').click();
      await operation.getByPlaceholder('name').fill('a b/c?d%2F');
      await operation.getByRole('button', { name: 'Execute' }).click();
      await operation.locator('.live-responses-table').waitFor();
      expect(asked).toEqual(['a b/c?d%2F']);
      expect(await operation.locator('.request-url').innerText()).toContain('/v1/till/a%20b/c%3Fd%252F');
    },
  );

  it('has one main part, and a list of servers where there is a choice', async () => {
    const { page } = await open();
    expect(await page.locator('main').count()).toBe(1);
    expect(await page.getByText('Servers', { exact: true }).isVisible()).toBe(false);
    const other = await open({ servers: [{ url: '.' }, { url: 'https://shop.example' }] });
    expect(await other.page.getByText('Servers', { exact: true }).isVisible()).toBe(true);
  });
});

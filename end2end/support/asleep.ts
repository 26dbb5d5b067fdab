// Tabs that the browser has put to sleep.
import { expect, type Page } from '@playwright/test';

/**
 * Stops the program of a page, as a browser does with tabs that nobody sees. Returns a function that lets it go on.
 *
 * The debugger stops it: Chromium's state `frozen` has no effect on a page that can be seen, and all pages can be seen in tests.
 */
export async function putToSleep(page: Page): Promise<() => Promise<void>> {
  const client = await page.context().newCDPSession(page);
  await page.evaluate(() => {
    let last = performance.now();
    document.body.dataset['slept'] = '0';
    setInterval(() => {
      const slept = Number(document.body.dataset['slept']);
      document.body.dataset['slept'] = String(Math.max(slept, performance.now() - last));
      last = performance.now();
    }, 100);
  });
  const begun = Date.now();
  await client.send('Debugger.enable');
  const paused = new Promise<void>((resolve) => client.once('Debugger.paused', () => resolve()));
  await client.send('Debugger.pause');
  await paused;
  return async () => {
    const asleep = Date.now() - begun;
    await client.send('Debugger.resume');
    await client.detach();
    const slept = async () => Number(await page.evaluate(() => document.body.dataset['slept']));
    await expect.poll(slept, 'the tab was asleep').toBeGreaterThan(asleep / 2);
  };
}

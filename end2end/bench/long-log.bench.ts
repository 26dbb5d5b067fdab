// A finished run with a million log lines: opening, jumping to the end, scrolling, searching.
import { writeFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { api, login, openDesigns } from '../support/app.ts';
import { ended, firehose } from '../support/firehose.ts';
import { Figures, frameWhileScrolling, measure, memory, timeOfFirst } from '../support/measure.ts';

const LINES = 1_000_000;
const RATE = 10_000;

test('a million lines', async ({ page }) => {
  const figures = new Figures();
  await measure(page);
  await login(page);
  await openDesigns(page);
  const template = firehose(`, rates: [${RATE}], seconds: ${LINES / RATE}`);
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'long-log', template });
  await ended(page, started.run);

  await page.goto(`/runs/${started.run}`);
  figures.note('a million lines: first line', await timeOfFirst(page, '.log-line'), 'ms', 1000);
  figures.note('a million lines: memory when opened', await memory(page), 'MiB', 150);

  const log = page.getByRole('log', { name: 'Log' });
  await log.hover();
  await page.mouse.wheel(0, -4000);
  const follow = page.getByRole('button', { name: 'Follow' });
  await expect(follow).toBeVisible();
  figures.note('a million lines: jump to the end', await page.evaluate(jump), 'ms', 1000);

  figures.note('a million lines: a frame while scrolling, p95', await frameWhileScrolling(page, log, -600), 'ms', 33);
  figures.note('a million lines: memory after scrolling', await memory(page), 'MiB', 150);

  const search = page.getByRole('searchbox', { name: 'Search the log' });
  const begin = performance.now();
  await search.fill(`firehose ${RATE} 0 `);
  await expect(page.locator('.log-hits')).toHaveText('1 of 1', { timeout: 60_000 });
  figures.note('a million lines: search in all of them', performance.now() - begin, 'ms');

  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, removal.run);
  writeFileSync('test-results/long-log.txt', figures.lines.join(''));
});

/** Time from a click on "Follow" to the frame with the last line. */
async function jump(): Promise<number> {
  const frame = () => new Promise(requestAnimationFrame);
  const begin = performance.now();
  document.querySelector<HTMLElement>('.follow-button')!.click();
  const scroll = document.querySelector<HTMLElement>('.log-scroll')!;
  const isAtEnd = () => scroll.scrollTop + scroll.clientHeight >= scroll.scrollHeight - 10;
  const isDrawn = () => [...document.querySelectorAll('.log-line')].some((line) => line.getBoundingClientRect().bottom > scroll.getBoundingClientRect().bottom - 40);
  while (!(isAtEnd() && isDrawn())) {
    await frame();
  }
  await frame();
  return performance.now() - begin;
}

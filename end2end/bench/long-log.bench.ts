// A finished run with a million log lines: opening, jumping to the end, scrolling, searching.
import { writeFileSync } from 'node:fs';
import { expect, test, type Page } from '@playwright/test';
import { api, login } from '../support/app.ts';
import { ended, firehose } from '../support/firehose.ts';

const LINES = 1_000_000;
const RATE = 10_000;

declare global {
  interface Window {
    /** The program's memory. */
    memory?: WebAssembly.Memory;
    /** Durations of frames in ms. */
    frameTimes: number[];
  }
}

test('a million lines', async ({ page }) => {
  const figures: string[] = [];
  const note = (name: string, value: number, unit: string, aim?: number) => {
    figures.push(`${[name, value.toFixed(1), unit, ...(aim === undefined ? [] : [aim])].join('\t')}\n`);
  };
  await page.addInitScript(() => {
    const plain = WebAssembly.instantiateStreaming;
    WebAssembly.instantiateStreaming = async (...args) => {
      const found = await plain(...args);
      // Pieces that are loaded later share the memory of the first one, and export none.
      window.memory = (found.instance.exports['memory'] as WebAssembly.Memory | undefined) ?? window.memory;
      return found;
    };
    window.frameTimes = [];
    let last = performance.now();
    const tick = (now: number) => {
      window.frameTimes.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  await login(page);
  const template = firehose(`, rates: [${RATE}], seconds: ${LINES / RATE}`);
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'long-log', template });
  await ended(page, started.run);

  await page.goto(`/runs/${started.run}`);
  note('a million lines: first line', await page.evaluate(firstLine), 'ms', 1000);
  note('a million lines: memory when opened', await memory(page), 'MiB', 150);

  const log = page.getByRole('log', { name: 'Log' });
  await log.hover();
  await page.mouse.wheel(0, -4000);
  const follow = page.getByRole('button', { name: 'Follow' });
  await expect(follow).toBeVisible();
  note('a million lines: jump to the end', await page.evaluate(jump), 'ms', 1000);

  await log.hover();
  await page.evaluate(() => void window.frameTimes.splice(0));
  for (let turn = 0; turn < 200; turn += 1) {
    await page.mouse.wheel(0, -600);
  }
  const frames = await page.evaluate(() => window.frameTimes.toSorted((a, b) => a - b));
  note('a million lines: a frame while scrolling, p95', frames[Math.floor(frames.length * 0.95)]!, 'ms', 33);
  note('a million lines: memory after scrolling', await memory(page), 'MiB', 150);

  const search = page.getByRole('searchbox', { name: 'Search the log' });
  const begin = performance.now();
  await search.fill(`firehose ${RATE} 0 `);
  await expect(page.locator('.log-hits')).toHaveText('1 of 1', { timeout: 60_000 });
  note('a million lines: search in all of them', performance.now() - begin, 'ms');

  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, removal.run);
  writeFileSync('test-results/long-log.txt', figures.join(''));
});

/** Time from the request of the page to the frame with the first line. */
async function firstLine(): Promise<number> {
  const frame = () => new Promise(requestAnimationFrame);
  while (!document.querySelector('.log-line')) {
    await frame();
  }
  await frame();
  return performance.now();
}

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

/** Memory of the page: JavaScript's heap and the program's memory, in MiB. */
async function memory(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  await client.detach();
  const program = await page.evaluate(() => window.memory?.buffer.byteLength ?? 0);
  expect(program).toBeGreaterThan(0);
  return (usedSize + program) / 1024 / 1024;
}

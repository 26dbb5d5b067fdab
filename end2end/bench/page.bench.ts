// Times of pages: planning a large template in the browser, a keystroke in the code view, and a list of 1,000 deployments.
import { writeFileSync } from 'node:fs';
import { expect, test, type Page } from '@playwright/test';
import { api, canvasReady, login, openDesign, openDesigns } from '../support/app.ts';
import { code } from '../support/draw.ts';
import { networkStack, servers } from '../support/shapes.ts';

const figures: string[] = [];

test.afterAll(() => writeFileSync('test-results/page-figures.txt', figures.join('')));

function note(name: string, value: number, aim?: number): void {
  figures.push([name, value.toFixed(1), 'ms', aim?.toString()].filter(Boolean).join('\t') + '\n');
}

function at(times: number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

async function design(page: Page, name: string, template: string): Promise<string> {
  return (await api<{ id: string }>(page, 'POST', '/designs', { name, template })).id;
}

test('planning in the browser', async ({ page }) => {
  await login(page);
  await openDesigns(page);
  for (const size of [105, 505, 1005, 2005]) {
    const id = await design(page, `network stack of ${size}`, networkStack((size - 5) / 4));
    const times: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      await page.goto(`/designs/${id}/plan`);
      await page.getByRole('group', { name: 'Show' }).getByRole('button', { name: 'Drawing' }).click({ timeout: 60_000 });
      await canvasReady(page);
      // The last measurement: by then the browser has compiled the program.
      times.push(await page.evaluate(() => performance.getEntriesByName('stackloom plan', 'measure').at(-1)!.duration));
    }
    note(`plan in the browser, network stack of ${size}`, at(times, 0.5), size === 2005 ? 200 : undefined);
  }
});

test('a keystroke in the code view', async ({ page }) => {
  await login(page);
  await openDesigns(page);
  await openDesign(page, await design(page, '75 resources', servers(72)));
  const editor = await code(page);
  await page.evaluate(() => {
    const strokes: { thought: number; drawn: number }[] = [];
    // `thought` is the time from the first capture of the event to the end of all updates that it causes at once in the
    // document, forms and drawing. Problems come from the worker. `drawn` is the time of the next frame, from its start: the wait for the
    // frame depends on the screen only. Not included: the browser's layout of the text before the event, and the draft,
    // which is written when the page is idle.
    let start = 0;
    window.addEventListener('input', () => { start = performance.now(); }, { capture: true });
    window.addEventListener('input', () => {
      const thought = performance.now() - start;
      requestAnimationFrame(() => {
        const begin = performance.now();
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => strokes.push({ thought, drawn: performance.now() - begin });
        port2.postMessage(null);
      });
    });
    Object.assign(window, { strokes });
  });
  await editor.focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('  # a comment that somebody types at the end of the text, letter by letter', { delay: 50 });
  const strokes = await page.evaluate(() => (window as unknown as { strokes: { thought: number; drawn: number }[] }).strokes.slice(20));
  expect(strokes.length).toBeGreaterThan(40);
  const all = strokes.map(({ thought, drawn }) => thought + drawn);
  // The last keystrokes: by then the browser has compiled the worker's module.
  const planned = await page.evaluate(() => performance.getEntriesByName('stackloom plan', 'measure').slice(-40).map((entry) => entry.duration));
  for (const [part, name] of [[0.5, 'p50'], [0.99, 'p99']] as const) {
    note(`a keystroke on the main thread, 75 resources, ${name}`, at(strokes.map(({ thought }) => thought), part));
    note(`a keystroke to fresh problems, 75 resources, ${name}`, at(planned, part));
    note(`a keystroke to the drawn page, 75 resources, ${name}`, at(all, part), 16);
  }
});

test('a list of 1,000 deployments', async ({ page }) => {
  test.setTimeout(15 * 60_000);
  await login(page);
  await openDesigns(page);
  const template = 'heat_template_version: 2021-04-16\nresources:\n  word: {type: OS::Heat::RandomString}\n';
  for (let first = 0; first < 1000; first += 5) {
    const five = [0, 1, 2, 3, 4].map((one) => api(page, 'POST', '/deployments', { name: `many-${first + one}`, template }));
    await Promise.all(five);
  }
  const times: Record<'list' | 'search', number[]> = { list: [], search: [] };
  for (let round = 0; round < 5; round += 1) {
    let begin = Date.now();
    await page.goto('/deployments');
    await expect(page.getByRole('row').filter({ hasText: /many-\d/ }).first()).toBeVisible({ timeout: 60_000 });
    times.list.push(Date.now() - begin);
    begin = Date.now();
    await page.getByRole('searchbox', { name: 'Search deployments' }).fill('many-777');
    await expect(page.getByRole('row').filter({ hasText: /many-\d/ })).toHaveCount(1);
    times.search.push(Date.now() - begin);
  }
  note('1,000 deployments: the list is shown', at(times.list, 0.5), 1000);
  note('1,000 deployments: a search', at(times.search, 0.5), 200);
});

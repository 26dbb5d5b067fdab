// A finished run with two thousand steps: opening, scrolling its list and its graph, memory of the page.
import { writeFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { api, login, openDesigns } from '../support/app.ts';
import { Figures, frameWhileScrolling, measure, memory, timeOfFirst } from '../support/measure.ts';
import { ended } from '../support/runs.ts';
import { chains } from '../support/shapes.ts';

test('two thousand steps', async ({ page }) => {
  const figures = new Figures();
  await measure(page);
  await login(page);
  await openDesigns(page);
  const { run } = await api<{ run: string }>(page, 'POST', '/deployments', { name: 'large-run', template: chains(2000) });
  await ended(page, run);

  await page.goto(`/runs/${run}`);
  figures.note('2,000 steps: first step in the list', await timeOfFirst(page, '.step'), 'ms', 1000);
  const list = page.locator('.steps-scroll');
  figures.note('2,000 steps: a frame while the list scrolls, p95', await frameWhileScrolling(page, list, 300), 'ms', 33);

  figures.note('2,000 steps: the graph is shown', await page.getByRole('button', { name: 'Graph' }).evaluate(showGraph), 'ms', 1000);
  const graph = page.locator('.graph');
  figures.note('2,000 steps: a frame while the graph scrolls, p95', await frameWhileScrolling(page, graph, 100), 'ms', 33);
  expect(await graph.evaluate(({ scrollTop }) => scrollTop), 'it has scrolled').toBeGreaterThan(0);
  figures.note('2,000 steps: memory of the page', await memory(page), 'MiB', 150);
  writeFileSync('test-results/large-run.txt', figures.lines.join(''));
});

/** Time from a click on "Graph" to the frame with its first steps. */
async function showGraph(button: HTMLElement | SVGElement): Promise<number> {
  const frame = () => new Promise(requestAnimationFrame);
  const begin = performance.now();
  (button as HTMLElement).click();
  while (!document.querySelector('.graph-node')) await frame();
  await frame();
  return performance.now() - begin;
}

// A run of 2,000 steps: list, graph and timeline have elements for what is in view only, and everything is reached.
import { expect, test, type Page } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { ended } from './support/runs.ts';
import { chains } from './support/shapes.ts';

const COUNT = 2000;

async function scrollToEnd(page: Page, selector: string): Promise<void> {
  await page.locator(selector).evaluate((element) => element.scrollTo(0, element.scrollHeight));
}

test('the list, the graph and the timeline of a run of 2,000 steps stay small @full', async ({ page }) => {
  test.setTimeout(5 * 60_000);
  await login(page);
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'large-run', template: chains(COUNT) });
  await ended(page, run);
  const { steps } = await api<{ steps: { id: string }[] }>(page, 'GET', `/runs/${run}`);
  const [first, second, third, fiftieth, last] = [steps[0]!.id, steps[1]!.id, steps[2]!.id, steps[49]!.id, steps.at(-1)!.id];
  expect(steps.length).toBeGreaterThanOrEqual(COUNT);

  await page.goto(`/runs/${run}`);
  const list = page.getByRole('list', { name: 'Steps' });
  const rows = list.getByRole('listitem');
  const step = (id: string) => list.locator(`[data-step="${id}"]`);

  await test.step('the list scrolls to its end, and the keyboard leads back', async () => {
    await expect(rows.first()).toHaveAttribute('aria-setsize', String(steps.length));
    await expect(step(first)).toBeInViewport();
    await expect(step(last)).toHaveCount(0);
    await scrollToEnd(page, '.steps-scroll');
    await expect(step(last)).toBeInViewport();
    expect(await rows.count()).toBeLessThan(100);
    await step(last).focus();
    await page.keyboard.press('Home');
    await expect(step(first)).toBeFocused();
    await page.keyboard.press('ArrowDown');
    await expect(step(second)).toBeFocused();
    await expect(step(second)).toBeInViewport();
    await page.keyboard.press('Enter');
    await expect(step(second)).toHaveAttribute('aria-pressed', 'true');
    await page.locator('.steps-scroll').hover();
    for (const distance of [300, 700, 5000, -800]) {
      await page.mouse.wheel(0, distance);
      await expect(step(second), 'the focus stays').toBeFocused();
    }
    await expect(step(fiftieth)).toHaveCount(0);
    await expect(step(second)).not.toBeInViewport();
    await expect(step(second)).toBeFocused();
    await page.keyboard.press('ArrowDown');
    await expect(step(third), 'the keyboard goes on from there').toBeFocused();
    await expect(step(third)).toBeInViewport();
  });

  await test.step('the graph has the steps in view, and the selected one', async () => {
    await page.getByRole('button', { name: 'Graph' }).click();
    const nodes = page.locator('.graph-node');
    const node = (id: string) => page.locator(`[data-graph-step="${id}"]`);
    await expect(nodes.first()).toBeVisible({ timeout: 30_000 });
    await expect(node(second)).toHaveAttribute('aria-pressed', 'true');
    const lines = await page.locator('.graph-sheet > svg path').count();
    expect(lines, 'lines that begin near each other share a path').toBeGreaterThan(4);
    expect(lines).toBeLessThan(50);
    const shown = async () => new Set(await nodes.evaluateAll((all) => all.map((one) => one.getAttribute('data-graph-step'))));
    await expect.poll(async () => (await shown()).size, 'the steps in view, beside the selected one').toBeGreaterThan(10);
    const above = await shown();
    expect(above.size).toBeLessThan(500);
    await shoot(page, 'large-run-graph');
    const focused = node([...above].filter((id) => id !== second)[5]!);
    await focused.focus();
    await scrollToEnd(page, '.graph');
    await expect.poll(async () => [...(await shown())].filter((id) => !above.has(id)).length).toBeGreaterThan(10);
    expect((await shown()).size).toBeLessThan(500);
    await expect(focused, 'the focus stays').toBeFocused();
  });

  await test.step('the timeline has the rows in view', async () => {
    await page.getByRole('button', { name: 'Timeline' }).click();
    const bars = page.locator('.timeline-row');
    await expect(bars.first()).toBeVisible();
    await scrollToEnd(page, '.timeline');
    await expect(bars.filter({ hasText: last })).toBeInViewport();
    expect(await bars.count()).toBeLessThan(100);
    await bars.filter({ hasText: last }).click();
    await expect(step(last), 'the list shows the selected step').toBeInViewport();
    await shoot(page, 'large-run-timeline');
  });

  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, removal.run);
});

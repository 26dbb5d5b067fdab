// Waiting for runs over the API, and the tab of a run's page.
import { expect, type Page } from '@playwright/test';
import { api } from './app.ts';

/** Waits for the end of a run, which must succeed, within a time in milliseconds. */
export async function ended(page: Page, run: string, timeout = 3 * 60_000): Promise<{ deployment: string }> {
  return endedAs(page, run, 'succeeded', timeout);
}

/** Waits for the end of a run, which must be this one, within a time in milliseconds. */
export async function endedAs(page: Page, run: string, end: 'succeeded' | 'failed', timeout = 3 * 60_000): Promise<{ deployment: string }> {
  let shown: { deployment: string; state: string } | undefined;
  await expect.poll(async () => {
    shown = await api(page, 'GET', `/runs/${run}`);
    return shown!.state;
  }, { timeout, intervals: [250] }).toMatch(/succeeded|failed|cancelled|paused/);
  expect(shown!.state, JSON.stringify(shown)).toBe(end);
  return shown!;
}

/** The symbol in the tab's title and the look of the circle in its icon, by the state of the run. A run that goes on has a ring. */
const tabs = {
  running: ['●', "fill='none' stroke='%236e6ade'"],
  succeeded: ['✓', "fill='%232f9e5f'"],
  failed: ['✗', "fill='%23d9434e'"],
  cancelled: ['■', "fill='%238a8a94'"],
} as const;

/** Expects the tab to show the state of a deployment's run. */
export async function expectTab(page: Page, state: keyof typeof tabs, deployment: string): Promise<void> {
  const [symbol, icon] = tabs[state];
  const progress = state === 'running' ? String.raw`\d+% ` : '';
  await expect(page).toHaveTitle(new RegExp(`^${symbol} ${progress}${deployment} · Stackloom$`));
  await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', new RegExp(`circle [^/]* ${icon}`));
}

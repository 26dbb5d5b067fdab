// Waiting for runs over the API.
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

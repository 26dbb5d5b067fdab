// Waiting for runs over the API.
import { expect, type Page } from '@playwright/test';
import { api } from './app.ts';

/** Waits for the end of a run, which must succeed, within a time in milliseconds. */
export async function ended(page: Page, run: string, timeout = 3 * 60_000): Promise<{ deployment: string }> {
  let shown: { deployment: string; state: string } | undefined;
  await expect.poll(async () => {
    shown = await api(page, 'GET', `/runs/${run}`);
    return shown!.state;
  }, { timeout }).toMatch(/succeeded|failed|cancelled|paused/);
  expect(shown!.state, JSON.stringify(shown)).toBe('succeeded');
  return shown!;
}

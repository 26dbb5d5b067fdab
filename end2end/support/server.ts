// The server under test as a process.
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { expect } from '@playwright/test';
import { RESTART } from './addresses.ts';

/** True if tests can restart the server. */
export const canRestart = Boolean(RESTART);

/** Stops the server of this worker and starts it again with the same data. Returns when it is ready. */
export async function restartServer(): Promise<void> {
  await writeFile(RESTART!, '');
  await expect.poll(() => existsSync(RESTART!), { message: 'the server is ready again', timeout: 180_000 }).toBe(false);
}

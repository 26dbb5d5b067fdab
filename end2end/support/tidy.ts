// What a test leaves is its own affair: one that fails in the middle must not make all later ones fail.
//
// Every test begins with a login, and there what an earlier one has left is removed, as far as that goes; what stays is
// remembered, and is not held against this test.
import { test, type APIRequestContext, type Page } from '@playwright/test';
import { thingsInLab, type Things } from './lab.ts';

interface Deployment {
  id: string;
  state: 'busy' | 'deployed' | 'failed' | 'undeployed';
  last_run: string | null;
}

/** What was there when a test began, by test. */
const before = new Map<string, Things>();

/** For who has just logged in. The first login of a test counts. */
export async function begin(page: Page): Promise<void> {
  const id = test.info().testId;
  if (before.has(id)) return;
  if (Object.keys(await thingsInLab(page.request)).length > 0) await undeployAll(page.request);
  before.set(id, await thingsInLab(page.request));
}

/** All that was made since this test began and is still there: project to things. */
export async function leftovers(request: APIRequestContext): Promise<Things> {
  const old = before.get(test.info().testId) ?? {};
  const left: Things = {};
  for (const [project, things] of Object.entries(await thingsInLab(request))) {
    const known = [...(old[project] ?? [])];
    const own = things.filter((thing) => {
      const at = known.indexOf(thing);
      if (at >= 0) known.splice(at, 1);
      return at < 0;
    });
    if (own.length > 0) left[project] = own;
  }
  return left;
}

/** Removes all deployments of who is logged in, by force. What does not go in a minute stays. */
async function undeployAll(request: APIRequestContext): Promise<void> {
  const asked = new Set<string>();
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    const answer = await request.get('/api/v1/deployments');
    if (!answer.ok()) return;
    const all = ((await answer.json()) as Deployment[]).filter(({ state }) => state !== 'undeployed');
    if (all.length === 0) return;
    for (const { id, state, last_run: run } of all) {
      // A run that is at work ends first. Asked twice, it is cut off.
      if (state === 'busy' && !asked.has(id)) await request.post(`/api/v1/runs/${run}/cancel`, { data: {} });
      if (state !== 'busy' && (await request.delete(`/api/v1/deployments/${id}?force=true`)).ok()) asked.add(id);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

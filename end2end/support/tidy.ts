// Isolation of tests: a test that fails in the middle must not make later tests fail.
//
// Every test begins with a login. There, the resources of earlier tests are removed if possible. Remaining ones are
// recorded, and ignored in this test.
import { test, type APIRequestContext, type Page } from '@playwright/test';
import { thingsInLab, type Things } from './lab.ts';

interface Deployment {
  id: string;
  state: 'running' | 'deployed' | 'failed' | 'undeployed';
  last_run: string | null;
}

/** The resources at the start of each test, by test id. */
const before = new Map<string, Things>();

/** Removes and records resources of earlier tests, after the first login of a test. */
export async function begin(page: Page): Promise<void> {
  const id = test.info().testId;
  if (before.has(id)) return;
  if (Object.keys(await thingsInLab(page.request)).length > 0) await undeployAll(page.request);
  before.set(id, await thingsInLab(page.request));
}

/** Resources that were created since the start of this test and still exist, by project. */
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

/** Removes all deployments of the project by force. Gives up after a minute. */
async function undeployAll(request: APIRequestContext): Promise<void> {
  const asked = new Set<string>();
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    const answer = await request.get('/api/v1/deployments');
    if (!answer.ok()) return;
    const all = ((await answer.json()) as Deployment[]).filter(({ state }) => state !== 'undeployed');
    if (all.length === 0) return;
    for (const { id, state, last_run: run } of all) {
      // An active run is cancelled first. A repeated cancel request aborts it.
      if (state === 'running' && !asked.has(id)) await request.post(`/api/v1/runs/${run}/cancel`, { data: {} });
      if (state !== 'running' && (await request.delete(`/api/v1/deployments/${id}?force=true`)).ok()) asked.add(id);
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

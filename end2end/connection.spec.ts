// Pages without a connection: they say so, keep what they show, and become current by themselves.
import { expect, test, type BrowserContext, type Locator, type Page } from '@playwright/test';
import { api, login } from './support/app.ts';
import { pasteOver, textOf } from './support/code.ts';
import { code, saved } from './support/draw.ts';
import { network, type Network } from './support/network.ts';
import { ended } from './support/runs.ts';
import { canRestart, restartServer } from './support/server.ts';

interface Started {
  deployment: string;
  run: string;
}

const template = (...names: string[]): string =>
  ['heat_template_version: 2021-04-16', 'resources:', ...names.map((name) => `  ${name}: {type: OS::Heat::RandomString}`), ''].join('\n');

const NO_CONNECTION = 'No connection';
const NO_DATABASE = 'The server cannot use its database';

/** The note in the top bar. */
const lost = (page: Page): Locator => page.getByRole('banner').getByText(new RegExp(`^(${NO_CONNECTION}|${NO_DATABASE})$`));

/** Shows the tabs again, at which their pages read from the server, until the note in the top bar has these words. */
async function expectLost(words: string, ...tabs: Page[]): Promise<void> {
  await Promise.all(tabs.map((tab) => expect(async () => {
    await tab.evaluate(() => void window.dispatchEvent(new Event('visibilitychange')));
    await expect(lost(tab)).toHaveText(words, { timeout: 200 });
  }).toPass({ timeout: 90_000, intervals: [100] })));
}

/** Expects the tabs without the note. */
async function expectConnected(...tabs: Page[]): Promise<void> {
  for (const tab of tabs) await expect(lost(tab)).toHaveCount(0);
}

/** A design and its deployment, with the list, the deployment's page and the plan page in tabs. */
async function open(page: Page, context: BrowserContext, { address }: Network) {
  const design = await api<{ id: string; version: number }>(page, 'POST', '/designs', { name: 'steady', template: template('word') });
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'steady', design: design.id });
  await ended(page, run);
  const [list, one, plan] = [await context.newPage(), await context.newPage(), await context.newPage()];
  await list.goto(`${address}/deployments`);
  await one.goto(`${address}/deployments/${deployment}`);
  await plan.goto(`${address}/designs/${design.id}/plan?deployment=${deployment}`);
  const deployments = [deployment];
  const expectShown = async () => {
    await expect(list.locator('[data-deployment="steady"]')).toBeVisible();
    await expect(one.locator('[data-resource="word"]')).toBeVisible();
    await expect(plan.getByText('Nothing to do')).toBeVisible();
  };
  await expectShown();
  return {
    list,
    one,
    tabs: [list, one, plan],
    expectShown,
    /** Somebody else changes the design, updates the deployment to it, and makes another deployment. */
    change: async () => {
      const next = { name: 'steady', template: template('word', 'other'), base_version: design.version };
      await api(page, 'PUT', `/designs/${design.id}`, next);
      const update = await api<Started>(page, 'PUT', `/deployments/${deployment}`, { name: 'steady', design: design.id });
      await ended(page, update.run);
      const later = await api<Started>(page, 'POST', '/deployments', { name: 'later', template: template('word') });
      await ended(page, later.run);
      deployments.push(later.deployment);
    },
    expectCurrent: async () => {
      await expect(list.locator('[data-deployment="later"]')).toBeVisible();
      await expect(one.locator('[data-resource="other"]')).toBeVisible();
      // The page plans the version that it was opened with.
      await expect(plan.locator('[data-change="other"]')).toBeVisible();
    },
    undeploy: async () => {
      for (const id of deployments) {
        const gone = await api<Started>(page, 'DELETE', `/deployments/${id}`);
        await ended(page, gone.run);
      }
    },
  };
}

test('list, deployment and plan without a network say so, and are current when it is back', async ({ page, context }) => {
  await login(page);
  const cable = await network();
  const { list, tabs, expectShown, change, expectCurrent, undeploy } = await open(page, context, cable);

  await test.step('the network is cut', async () => {
    expect(cable.cut()).toBeGreaterThan(0);
    await expectLost(NO_CONNECTION, ...tabs);
    await change();
    await expectShown();
    cable.mend();
    await expectCurrent();
    await expectConnected(...tabs);
  });

  await test.step('the browser is offline', async () => {
    await context.setOffline(true);
    for (const tab of tabs) await expect(lost(tab)).toHaveText(NO_CONNECTION);
    const consequence = list.getByText('This page may be out of date. It is updated when the server responds again.');
    await expect(consequence).toBeHidden();
    await list.getByRole('button', { name: NO_CONNECTION }).press('Enter');
    await expect(consequence, 'a key explains the note').toBeVisible();
    await context.setOffline(false);
    await expectConnected(...tabs);
  });

  await test.step('a proxy answers in place of the server', async () => {
    await list.route('**/api/v1/**', (route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }));
    await expectLost(NO_CONNECTION, list);
    await expect(list.locator('[data-deployment="steady"]')).toBeVisible();
    await list.unroute('**/api/v1/**');
    await expectConnected(list);
  });

  await test.step('the server cannot use its database', async () => {
    const problem = { type: '/errors/database-unavailable', title: 'Database unavailable', status: 503, code: 'database-unavailable', detail: 'Try again.' };
    for (const tab of tabs) await tab.route('**/api/v1/**', (route) => route.fulfill({ status: 503, json: problem }));
    await expectLost(NO_DATABASE, ...tabs);
    await expectCurrent();
    for (const tab of tabs) await tab.unroute('**/api/v1/**');
    await expectConnected(...tabs);
  });

  await undeploy();
});

test('a designer without a network says so when it cannot save', async ({ page }) => {
  await login(page);
  const cable = await network();
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'unplugged', template: template('word') });
  await page.goto(`${cable.address}/designs/${id}`);
  const editor = await code(page);
  cable.cut();
  await pasteOver(editor, `${await textOf(editor)}# typed without a network\n`);
  // Sooner than the page loads anything again: every half a minute.
  await expect(lost(page)).toHaveText(NO_CONNECTION, { timeout: 10_000 });
  cable.mend();
  await expectConnected(page);
  await saved(page);
});

test('list, deployment and plan go on when the server restarts @full', async ({ page, context }) => {
  test.skip(!canRestart, 'only `cargo xtask test` can restart the server');
  test.setTimeout(5 * 60_000);
  await login(page);
  const { list, one, expectShown, change, undeploy } = await open(page, context, await network());
  await restartServer();
  await expectShown();
  await change();
  // Pages read at intervals of half a minute.
  await expect(list.locator('[data-deployment="later"]')).toBeVisible({ timeout: 60_000 });
  await expect(one.locator('[data-resource="other"]')).toBeVisible({ timeout: 60_000 });
  await undeploy();
});

// Roll-back to any earlier run, with a plan; and the comparison of two runs.
import { expect, test } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { accessible } from './support/axe.ts';
import { clearFaults, fault } from './support/lab.ts';
import { ended, endedAs } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = (rest: string) => `heat_template_version: 2021-04-16
parameters:
  label: {type: string, default: plain}
resources:
  net:
    type: OS::Neutron::Net
    properties: {name: {get_param: label}}
${rest}`;

test.afterEach(async ({ request }) => clearFaults(request));

type Started = { deployment: string; run: string };

test('a deployment is rolled back to its first run, two updates later', async ({ page, request }) => {
  await login(page);
  const first = await api<Started>(page, 'POST', '/deployments', { name: 'history', template: template('  spare: {type: OS::Neutron::Net}\n') });
  await ended(page, first.run);
  const path = `/deployments/${first.deployment}`;
  let newest = '';
  for (const label of ['green', 'blue']) {
    const update = await api<Started>(page, 'PUT', path, { name: '', template: template(''), parameters: { label } });
    await ended(page, update.run);
    newest = update.run;
  }

  await test.step('the newest run tells what changed, and how long the one before took', async () => {
    await page.goto(`/runs/${newest}`);
    const success = page.getByTestId('success');
    await expect(success).toContainText(/It took .+ The one before took \d/);
    await success.getByText('What changed: 1 updated').click();
    await expect(success.getByRole('definition')).toHaveText('net');
    await expect(success.getByRole('link', { name: 'Compare' })).toHaveAttribute('href', /\/compare\?from=/);
    await shoot(page, 'run-changes');
  });

  await test.step('the first run still shows its own parameters and plan', async () => {
    const view = (name: string) => page.getByRole('group', { name: 'View' }).getByRole('button', { name });
    const plan = page.getByRole('region', { name: 'Plan' });
    await view('Plan').click();
    await expect(plan.locator('[data-parameter="label"]')).toHaveText('blue');
    await expect(plan.locator('[data-action="update"] [data-change="net"]')).toContainText('name changes');
    await shoot(page, 'run-plan');
    await page.goto(`/runs/${first.run}`);
    await expect(page.locator('.run-who')).toContainText(/by demo, (just now|\d+ min ago)/);
    await expect(plan.locator('[data-parameter="label"]')).toHaveText("plain the template's default");
    await expect(plan.locator('[data-action="create"] [data-change]')).toHaveCount(2);
    await plan.getByRole('button', { name: 'spare' }).click();
    await expect(page.locator('.step-facts')).toContainText('spare:create');
    await view('Canvas').click();
  });

  await test.step('compare the first run with the newest', async () => {
    await page.goto(path);
    const runs = page.getByRole('region', { name: 'Runs' });
    await runs.getByRole('link', { name: 'Compare runs' }).click();
    await expect(page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'history' })).toHaveAttribute('href', path);
    const earlier = page.getByLabel('Earlier run');
    await expect(earlier.locator(`option[value="${first.run}"]`), 'runs of one user differ in their time').toHaveText(/^1\. Deploy by demo, \d\d:\d\d:\d\d$/);
    await earlier.selectOption(first.run);
    const changes = page.getByRole('region', { name: 'Changes of the content' });
    await expect(changes).toContainText('spare: {type: OS::Neutron::Net}');
    await expect(changes).toContainText('label: "blue"');
    const changed = page.getByRole('region', { name: 'Changes', exact: true });
    await expect(changed.getByRole('row').nth(1)).toHaveText(/^net\s*OS::Neutron::Net\s*created\s*updated$/);
    await expect(changed.locator('[data-change="spare"]')).toContainText(/created\s*not in this run/);
    const steps = page.getByRole('region', { name: 'Steps' });
    await expect(steps.locator('[data-step="spare:create"]')).toContainText('Not in this run');
    await expect(steps.locator('[data-step="spare:create"]'), 'the time that it took').toContainText(/\d (ms|s)/);
    await shoot(page, 'compare-runs');
  });

  await test.step('roll back with a plan', async () => {
    await page.goto(path);
    const row = page.locator(`[data-run="${first.run}"]`);
    await expect(row).toBeVisible();
    await page.keyboard.press('Control+k');
    const commands = page.getByRole('dialog', { name: 'Commands' });
    await expect(commands.getByRole('option', { name: /^Undeploy/ })).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(commands).toBeHidden();
    await row.getByRole('link', { name: 'Roll back to this' }).click();
    const changes = page.getByRole('region', { name: 'Changes' });
    await expect(changes.locator('[data-action="create"] [data-change="spare"]')).toBeVisible();
    await expect(changes.locator('[data-action="update"] [data-change="net"]')).toContainText('name changes');
    await expect(page.getByLabel('label')).toHaveValue('plain');
    await shoot(page, 'roll-back-plan');
    await page.getByRole('button', { name: 'Roll back', exact: true }).click();
    await expect(page).toHaveURL(/\/runs\//);
    await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded', { timeout: 60_000 });
    await expect(page.getByRole('heading', { name: 'Roll back history' })).toBeVisible();
    await expect(page.getByRole('navigation', { name: 'Breadcrumb' }).locator('[aria-current]')).toHaveText('Roll back run');
    const { resources } = await api<{ resources: { name: string }[] }>(page, 'GET', path);
    expect(resources.map((one) => one.name)).toEqual(['net', 'spare']);
    const icon = page.locator('link[rel=icon]');
    await expect(icon, 'the tab shows the end').toHaveAttribute('href', /fill='%232f9e5f'/);
  });

  await test.step('the critical path is marked in timeline and graph', async () => {
    await page.getByRole('button', { name: 'Timeline' }).click();
    await expect(page.locator('.timeline-row[data-critical="true"]')).not.toHaveCount(0);
    await shoot(page, 'timeline');
    await accessible(page);
    await page.getByRole('button', { name: 'Graph' }).click();
    await expect(page.locator('.graph-node[data-critical="true"]')).not.toHaveCount(0);
    await shoot(page, 'graph-critical');
    await accessible(page);
    await page.getByRole('button', { name: 'Canvas' }).click();
  });

  await test.step('a failed update offers each earlier state', async () => {
    const refusal = '{"NeutronError": {"type": "Odd", "message": "not today"}}';
    await fault(request, { call: { service: 'network', method: 'POST', path: '/v2.0/networks*', status: 400, body: refusal } });
    const bad = await api<Started>(page, 'PUT', path, { name: '', template: template('  more: {type: OS::Neutron::Net}\n') });
    await endedAs(page, bad.run, 'failed');
    await clearFaults(request);
    // The page looks for newer runs when its tab is shown.
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
    await page.getByRole('note').filter({ hasText: 'Run 4 of 5; the newest is' }).getByRole('link', { name: 'Update by demo' }).click();
    await expect(page).toHaveURL(`/runs/${bad.run}`);
    const cause = page.getByTestId('cause');
    await cause.getByRole('button', { name: 'Roll back to an earlier state' }).click();
    const goals = cause.getByRole('link', { name: /^(Deploy|Update|Roll back) by demo, / });
    await expect(goals).toHaveText([/^Roll back by/, /^Update by/, /^Update by/, /^Deploy by/]);
    await goals.last().click();
    await expect(page).toHaveURL(new RegExp(`${path}/plan\\?run=${first.run}`));
  });

  await test.step('after an undeploy nothing can be rolled back', async () => {
    const gone = await api<Started>(page, 'DELETE', path);
    await ended(page, gone.run);
    await page.goto(path);
    await expect(page.locator(`[data-run="${first.run}"]`)).toBeVisible();
    await expect(page.getByRole('link', { name: 'Roll back to this' })).toHaveCount(0);
    await page.keyboard.press('Control+k');
    const commands = page.getByRole('dialog', { name: 'Commands' }).getByRole('listbox');
    await expect(commands.getByRole('option', { name: 'Keyboard shortcuts' })).toBeVisible();
    await expect(commands.getByRole('option', { name: /^Undeploy/ })).toHaveCount(0);
    await page.keyboard.press('Escape');
    expect(await leftovers(request)).toEqual({});
  });
});

test('a notification tells the end of a run to those who look elsewhere', async ({ page, context }) => {
  await login(page);
  // All permissions that are not granted are denied.
  await context.grantPermissions([]);
  // What the page would show: Chromium without a desktop shows none itself.
  await page.addInitScript(() => {
    const shown: string[] = [];
    Object.assign(window, { shown });
    const real = window.Notification;
    window.Notification = new Proxy(real, {
      construct(target, [title, options]) {
        shown.push(`${title} (${options.body})`);
        return new target(title, options);
      },
    });
    Object.defineProperty(document, 'hidden', { get: () => true });
  });
  const delay = `heat_template_version: 2021-04-16\nresources:\n  wait: {type: OS::Heat::Delay, properties: {min_wait: 8}}\n`;
  const started = await api<Started>(page, 'POST', '/deployments', { name: 'slow', template: delay });
  await page.goto(`/runs/${started.run}`);
  const bell = page.getByRole('button', { name: 'Notify me when it ends' });
  await bell.click();
  await expect(page.getByText('This browser does not permit notifications of this page.')).toBeVisible();
  await expect(bell).toHaveAttribute('aria-pressed', 'false');
  await context.grantPermissions(['notifications']);
  await bell.click();
  await expect(bell).toHaveAttribute('aria-pressed', 'true');
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded', { timeout: 60_000 });
  await expect.poll(() => page.evaluate(() => (window as unknown as { shown: string[] }).shown)).toEqual(['Deploy: Succeeded (slow)']);
  await expect(bell).toBeHidden();
  const gone = await api<Started>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
});

// The plan page: what a change means, line by line, and the way to the design and back.
import { expect, test } from '@playwright/test';
import { alert, api, canvasReady, login, node, shoot } from './support/app.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const script = (greeting: string): string => ['#!/bin/sh', 'set -e', 'mkdir -p /srv', `echo ${greeting} > /srv/greeting`, 'touch /srv/ready'].join('\n        ');

const template = (greeting: string, flavor: string, more = ''): string => `heat_template_version: 2021-04-16
resources:
  front:
    type: OS::Neutron::Net
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: ${flavor}
      networks: [{network: {get_resource: front}}]
  db:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
      user_data: |
        ${script(greeting)}
${more}`;

test('a plan shows lines, consequences, all properties of what is new, and the way to the design', async ({ page, request }) => {
  test.setTimeout(4 * 60_000);
  await login(page);
  const design = await api<{ id: string; version: number }>(page, 'POST', '/designs', { name: 'meaning', template: template('hello', 'm1.small') });
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'meaning', design: design.id });
  await ended(page, run);
  const changed = template('goodbye', 'm1.tiny', '  back:\n    type: OS::Neutron::Net\n    properties: {name: quiet, shared: false}\n');
  await api(page, 'PUT', `/designs/${design.id}`, { name: 'meaning', template: changed, base_version: design.version });

  await page.goto(`/designs/${design.id}/plan?deployment=${deployment}`);
  const change = (name: string) => page.getByRole('region', { name: 'Changes' }).locator(`[data-change="${name}"]`);
  await expect(change('web')).toContainText('The server is resized: it stops and starts again.');
  await expect(change('db')).toContainText('Data on its own disk is lost');
  const lines = change('db').getByRole('group', { name: 'Changed lines' });
  await expect(lines).toBeVisible();
  await expect(lines.locator('[data-tag="old"]')).toHaveText(/echo hello > \/srv\/greeting/);
  await expect(lines.locator('[data-tag="new"]')).toHaveText(/echo goodbye > \/srv\/greeting/);
  await expect(lines.locator('[data-tag="same"]').first()).toHaveText(/#!\/bin\/sh/);

  await expect(change('back')).not.toContainText('quiet');
  await change('back').getByText('2 properties').click();
  await expect(change('back')).toContainText('quiet');
  await expect(page.getByRole('main'), 'names stand as code, not in backticks').not.toContainText('`');
  await shoot(page, 'plan-meaning');

  await change('db').getByRole('link', { name: 'Open db in the design' }).click();
  await expect(page).toHaveURL(new RegExp(`/designs/${design.id}\\?deployment=${deployment}&version=\\d+&resource=db`));
  await canvasReady(page);
  await expect(node(page, 'db')).toHaveAttribute('data-selected', 'true');
  await page.getByRole('link', { name: 'Plan update', exact: true }).click();
  await expect(change('db')).toContainText('Data on its own disk is lost');

  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

test('a problem of a plan leads to its property in the design', async ({ page }) => {
  await login(page);
  const broken = template('hello', 'm1.enormous');
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'astray', template: broken });
  await page.goto(`/designs/${id}/plan`);
  await page.getByRole('link', { name: 'resources.web.properties.flavor' }).click();
  await canvasReady(page);
  await expect(node(page, 'web')).toHaveAttribute('data-selected', 'true');
  await expect(page.getByRole('complementary', { name: 'Inspector' }).getByLabel('Flavor', { exact: true })).toBeFocused();
});

const labelled = (more = ''): string => `heat_template_version: 2021-04-16
parameters:
  label: {type: string, default: plain}
  code: {type: string, hidden: true, default: none}
  key: {type: string, default: short}
resources:
  front:
    type: OS::Neutron::Net
    properties: {name: {get_param: label}}
${more}`;

test('a plan is shared by its address: version and parameters; hidden and long ones are missed by name', async ({ page, context }) => {
  await login(page);
  const design = await api<{ id: string; version: number }>(page, 'POST', '/designs', { name: 'shared', template: labelled() });
  await page.goto(`/designs/${design.id}/plan`);
  await expect(page).toHaveURL(`/designs/${design.id}/plan?version=1`);
  await expect(page.getByTestId('planned-version')).toHaveText('Design v1');
  await page.getByLabel('label', { exact: true }).fill('green & blue');
  await page.getByLabel('code', { exact: true }).fill('xyzzy');
  await page.getByLabel('key', { exact: true }).fill('x'.repeat(101));
  await expect(page).toHaveURL(`/designs/${design.id}/plan?version=1&parameter.label=green%20%26%20blue&omitted=code&omitted=key`);
  await expect(page.getByRole('note').filter({ hasText: 'omits values' }), 'the user who shares it is told')
    .toHaveText('The address of this page omits values: code (hidden), key (too long). Others who open it must enter them.');
  const address = page.url();

  const next = { name: 'shared', template: labelled('  back: {type: OS::Neutron::Net}\n'), base_version: design.version };
  await api(page, 'PUT', `/designs/${design.id}`, next);
  // The page looks for newer versions when its tab is shown.
  await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
  const note = page.getByRole('note').filter({ hasText: 'Version 2 was saved by demo' });
  await expect(note, 'the open page is told').toContainText('This page plans version 1.', { timeout: 30_000 });

  const other = await context.newPage();
  await other.goto(address);
  const changes = other.getByRole('region', { name: 'Changes' });
  await expect(other.getByLabel('label', { exact: true })).toHaveValue('green & blue');
  await expect(other.getByLabel('code', { exact: true })).toHaveValue('');
  await expect(other.getByLabel('key', { exact: true })).toHaveValue('');
  const missing = other.getByRole('note').filter({ hasText: 'omits values' });
  await expect(missing, 'the user who opens it is told').toContainText('The address of this page omits values: code, key.');
  await expect(missing).toContainText('this plan uses defaults in their place');
  await expect(other, 'passed on, the address still names them').toHaveURL(address);
  await expect(changes.locator('[data-change="front"]')).toBeVisible();
  await expect(changes.locator('[data-change="back"]')).toHaveCount(0);
  await expect(other.getByTestId('planned-version')).toHaveText('Design v1');
  await other.getByRole('note').getByRole('link', { name: 'Plan version 2' }).click();
  await expect(changes.locator('[data-change="back"]')).toBeVisible();
  await expect(other.getByTestId('planned-version')).toHaveText('Design v2');
  await expect(other.getByLabel('label', { exact: true })).toHaveValue('green & blue');
  await expect(other.getByRole('note').filter({ hasText: 'Version 2' })).toHaveCount(0);

  await test.step('the way to the design and back keeps the parameters', async () => {
    await changes.locator('[data-change="front"]').getByRole('link', { name: 'Open front in the design' }).click();
    await canvasReady(other);
    await other.getByRole('link', { name: 'Plan', exact: true }).click();
    await expect(other.getByLabel('label', { exact: true })).toHaveValue('green & blue');
    await expect(other).toHaveURL(`/designs/${design.id}/plan?version=2&parameter.label=green%20%26%20blue&omitted=code&omitted=key`);
    await expect(missing).toContainText('code, key');
  });

  await test.step('a missing value that is entered is missing no more', async () => {
    await other.getByLabel('key', { exact: true }).fill('brief');
    await expect(missing).toContainText('omits values: code.');
    await expect(other).toHaveURL(`/designs/${design.id}/plan?version=2&parameter.label=green%20%26%20blue&parameter.key=brief&omitted=code`);
    await other.getByLabel('code', { exact: true }).fill('xyzzy');
    await expect(missing).toHaveText('The address of this page omits values: code (hidden). Others who open it must enter them.');
  });

  await other.goto(`/designs/${design.id}/plan?version=9`);
  await expect(alert(other)).toContainText(/no version .?9/);
});

test('a plan that is no longer what was seen is not deployed, and the new one is offered', async ({ page, request }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'moved', template: labelled() });
  await page.goto(`/designs/${id}/plan`);
  const deploy = page.getByRole('button', { name: 'Deploy', exact: true });
  await expect(deploy).toBeEnabled();
  // As if the cloud or an item had changed since: the server's plan has another digest.
  await page.route('**/api/v1/deployments', async (route) => {
    const body = route.request().postDataJSON() as { plan_digest: string };
    expect(body.plan_digest).toMatch(/^[0-9a-f]{64}$/);
    await route.continue({ postData: { ...body, plan_digest: '0'.repeat(64) } });
  }, { times: 1 });
  await deploy.click();
  await expect(alert(page)).toContainText('The plan is no longer the one that you reviewed');
  expect(await api<unknown[]>(page, 'GET', '/deployments')).not.toContainEqual(expect.objectContaining({ name: 'moved' }));

  await page.getByRole('button', { name: 'Show the new plan' }).click();
  await expect(alert(page)).toHaveCount(0);
  await expect(deploy).toBeEnabled();
  await page.keyboard.press('Control+Enter');
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded', { timeout: 60_000 });
  const made = (await api<{ id: string; name: string }[]>(page, 'GET', '/deployments')).find((one) => one.name === 'moved');
  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${made!.id}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

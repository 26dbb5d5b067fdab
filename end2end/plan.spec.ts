// The plan page: what a change means, line by line, and the way to the design and back.
import { expect, test } from '@playwright/test';
import { api, canvasReady, login, node, shoot } from './support/app.ts';
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
  await expect.poll(async () => (await api<{ state: string }>(page, 'GET', `/runs/${run}`)).state, { timeout: 90_000 }).toBe('succeeded');
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
  await shoot(page, 'plan-meaning');

  await change('db').getByRole('link', { name: 'Open db in the design' }).click();
  await expect(page).toHaveURL(new RegExp(`/designs/${design.id}\\?deployment=${deployment}&resource=db`));
  await canvasReady(page);
  await expect(node(page, 'db')).toHaveAttribute('data-selected', 'true');

  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await expect.poll(async () => (await api<{ state: string }>(page, 'GET', `/runs/${gone.run}`)).state, { timeout: 90_000 }).toBe('succeeded');
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

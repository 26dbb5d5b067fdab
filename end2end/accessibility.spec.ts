// axe checks of every page in both themes. Pages in special states, such as a failed run, are checked in the tests of these.
// Pages in windows of three sizes.
import { expect, test } from '@playwright/test';
import { api, login, node, openDesign, shoot } from './support/app.ts';
import { accessible } from './support/axe.ts';
import { code, inspect, problems } from './support/draw.ts';
import { crowded, enlargeText, misfits } from './support/fits.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';
import { broken, twoTier } from './support/templates.ts';

test('login and what is not there', async ({ page }) => {
  await page.goto('/login');
  await expect(page.getByRole('button', { name: 'Log in', exact: true })).toBeEnabled({ timeout: 60_000 });
  await accessible(page);
  await login(page);
  await page.goto('/nowhere');
  await expect(page.getByRole('heading').first()).toBeVisible();
  await accessible(page);
});

test('pages without anything on them, and one of a design that is not there @full', async ({ page }) => {
  await login(page, { cloud: 'lab', user: 'other', password: 'other', domain: 'Default', project: 'other' });
  for (const address of ['/designs', '/deployments', '/designs/00000000-0000-7000-8000-000000000000']) {
    await page.goto(address);
    await expect(page.locator('[aria-busy="true"], .skeleton')).toHaveCount(0);
    await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
    await accessible(page);
    if (address === '/deployments') await expect(page.getByRole('link', { name: 'Choose a design' })).toHaveAttribute('href', '/designs');
  }
});

test('designs', async ({ page }) => {
  await login(page);
  await api(page, 'POST', '/designs', { name: 'one', template: broken });
  await page.goto('/designs');
  await expect(page.getByRole('link', { name: 'one', exact: true }).first()).toBeVisible();
  await accessible(page);
  await page.getByRole('button', { name: 'New design' }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
  await accessible(page);
});

test('the designer', async ({ page }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'looked over', template: twoTier('axe') });
  await openDesign(page, id);
  await accessible(page);
  await inspect(page, 'web');
  await code(page);
  await accessible(page);
  const torn = await api<{ id: string }>(page, 'POST', '/designs', { name: 'with problems', template: broken });
  await openDesign(page, torn.id);
  await problems(page);
  await inspect(page, 'lonely');
  await accessible(page);
});

test('what opens over the designer, and the designer on a small screen @full', async ({ page }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'opened', template: `heat_template_version: 2021-04-16
parameters:
  size: {type: string, default: m1.tiny, constraints: [{allowed_values: [m1.tiny, m1.small]}]}
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: {get_param: size}, networks: [{network: {get_resource: front}}]}}
  wall: {type: OS::Neutron::SecurityGroup, properties: {rules: [{protocol: tcp, port_range_min: 80, port_range_max: 80}]}}
` });
  await openDesign(page, id);
  const canvas = page.getByTestId('canvas');
  await test.step('a folded network, and the form of several resources', async () => {
    await page.getByRole('button', { name: 'Fold front', exact: true }).click();
    await expect(node(page, 'web')).toHaveCount(0);
    await canvas.focus();
    await page.keyboard.press('Control+a');
    await accessible(page);
  });
  await test.step('the context menu', async () => {
    await node(page, 'front').focus();
    await page.keyboard.press('Shift+F10');
    await expect(page.getByRole('menu', { name: 'Actions' })).toBeVisible();
    await accessible(page);
    await page.keyboard.press('Escape');
  });
  await test.step('the list of items', async () => {
    await page.keyboard.press('a');
    await expect(page.getByRole('dialog', { name: 'Add' })).toBeVisible();
    await accessible(page);
    await page.keyboard.press('Escape');
  });
  await test.step('the history beside it, the outline and a table', async () => {
    await page.getByRole('button', { name: /^v\d+$/ }).click();
    await expect(page.getByRole('list', { name: 'Versions' })).toBeVisible();
    await page.getByRole('tab', { name: 'Outline' }).click();
    await page.getByRole('complementary', { name: 'Palette' }).getByRole('button', { name: /^wall\b/ }).click();
    await expect(page.locator('.row-list > li').first()).toBeVisible();
    await page.setViewportSize({ width: 1024, height: 768 });
    await accessible(page);
  });
  await test.step('a parameter', async () => {
    await canvas.focus();
    await page.keyboard.press('Escape');
    const parameters = page.getByRole('region', { name: 'Parameters' });
    await parameters.locator('summary').first().click();
    await accessible(page);
  });
});

test('catalogue, sessions, the audit log, a new item and the commands @full', async ({ page }) => {
  await login(page);
  for (const address of ['/catalog', '/catalog/nginx', '/sessions', '/audit', '/items/new']) {
    await page.goto(address);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expect(page.locator('[aria-busy="true"], .skeleton')).toHaveCount(0);
    await accessible(page);
  }
  await page.keyboard.press('Control+k');
  await expect(page.getByRole('dialog', { name: 'Commands' })).toBeVisible();
  await accessible(page);
});

test('plan, run and deployments', async ({ page, request }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'planned', template: twoTier('axe') });
  await page.goto(`/designs/${id}/plan`);
  await expect(page.getByRole('button', { name: 'Deploy', exact: true })).toBeEnabled({ timeout: 60_000 });
  await accessible(page);

  const template = 'heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\noutputs:\n  id: {value: {get_resource: front}}\n';
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'axe', template });
  await page.goto(`/runs/${run}`);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded', { timeout: 60_000 });
  await accessible(page);
  await page.locator('[data-step="front:create"]').click();
  await page.locator('.log-time').first().click();
  await expect(page.locator('.log-line[data-marked]').first()).toBeVisible();
  await page.getByRole('group', { name: 'View' }).getByRole('button', { name: 'Plan' }).click();
  await expect(page.getByRole('region', { name: 'Plan' }).locator('[data-change="front"]')).toBeVisible();
  await accessible(page);
  await page.getByRole('button', { name: 'Canvas' }).click();
  const check = async (address: string) => {
    await page.goto(address);
    await expect(page.getByRole('heading').first()).toBeVisible();
    await expect(page.locator('[aria-busy="true"], .skeleton')).toHaveCount(0);
    await accessible(page);
  };
  for (const address of [`/deployments/${deployment}`, '/deployments', `/deployments/${deployment}/plan?run=${run}`]) await check(address);

  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  await check(`/deployments/${deployment}/compare?from=${run}&to=${gone.run}`);
  expect(await leftovers(request)).toEqual({});
});

test('text at 125 % makes the rows of the run page higher', async ({ page }) => {
  await enlargeText(page);
  await login(page);
  const template = 'heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n  back: {type: OS::Neutron::Net}\n';
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'large-text', template });
  await ended(page, run);
  await page.goto(`/runs/${run}`);
  await page.getByRole('button', { name: 'Timeline' }).click();
  for (const [rows, height] of [['.log-line', 25], ['.steps > li', 35], ['.timeline-row', 30]] as const) {
    await expect(page.locator(rows).first()).toBeVisible();
    const edges = await page.locator(rows).evaluateAll((all) => all.map((row) => row.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })));
    edges.sort((one, other) => one.top - other.top);
    expect(edges.length, rows).toBeGreaterThan(1);
    edges.forEach(({ top, bottom }, at) => {
      expect(bottom - top, rows).toBeGreaterThanOrEqual(height - 0.5);
      expect(top, `${rows} does not cover the one before it`).toBeGreaterThanOrEqual((edges[at - 1]?.bottom ?? -Infinity) - 0.5);
    });
  }
  await shoot(page, 'run-large-text');
  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
});

test('text at 125 % cuts nothing off on a plan, a deployment and the list of deployments', async ({ page }) => {
  await enlargeText(page);
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'large-text', template: twoTier('large text') });
  await page.goto(`/designs/${id}/plan`);
  await expect(page.getByRole('button', { name: 'Deploy', exact: true })).toBeEnabled({ timeout: 60_000 });
  await expect(page.locator('.change .pill').first()).toBeVisible();
  expect(await crowded(page)).toEqual([]);
  await shoot(page, 'plan-large-text');

  const template = `heat_template_version: 2021-04-16
resources:
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
  net: {type: OS::Neutron::Net}
outputs:
  id: {value: {get_resource: net}}
`;
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'large-text', template });
  await ended(page, run);
  await page.goto(`/deployments/${deployment}`);
  await expect(page.locator('[data-resource="address"] .pill'), 'the state in the cloud').toBeVisible();
  await expect(page.locator('[aria-busy="true"], .skeleton')).toHaveCount(0);
  expect(await crowded(page)).toEqual([]);
  await shoot(page, 'deployment-large-text');

  await page.goto('/deployments');
  await expect(page.getByRole('link', { name: 'large-text' }).first()).toBeVisible();
  expect(await crowded(page)).toEqual([]);
  await shoot(page, 'deployments-large-text');
  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
});

test('every page fits into windows of three sizes, in both themes @full', async ({ page, request }) => {
  const fits = async (name: string) => expect.soft(await misfits(page, name)).toEqual([]);
  const open = async (name: string, address: string) => {
    await page.goto(address);
    await expect(page.getByRole('heading').first()).toBeVisible();
    await expect(page.locator('[aria-busy="true"], .skeleton')).toHaveCount(0);
    await fits(name);
  };
  await page.goto('/login');
  await expect(page.getByRole('button', { name: 'Log in', exact: true })).toBeEnabled({ timeout: 60_000 });
  await fits('login');
  await login(page);
  await api(page, 'POST', '/designs', { name: 'a name that is longer than those that people choose for their designs', template: broken });
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'fits', template: twoTier('fits') });
  await open('designs', '/designs');
  await test.step('the designer', async () => {
    await openDesign(page, id);
    await fits('design');
    await inspect(page, 'web');
    await fits('design-form');
    await code(page);
    await fits('design-code');
    await problems(page);
    await fits('design-problems');
    await page.getByRole('tab', { name: 'History' }).click();
    await expect(page.getByRole('list', { name: 'Versions' })).toBeVisible();
    await fits('design-history');
  });
  await page.goto(`/designs/${id}/plan`);
  await expect(page.getByRole('button', { name: 'Deploy', exact: true })).toBeEnabled({ timeout: 60_000 });
  await fits('plan');

  const template = 'heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\noutputs:\n  id: {value: {get_resource: front}}\n';
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'fits', template });
  await ended(page, run);
  await open('run', `/runs/${run}`);
  await open('deployment', `/deployments/${deployment}`);
  await open('deployments', '/deployments');
  await open('roll-back', `/deployments/${deployment}/plan?run=${run}`);
  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  await open('comparison', `/deployments/${deployment}/compare?from=${run}&to=${gone.run}`);
  for (const address of ['/catalog', '/catalog/nginx', '/items/new', '/sessions', '/audit', '/nowhere']) {
    await open(address.slice(1).replace('/', '-'), address);
  }
  expect(await leftovers(request)).toEqual({});
});

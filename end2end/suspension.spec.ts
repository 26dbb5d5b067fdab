// Suspension of a deployment on its page, and its end.
import { expect, test } from '@playwright/test';
import { api, login, node, shoot } from './support/app.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
`;

test('a deployment is suspended, shown as such, and resumed', async ({ page, request }) => {
  test.setTimeout(3 * 60_000);
  await login(page);
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'sleepy', template });
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'sleepy', design: design.id });
  await ended(page, started.run);
  const deployment = `/deployments/${started.deployment}`;
  await page.goto(deployment);
  const main = page.getByRole('main');

  await test.step('the confirmation says what happens', async () => {
    await main.getByRole('button', { name: 'Suspend', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Suspend sleepy?' });
    await expect(question).toContainText('with their memory kept');
    await expect(question).toContainText('Volumes and floating IPs still cost');
    await expect(question).toContainText('web');
    await shoot(page, 'suspend');
    await question.getByRole('button', { name: 'Suspend' }).click();
    await expect(page).toHaveURL(/\/runs\//);
    await expect(page.getByRole('heading', { name: 'Suspend sleepy' })).toBeVisible();
    await expect(page.getByTestId('success')).toContainText('Suspend succeeded', { timeout: 60_000 });
    await expect(node(page, 'web')).toContainText('Suspended');
    await shoot(page, 'suspend-run');
  });

  await test.step('what does not apply is not offered', async () => {
    await page.goto(deployment);
    await expect(main.getByRole('note').filter({ hasText: 'The servers are suspended.' })).toBeVisible();
    await expect(page.locator('[data-resource="web"]')).toContainText('Suspended');
    await expect(node(page, 'web')).toHaveAttribute('data-state', 'suspended');
    for (const action of ['Run a command', 'Suspend', 'Roll back']) {
      await expect(main.getByRole('button', { name: action, exact: true })).toHaveCount(0);
    }
    for (const link of ['Change', 'Terminal on web']) {
      await expect(main.getByRole('link', { name: link, exact: true })).toHaveCount(0);
    }
    await expect(main.getByRole('button', { name: 'Power of web' })).toHaveCount(0);
    await expect(main.getByRole('button', { name: 'Undeploy', exact: true })).toBeVisible();
    await shoot(page, 'suspended');
    await page.goto(`${deployment}/terminal/web`);
    const offers = page.getByRole('group', { name: 'Open a terminal' });
    await expect(offers).toBeAttached();
    await expect(offers.getByRole('button')).toHaveCount(0);
    await page.goto('/deployments');
    await expect(page.getByRole('row').filter({ hasText: 'sleepy' })).toContainText('Suspended');
  });

  await test.step('an update waits for the resumption', async () => {
    await page.goto(`/designs/${design.id}/plan?deployment=${started.deployment}`);
    await expect(page.getByRole('note').filter({ hasText: 'sleepy is suspended' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Update', exact: true })).toBeDisabled();
    await expect(page.getByText('Nothing to do')).toBeVisible();
    await shoot(page, 'suspended-plan');
  });

  await test.step('it is resumed', async () => {
    await page.goto(deployment);
    await main.getByRole('button', { name: 'Resume servers' }).click();
    const question = page.getByRole('dialog', { name: 'Resume sleepy?' });
    await expect(question).toContainText('continue where they were suspended');
    await question.getByRole('button', { name: 'Resume', exact: true }).click();
    await expect(page.getByTestId('success')).toContainText('Resume succeeded', { timeout: 60_000 });
    await page.goto(deployment);
    await expect(main.getByRole('button', { name: 'Suspend', exact: true })).toBeVisible();
    await expect(page.locator('[data-resource="web"]')).toContainText('Ready');
  });

  const gone = await api<{ run: string }>(page, 'DELETE', deployment);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

// Resources that a deployment does not record, and plans that exceed the quota.
import { expect, test } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { createNetwork, network } from './support/lab.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

interface Started {
  deployment: string;
  run: string;
}

const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
`;

test('a stray is shown on the page of its deployment, and undeploying removes it', async ({ page, request }) => {
  await login(page);
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'late', template });
  await ended(page, run);
  const { resources } = await api<{ resources: { physical_id: string }[] }>(page, 'GET', `/deployments/${deployment}`);
  // The result of a request that is executed after its response was lost.
  const { description } = await network(request, resources[0]!.physical_id);
  const stray = await createNetwork(request, { name: 'late-front', description });

  await page.goto(`/deployments/${deployment}`);
  const strays = page.getByRole('region', { name: 'Strays' });
  await expect(strays.getByRole('row', { name: new RegExp(stray.id) })).toContainText('An undeploy removes it.');
  await strays.scrollIntoViewIfNeeded();
  await shoot(page, 'deployment-strays');

  await page.getByRole('button', { name: 'Undeploy', exact: true }).click();
  await page.getByRole('dialog', { name: 'Undeploy late?' }).getByRole('button', { name: 'Undeploy', exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByRole('log')).toContainText(`Deleted OS::Neutron::Net ${stray.id}`);
  await expect.poll(() => leftovers(request)).toEqual({});
});

test('a plan beyond the quota is deployed only after a confirmation', async ({ page, request }) => {
  await login(page);
  const addresses = `heat_template_version: 2021-04-16
resources:
  addresses:
    type: OS::Heat::ResourceGroup
    properties: {count: 51, resource_def: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}}
`;
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'beyond', template: addresses });
  await page.goto(`/designs/${id}/plan`);
  await page.getByLabel('Deployment name').fill('many');
  const deploy = page.getByRole('button', { name: 'Deploy', exact: true });
  const despite = page.getByRole('checkbox', { name: 'Deploy despite the quota' });
  await expect(despite).toBeVisible({ timeout: 30_000 });
  await expect(deploy).toBeDisabled();
  await page.keyboard.press('Control+k');
  const commands = page.getByRole('dialog', { name: 'Commands' });
  await expect(commands.getByRole('option', { name: 'Keyboard shortcuts' })).toBeVisible();
  await expect(commands.getByRole('option', { name: /^Start what is planned/ })).toHaveCount(0);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('main')).toContainText('floating IPs');
  await shoot(page, 'plan-quota');
  expect(await leftovers(request)).toEqual({});

  await despite.check();
  await deploy.click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByRole('main')).toContainText(/quota/i, { timeout: 60_000 });
  const run = new URL(page.url()).pathname.split('/').pop();
  await expect.poll(async () => (await api<{ state: string }>(page, 'GET', `/runs/${run}`)).state, { timeout: 60_000 }).toBe('failed');
  const { deployment } = await api<{ deployment: string }>(page, 'GET', `/runs/${run}`);
  await api(page, 'DELETE', `/deployments/${deployment}`);
  await expect.poll(() => leftovers(request)).toEqual({});
});

// Check and repair on the page of a deployment, and in the designer.
import { expect, test } from '@playwright/test';
import { api, canvasReady, demo, login, node, shoot } from './support/app.ts';
import { inspect } from './support/draw.ts';
import { changeNetwork, remove } from './support/lab.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net, properties: {name: front}}
  back: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: back}, cidr: 10.7.0.0/24}}
`;

interface Deployment {
  resources: { name: string; physical_id: string }[];
}

test('what somebody deleted or changed in the cloud is found, shown and repaired', async ({ page, request }) => {
  await login(page);
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'damaged', template });
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'damaged', design: design.id });
  await ended(page, started.run);
  await page.goto(`/deployments/${started.deployment}`);
  const section = page.getByRole('region', { name: 'Check' });
  const check = section.getByRole('button', { name: 'Check now' });

  await test.step('nothing differs', async () => {
    await expect(section).toContainText('Not checked yet');
    await check.click();
    await expect(section).toContainText('All compared resources are as deployed.');
    await expect(section).toContainText('3 resources, by demo');
  });

  const { resources } = await api<Deployment>(page, 'GET', `/deployments/${started.deployment}`);
  const id = (name: string) => resources.find((one) => one.name === name)?.physical_id ?? '';
  await changeNetwork(request, id('front'), { name: 'renamed by hand' });
  await remove(request, `/network/v2.0/subnets/${id('subnet')}`);

  await test.step('the differences are shown in words and on the canvas', async () => {
    await check.click();
    const front = section.locator('[data-finding="front"]');
    await expect(front).toContainText('Changed');
    await expect(front).toContainText('front → renamed by hand');
    await expect(section.locator('[data-finding="subnet"]')).toContainText('Gone');
    await expect(section.locator('[data-finding]')).toHaveCount(2);
    await expect(node(page, 'front')).toHaveAttribute('data-state', 'changed');
    await expect(page.locator('[data-resource="subnet"]')).toContainText('Gone');
    await shoot(page, 'check');
  });

  await test.step('the designer shows the same, and checks and repairs too', async () => {
    await page.goto(`/designs/${design.id}?deployment=${started.deployment}`);
    await canvasReady(page);
    const note = page.getByRole('note', { name: 'Deployment to update' });
    await expect(note).toContainText('Checked: 1 gone, 1 changed');
    await expect(node(page, 'front')).toHaveAttribute('data-state', 'changed');
    await expect((await inspect(page, 'front')).locator('[data-finding="front"]')).toContainText('front → renamed by hand');
    const checked = page.waitForResponse(`**/deployments/${started.deployment}/check`);
    await note.getByRole('button', { name: 'Check now' }).click();
    expect((await checked).ok()).toBeTruthy();
    await note.getByRole('button', { name: 'Repair' }).click();
    const question = page.getByRole('dialog', { name: 'Repair damaged?' });
    await expect(question).toContainText('subnet: it is gone from the cloud: it is created again');
    await page.keyboard.press('Escape');
    await expect(question).toBeHidden();
    await note.getByRole('button', { name: /^Unattended work/ }).click();
    const permission = page.getByRole('dialog', { name: 'Standing permission' });
    await expect(permission.getByText('Let the server act while nobody is logged in')).toBeVisible();
    await permission.getByRole('button', { name: 'Close' }).click();
    await expect(permission).toBeHidden();
    await shoot(page, 'check-designer');
  });

  await test.step('a reader sees the findings, and changes nothing', async () => {
    await login(page, { ...demo, user: 'reader', password: 'reader' });
    await page.goto(`/designs/${design.id}?deployment=${started.deployment}`);
    const note = page.getByRole('note', { name: 'Deployment to update' });
    await expect(note).toContainText('Checked: 1 gone, 1 changed');
    await expect(page.getByTitle('Project and cloud'), 'the user is known').toBeVisible();
    await expect(note.getByRole('button')).toHaveCount(0);
    await login(page);
    await page.goto(`/deployments/${started.deployment}`);
  });

  await test.step('the plan of the repair comes before it', async () => {
    await section.getByRole('button', { name: 'Repair' }).click();
    const question = page.getByRole('dialog', { name: 'Repair damaged?' });
    await expect(question).toContainText('subnet: it is gone from the cloud: it is created again');
    await expect(question).toContainText('front: name was changed in the cloud: restored');
    await shoot(page, 'repair');
    await question.getByRole('button', { name: 'Repair' }).click();
    await expect(page).toHaveURL(/\/runs\//);
    await expect(page.getByTestId('success')).toContainText('succeeded', { timeout: 60_000 });
  });

  await test.step('afterwards it is whole again', async () => {
    await page.goto(`/deployments/${started.deployment}`);
    await expect(section).toContainText('A run began after the last check.');
    await check.click();
    await expect(section).toContainText('All compared resources are as deployed.');
  });

  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

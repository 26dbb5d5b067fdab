// Snapshots of a deployment on its page: taken, restored, deleted.
import { expect, test } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { accessible } from './support/axe.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
`;

test('a snapshot is taken, restored and deleted', async ({ page, request }) => {
  test.setTimeout(2 * 60_000);
  await login(page);
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'keeper', template });
  await ended(page, started.run);
  const deployment = `/deployments/${started.deployment}`;
  await page.route('**/snapshots/scope', (route) => route.abort());
  await page.goto(deployment);
  const section = page.getByRole('region', { name: 'Snapshots' });
  await expect(section.getByRole('alert')).toContainText('No connection to the server');
  await page.unroute('**/snapshots/scope');
  await expect(section).toContainText('A new snapshot contains disk, web.');
  await section.getByLabel('Name of the snapshot').fill('before the upgrade');
  await section.getByRole('button', { name: 'Take a snapshot' }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByTestId('success')).toContainText('Snapshot succeeded', { timeout: 60_000 });

  await page.goto(deployment);
  const row = section.getByRole('row').filter({ hasText: 'before the upgrade' });
  await expect(row).toContainText('Complete');
  await shoot(page, 'snapshots');
  await row.getByRole('button', { name: 'Restore before the upgrade' }).click();
  const question = page.getByRole('dialog', { name: 'Restore keeper from before the upgrade?' });
  await expect(question).toContainText('All data written to them since then is lost');
  await expect(question).toContainText(/their state at \d\d:\d\d:\d\d\./);
  await expect(question.getByRole('listitem')).toHaveText(['disk', 'web']);
  await expect(question.getByRole('button', { name: 'Keep it as it is' })).toBeFocused();
  await shoot(page, 'snapshot-restore');
  await accessible(page);
  await question.getByRole('button', { name: 'Restore' }).click();
  await expect(page.getByTestId('success')).toContainText('Restore succeeded', { timeout: 60_000 });

  await page.goto(deployment);
  await row.getByRole('button', { name: 'Delete the snapshot before the upgrade' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(row).toHaveCount(0);

  await page.getByRole('main').getByRole('button', { name: 'Undeploy', exact: true }).click();
  await expect(page.getByRole('dialog')).toContainText('Snapshots of its servers and volumes that were taken here are deleted with them.');
  await page.keyboard.press('Escape');
  const gone = await api<{ run: string }>(page, 'DELETE', deployment);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

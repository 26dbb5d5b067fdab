// Hooks of environments: a run that waits for a person says so, and goes on when it is told to.
import { expect, test } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { leftovers } from './support/tidy.ts';

const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
`;
const hooks = 'resource_registry: {resources: {subnet: {hooks: [pre-create, post-create]}}}\n';

test('a run waits for a person before and after a resource', async ({ page, request }) => {
  await login(page);
  const content = { name: 'held', template, files: { 'hooks.yaml': hooks }, environments: ['hooks.yaml'] };
  const design = await api<{ id: string }>(page, 'POST', '/designs', content);
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'held', design: design.id });
  await page.goto(`/runs/${started.run}`);
  const goOn = page.getByRole('button', { name: 'Continue', exact: true });
  const before = page.getByRole('status').filter({ hasText: 'waits for you before subnet is created' });
  await expect(before).toBeVisible();
  await expect(page.locator('[data-step="subnet:pre-create"]')).toContainText('Wait for you');
  await page.locator('[data-step="subnet:create"]').click();
  await expect(page.locator('.step-detail'), 'the step behind it').toContainText(
    /Waits for.*subnet:pre-create.*Running.*Waiting at a hook of subnet until a user continues the run/s,
  );
  await expect(page.getByTestId('run-state')).toHaveText('Waits for a user');
  await shoot(page, 'hook');

  await test.step('lists and the page of the deployment say the same', async () => {
    await page.goto('/deployments');
    const row = page.locator('[data-deployment="held"]');
    await expect(row.locator('.state').filter({ hasText: 'Waits for a user' }), 'its state and its last run').toHaveCount(2);
    await expect(row).not.toContainText('Running');
    await row.getByRole('link', { name: 'held', exact: true }).click();
    await expect(page.locator('.deployment-line')).toContainText('Waits for a user');
    await expect(page.getByRole('note').filter({ hasText: 'The run waits for a user.' })).toContainText('Open its page to continue it.');
    await expect(page.locator(`[data-run="${started.run}"]`)).toContainText('Waits for a user');
  });

  await test.step('the designer says the same', async () => {
    await page.goto(`/designs/${design.id}?deployment=${started.deployment}`);
    await expect(page.getByRole('note', { name: 'Deployment to update' })).toContainText('Waits for a user');
  });

  // A check runs beside it.
  await page.goto(`/deployments/${started.deployment}`);
  const check = page.getByRole('region', { name: 'Check', exact: true });
  await check.getByRole('button', { name: 'Check now' }).click();
  await expect(check).toContainText('All compared resources are as deployed.');
  await page.goto(`/runs/${started.run}`);

  await before.getByRole('button', { name: 'Continue' }).click();
  const after = page.getByRole('status').filter({ hasText: 'waits for you: subnet is created' });
  await expect(after).toBeVisible();
  await expect(page.getByTestId('run-state')).toHaveText('Waits for a user');
  await goOn.focus();
  await page.keyboard.press('Enter');
  await expect(page.getByTestId('success')).toContainText('Deploy succeeded', { timeout: 60_000 });
  await expect(goOn).toHaveCount(0);
  await api(page, 'DELETE', `/deployments/${started.deployment}`);
  await expect.poll(() => leftovers(request), { timeout: 60_000 }).toEqual({});
});

// Scaling groups on the page of a deployment, and in the designer.
import { expect, test } from '@playwright/test';
import { api, canvasReady, login, node, shoot } from './support/app.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = `heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 6
      desired_capacity: 2
      resource: {type: OS::Neutron::Net}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: web}, adjustment_type: change_in_capacity, scaling_adjustment: 1, cooldown: 3600}
`;

test('a group is scaled by a size and by a policy, after its plan', async ({ page, request }) => {
  await login(page);
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'scaling', template });
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'scaling', design: design.id });
  await ended(page, started.run);

  await page.goto(`/deployments/${started.deployment}`);
  const row = page.locator('[data-group="web"]');
  const members = row.locator('[data-size-now]');
  await expect(members).toHaveText('2');
  await expect(row).toContainText('1 to 6');
  const drawn = node(page, 'web').getByTestId('member-count');
  await expect(drawn).toHaveText('×2');

  await test.step('the plan is shown before the run starts', async () => {
    const size = row.getByRole('spinbutton', { name: 'Size of web' });
    await expect(row.getByRole('button', { name: 'Scale' })).toBeDisabled();
    await size.fill('5');
    await row.getByRole('button', { name: 'Scale' }).click();
    const question = page.getByRole('dialog', { name: 'Scale web: 2 → 5?' });
    await expect(question).toContainText('3 to create');
    await expect(question).toContainText('web/4');
    await shoot(page, 'scale');
    // As if something had changed since: the server's plan has another digest.
    await page.route('**/groups/web/scale', async (route) => {
      const body = route.request().postDataJSON() as { plan_digest: string };
      expect(body.plan_digest).toMatch(/^[0-9a-f]{64}$/);
      await route.continue({ postData: { ...body, plan_digest: '0'.repeat(64) } });
    }, { times: 1 });
    await question.getByRole('button', { name: 'Scale' }).click();
    await expect(question).toContainText('This is the new plan');
    await question.getByRole('button', { name: 'Scale' }).click();
    await expect(page).toHaveURL(/\/runs\//);
    await expect(page.getByTestId('success')).toContainText('Scale web: 2 → 5 succeeded');
  });

  await test.step('the page, its canvas and its runs show the new size', async () => {
    await page.goto(`/deployments/${started.deployment}`);
    await expect(members).toHaveText('5');
    await expect(drawn).toHaveText('×5');
    await node(page, 'web').click({ position: { x: 12, y: 12 } });
    await expect(page.getByRole('group', { name: 'Operations' }).getByRole('button', { name: 'Scale' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'Scale web: 2 → 5' })).toBeVisible();
  });

  await test.step('a policy is applied during its cooldown only if a person wants it', async () => {
    const down = row.getByRole('button', { name: 'up → 6' });
    await down.click();
    await page.getByRole('dialog', { name: 'Scale web: 5 → 6?' }).getByRole('button', { name: 'Scale' }).click();
    await expect(page.getByTestId('success')).toContainText('Scale web: 5 → 6 succeeded');
    await page.goto(`/deployments/${started.deployment}`);
    await expect(row).toContainText('Cooldown until');
    await expect(row.getByRole('button', { name: 'up → 6' })).toBeDisabled();
    await shoot(page, 'groups');
  });

  await test.step('the menu of the group in the designer leads to the same plan', async () => {
    await page.goto(`/designs/${design.id}?deployment=${started.deployment}`);
    await canvasReady(page);
    await expect(page.getByRole('note', { name: 'Deployment to update' })).toContainText('Deployed');
    const dialog = page.getByRole('dialog', { name: 'Scale web', exact: true });
    const open = async () => {
      await node(page, 'web').click({ position: { x: 12, y: 12 }, button: 'right' });
      await page.getByRole('menuitem', { name: 'Scale' }).click();
    };
    await open();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expect(dialog).toHaveCount(0);
    await open();
    await expect(dialog.locator('[data-size-now]')).toHaveText('6');
    await dialog.getByRole('spinbutton', { name: 'Size of web' }).fill('4');
    await shoot(page, 'scale-designer');
    await dialog.getByRole('button', { name: 'Scale' }).click();
    await expect(dialog).toHaveCount(0);
    const question = page.getByRole('dialog', { name: 'Scale web: 6 → 4?' });
    await expect(question).toContainText('2 to remove');
    await question.getByRole('button', { name: 'Keep it as it is' }).click();
  });

  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

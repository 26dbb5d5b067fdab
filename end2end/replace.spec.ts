// An update that takes the place of the run at work.
import { expect, test, type Locator } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { clearFaults, fault } from './support/lab.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = (last: string) => `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  ${last}: {type: OS::Neutron::Net, depends_on: front}
`;

/** Names of the resources that a displayed plan creates. */
const created = (plan: Locator): Promise<(string | null)[]> =>
  plan.locator('.changes[data-action="create"] [data-change]').evaluateAll((all) => all.map((one) => one.getAttribute('data-change')).sort());

test('an update is planned while a run is at work, and takes its place', async ({ page, request }) => {
  test.setTimeout(3 * 60_000);
  await login(page);
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'hasty', template: template('old') });
  await fault(request, { call: { service: 'network', method: 'POST', path: '/v2.0/networks', times: 1, delay_ms: 12_000 } });
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'hasty', design: design.id });
  await api(page, 'PUT', `/designs/${design.id}`, { name: 'hasty', template: template('fresh') });

  await page.goto(`/designs/${design.id}/plan?deployment=${started.deployment}`);
  const note = page.getByRole('note').filter({ hasText: 'A run works on hasty' });
  const update = page.getByRole('button', { name: 'Update', exact: true });
  await test.step('the run at work is named, and the choice is clear', async () => {
    await expect(note.getByRole('link', { name: 'Deploy by demo' })).toBeVisible();
    await expect(update).toBeDisabled();
    await expect(note).not.toContainText('can differ');
    await note.getByLabel(/Replace it: it begins no further step/).check();
    await expect(note, 'the plan is made again').toContainText('The changes that are carried out can differ from it for resources on which that run works');
    await expect(update).toBeEnabled();
    expect(await created(page.getByRole('region', { name: 'Changes' }))).toEqual(['fresh', 'front']);
    await shoot(page, 'replace-plan');
  });

  await test.step('the update begins when the step at work has ended', async () => {
    await update.click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
    expect(page.url(), 'another run').not.toContain(started.run);
    await expect(page.getByTestId('success')).toContainText('Update succeeded', { timeout: 60_000 });
    const updating = page.url();
    await page.goto(`/runs/${started.run}`);
    await expect(page.getByTestId('run-state')).toContainText('Replaced');
    await shoot(page, 'replace-run');
    await page.goto(`/deployments/${started.deployment}`);
    await expect(page.locator('[data-resource="fresh"]')).toContainText('Ready');
    await expect(page.locator('[data-resource="old"]')).toHaveCount(0);
    await expect(page.locator(`[data-run="${started.run}"]`)).toContainText('Replaced');
    await page.goto(updating);
    await expect(page.getByTestId('success')).toContainText('Update succeeded');
  });

  await test.step('it has carried out the reviewed plan, except for what the replaced run had created by then', async () => {
    await page.getByRole('group', { name: 'View' }).getByRole('button', { name: 'Plan' }).click();
    const plan = page.getByRole('region', { name: 'Plan' });
    await expect(plan.locator('[data-change="fresh"]')).toBeVisible();
    expect(await created(plan)).toEqual(['fresh']);
    await expect(plan.locator('[data-change="front"]')).toHaveCount(0);
  });

  await clearFaults(request);
  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

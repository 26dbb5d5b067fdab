// Updates of a deployment: planned with reasons, executed, and rolled back after a failure.
import { expect, test, type Page } from '@playwright/test';
import { api, canvasReady, login, node, shoot } from './support/app.ts';
import { accessible } from './support/axe.ts';
import { inspect, saved } from './support/draw.ts';
import { clearFaults, fault } from './support/lab.ts';
import { ended, endedAs } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const before = `heat_template_version: 2021-04-16
resources:
  front:
    type: OS::Neutron::Net
  spare:
    type: OS::Neutron::Net
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
`;

test('change, fail, roll back, change again', async ({ page, request }) => {
  test.setTimeout(4 * 60_000);
  await login(page);
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'changing', template: before });
  const made = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'changing', design: design.id });
  await ended(page, made.run);
  const server = await idOf(page, made.deployment, 'web');

  await test.step('one network is renamed on the canvas, one goes, and the server starts with another script', async () => {
    await page.goto(`/deployments/${made.deployment}`);
    await page.getByRole('link', { name: 'Change', exact: true }).click();
    await expect(page).toHaveURL(new RegExp(`/designs/${design.id}\\?deployment=`));
    await canvasReady(page);
    await expect(page.getByRole('note', { name: 'Deployment to update' })).toContainText('Changes are planned for changing');
    await expect(node(page, 'web'), 'the state of the deployed server').toContainText('Ready');
    let form = await inspect(page, 'web');
    await form.getByLabel('User data', { exact: true }).fill('#!/bin/true');
    form = await inspect(page, 'front');
    const name = form.getByLabel('Name in the cloud', { exact: true });
    if (!(await name.isVisible())) await form.getByText(/^More properties/).click();
    await name.fill('green');
    await inspect(page, 'spare');
    await page.keyboard.press('Delete');
    await expect(node(page, 'spare')).toHaveCount(0);
    await saved(page);
  });

  await test.step('the plan tells what changes, and why', async () => {
    await page.getByRole('link', { name: 'Plan update', exact: true }).click();
    const changes = page.getByRole('region', { name: 'Changes' });
    await expect(changes.locator('[data-action="replace"] [data-change="web"]')).toContainText('user_data changes: it will be replaced');
    await expect(changes.locator('[data-action="update"] [data-change="front"]')).toContainText('name changes');
    await expect(changes.locator('[data-action="delete"] [data-change="spare"]')).toBeVisible();
    await shoot(page, 'update-plan');
    await page.getByRole('button', { name: 'Drawing', exact: true }).click();
    await expect(node(page, 'web')).toHaveAttribute('data-state', 'plan-replace');
    await expect(node(page, 'web')).toHaveAccessibleName(/, Replaced$/);
    await expect(node(page, 'front')).toHaveAttribute('data-state', 'plan-update');
    await expect(node(page, 'front')).toContainText('Updated');
    await shoot(page, 'update-drawing');
  });

  await test.step('it fails, and the server that worked is still there', async () => {
    await fault(request, { server: { name: '*web*', fault: 'error', times: 2 } });
    await update(page);
    await endedAs(page, runOf(page), 'failed');
    await shoot(page, 'update-failed');
  });

  await test.step('roll back', async () => {
    await clearFaults(request);
    const failed = page.url();
    await page.goto(`/deployments/${made.deployment}`);
    await page.getByRole('button', { name: 'Roll back', exact: true }).click();
    const shown = page.getByRole('dialog', { name: 'Roll back changing?' });
    await expect(shown).toContainText(/its last successful change: Deploy by demo, \d\d:\d\d:\d\d\./);
    await expect(shown).toContainText('web OS::Nova::Server updated');
    await expect(shown.getByRole('button', { name: 'Keep it as it is' })).toBeFocused();
    await shoot(page, 'roll-back-question');
    await accessible(page);
    await page.keyboard.press('Enter');
    await expect(shown).toBeHidden();
    await page.goto(failed);
    const cause = page.getByTestId('cause');
    await expect(cause.getByRole('button', { name: /^Resume: try web/ })).toBeVisible();
    await cause.getByRole('link', { name: 'Roll back', exact: true }).click();
    await expect(page).toHaveURL(`/deployments/${made.deployment}/plan?run=${made.run}`);
    const changes = page.getByRole('region', { name: 'Changes' });
    await expect(changes.locator('[data-change="web"]').first()).toContainText('is taken back');
    await shoot(page, 'roll-back-of-a-failure');
    const start = page.getByRole('button', { name: 'Roll back', exact: true });
    await start.first().click();
    const confirmation = page.getByRole('dialog').getByRole('button', { name: 'Roll back', exact: true });
    await expect(confirmation.or(page.getByTestId('run-state'))).toBeVisible({ timeout: 60_000 });
    if (await confirmation.isVisible()) await confirmation.click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
    await ended(page, runOf(page));
    await expect(page.getByRole('heading', { name: 'Roll back changing' })).toBeVisible();
    await expect(page.getByRole('note').filter({ hasText: 'the newest is' })).toHaveCount(0);

    // The failed run is not the newest any more: it shows its own drawing, and offers nothing that would be refused.
    await page.goto(failed);
    const note = page.getByRole('note').filter({ hasText: 'Run 2 of 3; the newest is' });
    await expect(note.getByRole('link', { name: 'Roll back by demo' })).toBeVisible();
    await expect(page.getByTestId('cause')).toBeVisible();
    for (const action of ['Resume', 'Undeploy']) {
      await expect(page.getByRole('main').getByRole('button', { name: action })).toHaveCount(0);
    }
    await expect(page.getByRole('main').getByRole('link', { name: 'Roll back', exact: true })).toHaveCount(0);
    await shoot(page, 'run-old');
    await note.getByRole('link').click();
    await expect(page.getByRole('heading', { name: 'Roll back changing' })).toBeVisible();
    await expect(note).toHaveCount(0);
    expect(await idOf(page, made.deployment, 'web'), 'the same server').toBe(server);
  });

  await test.step('the same change, without a failure', async () => {
    await page.goto(`/designs/${design.id}/plan?deployment=${made.deployment}`);
    await update(page);
    await ended(page, runOf(page));
    expect(await idOf(page, made.deployment, 'web'), 'another server').not.toBe(server);
    expect(await idOf(page, made.deployment, 'spare')).toBeUndefined();
  });

  await test.step('the first run keeps its drawing, template and version', async () => {
    await page.goto(`/runs/${made.run}`);
    await expect(page.getByRole('note').filter({ hasText: 'Run 1 of 4' })).toBeVisible();
    await canvasReady(page);
    await expect(node(page, 'spare')).toBeVisible();
    await expect(page.getByRole('link', { name: 'design v1', exact: true })).toBeVisible();
    await shoot(page, 'run-first');
  });

  await test.step('undeploy', async () => {
    const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${made.deployment}`);
    await ended(page, gone.run);
    await page.goto(`/runs/${gone.run}`);
    await canvasReady(page);
    await expect(node(page, 'front')).toContainText('Removed');
    await expect(page.getByTestId('success')).toContainText('All resources are removed');
    await shoot(page, 'run-undeployed');
    expect(await leftovers(request)).toEqual({});
  });
});

test('a deployment leads to its own version and to the update, and the designer says what is updated', async ({ page, request }) => {
  test.setTimeout(2 * 60_000);
  await login(page);
  const design = await api<{ id: string; version: number }>(page, 'POST', '/designs', { name: 'ages', template: before });
  const made = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'ages', design: design.id });
  await ended(page, made.run);
  const version = page.getByRole('link', { name: 'design v1', exact: true });
  const update = page.getByRole('link', { name: 'Update', exact: true });

  await test.step('there is nothing to update to', async () => {
    await page.goto(`/deployments/${made.deployment}`);
    await expect(version).toHaveAttribute('href', `/designs/${design.id}`);
    await expect(page.getByRole('link', { name: 'Change', exact: true })).toBeVisible();
    await expect(update).toHaveCount(0);
  });

  await test.step('the deployed version is compared with a newer one', async () => {
    const changed = before.replace('  spare:\n    type: OS::Neutron::Net\n', '');
    await api(page, 'PUT', `/designs/${design.id}`, { name: 'ages', template: changed, base_version: design.version });
    await page.reload();
    await expect(version).toHaveAttribute('href', `/designs/${design.id}?version=1`);
    await page.goto(`/runs/${made.run}`);
    await version.click();
    await canvasReady(page);
    const history = page.getByRole('tabpanel', { name: 'History' });
    await expect(history.getByRole('heading', { name: 'Version 1' })).toBeVisible();
    await expect(history.getByRole('list', { name: 'Changes since version 1' })).toContainText('resources.spare');
  });

  await test.step('the update is one click away', async () => {
    await page.goto(`/deployments/${made.deployment}`);
    await update.click();
    await expect(page).toHaveURL(`/designs/${design.id}/plan?deployment=${made.deployment}&version=2`);
    const changes = page.getByRole('region', { name: 'Changes' });
    await expect(changes.locator('[data-action="delete"] [data-change="spare"]')).toBeVisible();
  });

  await test.step('the designer says what is updated, and there is a way out', async () => {
    await page.goto(`/deployments/${made.deployment}`);
    await page.getByRole('link', { name: 'Change', exact: true }).click();
    await canvasReady(page);
    const note = page.getByRole('note', { name: 'Deployment to update' });
    await expect(note.getByRole('link', { name: 'ages', exact: true })).toHaveAttribute('href', `/deployments/${made.deployment}`);
    await expect(note).toContainText('Deployed');
    const runs: string[] = [];
    page.on('request', (sent) => { if (/\/runs(\?|$)/.test(sent.url())) runs.push(sent.url()); });
    await page.reload();
    await expect(note).toContainText('Deployed');
    expect(runs, 'the note needs no runs to name the state').toEqual([]);
    await expect(page.getByRole('link', { name: 'Plan update', exact: true })).toHaveAttribute('href', `/designs/${design.id}/plan?deployment=${made.deployment}`);
    await expect(update).toBeVisible();
    await shoot(page, 'update-designer');
  });

  await test.step('the designer offers the operations on the deployed server', async () => {
    const form = await inspect(page, 'web');
    await expect(form.getByRole('button', { name: 'Open a terminal' })).toBeVisible();
    await expect(form.getByRole('button', { name: 'Show the console' })).toBeVisible();
    await node(page, 'web').click({ position: { x: 12, y: 12 }, button: 'right' });
    await page.getByRole('menuitem', { name: 'Run a command' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run a command' });
    await expect(dialog.getByRole('checkbox', { name: 'web' })).toBeChecked();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expect(dialog).toHaveCount(0);
  });

  await test.step('without the deployment, the designer plans a new one', async () => {
    const note = page.getByRole('note', { name: 'Deployment to update' });
    await note.getByRole('link', { name: 'Stop updating it' }).click();
    await expect(note).toHaveCount(0);
    await expect(page.getByRole('link', { name: 'Plan', exact: true })).toHaveAttribute('href', `/designs/${design.id}/plan`);
    await expect(page.getByRole('link', { name: 'Deploy', exact: true })).toBeVisible();
  });

  await test.step('after the design is deleted, nothing leads to it', async () => {
    const deleted = await page.request.delete(`/api/v1/designs/${design.id}`);
    expect(deleted.ok()).toBeTruthy();
    await page.goto(`/deployments/${made.deployment}`);
    await expect(page.getByText('design v1 (deleted)')).toBeVisible();
    await expect(page.getByRole('link', { name: 'Change', exact: true })).toHaveCount(0);
    await page.goto(`/runs/${made.run}`);
    await expect(page.getByText('design v1 (deleted)')).toBeVisible();
  });

  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${made.deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

test('a change that fails is rolled back by itself, where that was chosen @full', async ({ page, request }) => {
  test.setTimeout(4 * 60_000);
  await login(page);
  const design = await api<{ id: string; version: number }>(page, 'POST', '/designs', { name: 'safe', template: before });
  const made = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'safe', design: design.id });
  await ended(page, made.run);
  const server = await idOf(page, made.deployment, 'web');
  const changed = before.replace('flavor: m1.small', 'flavor: m1.small\n      user_data: "#!/bin/true"');
  await api(page, 'PUT', `/designs/${design.id}`, { name: 'safe', template: changed, base_version: design.version });

  await fault(request, { server: { name: '*web*', fault: 'error', times: 2 } });
  await page.goto(`/designs/${design.id}/plan?deployment=${made.deployment}`);
  await page.getByRole('checkbox', { name: 'Roll back if it fails' }).check();
  await update(page);
  const failed = runOf(page);
  await endedAs(page, failed, 'failed');

  let back: { id: string } | undefined;
  await expect
    .poll(async () => {
      const runs = await api<{ id: string }[]>(page, 'GET', `/deployments/${made.deployment}/runs`);
      back = runs.find(({ id }) => id !== made.run && id !== failed);
      return back;
    }, { timeout: 60_000 })
    .toBeTruthy();
  await ended(page, back!.id);
  await page.goto(`/runs/${back!.id}`);
  await expect(page.getByRole('heading', { name: 'Roll back safe' })).toBeVisible();
  expect(await idOf(page, made.deployment, 'web'), 'the same server').toBe(server);

  await clearFaults(request);
  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${made.deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

/** Presses Update, and confirms the list of replaced resources. */
async function update(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Update', exact: true }).first();
  await expect(button).toBeEnabled({ timeout: 60_000 });
  await button.click();
  const question = page.getByRole('dialog');
  await expect(question).toContainText('web: A new server is created from its image. Data on its own disk is lost');
  await expect(question).toContainText('web  OS::Nova::Server  replaced');
  await question.getByRole('button', { name: 'Update', exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
}

function runOf(page: Page): string {
  return new URL(page.url()).pathname.split('/').pop() ?? '';
}

/** The id of a resource in the cloud. `undefined` if it does not exist. */
async function idOf(page: Page, deployment: string, name: string): Promise<string | undefined> {
  const { resources } = await api<{ resources?: { name: string; physical_id: string }[] }>(page, 'GET', `/deployments/${deployment}`);
  return resources?.find((resource) => resource.name === name)?.physical_id;
}

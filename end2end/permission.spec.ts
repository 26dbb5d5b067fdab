// The standing permission on the page of a deployment, and when a design is deployed.
import { expect, test, type APIRequestContext } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { remove } from './support/lab.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = `heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 3, resource: {type: OS::Neutron::Net}}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: web}, adjustment_type: change_in_capacity, scaling_adjustment: 1, cooldown: 3600}
outputs:
  url: {value: {get_attr: [up, signal_url]}}
`;

interface Deployment {
  last_run: string;
  outputs: { url: { value: string } };
  resources: { name: string; physical_id: string }[];
}

/** Status and text of the answer to an alarm, which has no login. */
async function alarm(request: APIRequestContext, url: string): Promise<{ status: number; text: string }> {
  const response = await request.post(url, { data: { version: '4', status: 'firing', alerts: [] } });
  return { status: response.status(), text: await response.text() };
}

test('a deployment scales and repairs itself while nobody is here, until somebody revokes it @full', async ({ page, request }) => {
  await login(page);
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'alone', template });
  await page.goto(`/designs/${design.id}/plan`);
  const started = await test.step('the plan asks in plain words, and nothing is permitted by itself', async () => {
    const asked = page.getByRole('group', { name: 'Unattended work' });
    await expect(asked).toContainText('This design passes on the address of a scaling policy.');
    await expect(asked.getByRole('checkbox', { name: 'Scale when a policy is signalled' })).not.toBeChecked();
    await shoot(page, 'permission-plan');
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await expect(page).toHaveURL(/\/runs\//);
    await expect(page.getByTestId('success')).toContainText('succeeded', { timeout: 60_000 });
    const run = new URL(page.url()).pathname.split('/').pop() ?? '';
    return await api<{ deployment: string }>(page, 'GET', `/runs/${run}`);
  });
  const shown = () => api<Deployment>(page, 'GET', `/deployments/${started.deployment}`);
  const state = async (run: string) => (await api<{ state: string }>(page, 'GET', `/runs/${run}`)).state;
  const url = (await shown()).outputs.url.value;
  const refused = await alarm(request, url);
  expect(refused.status).toBe(403);
  expect(refused.text).toContain('A member of the project can give a permission');

  await page.goto(`/deployments/${started.deployment}`);
  const section = page.getByRole('region', { name: 'Unattended work' });
  await test.step('a member gives the permission', async () => {
    await section.getByText('Let the server act while nobody is logged in').click();
    const give = section.getByRole('button', { name: 'Give permission' });
    await expect(give).toBeDisabled();
    await section.getByRole('checkbox', { name: 'Scale when a policy is signalled' }).check();
    await section.getByRole('checkbox', { name: 'Check at an interval' }).check();
    await section.getByRole('spinbutton', { name: 'Minutes between checks' }).fill('1');
    await section.getByRole('checkbox', { name: 'Repair what a check finds' }).check();
    await section.getByRole('combobox', { name: 'Validity' }).selectOption('90 days');
    await shoot(page, 'permission-form');
    await give.click();
    await expect(section).toContainText('Permitted by demo');
    await expect(section.getByRole('checkbox', { name: 'Check every minute' })).toBeChecked();
    await expect(section).toContainText('The cloud restricts it to the services that Stackloom uses.');
    await shoot(page, 'permission');
  });

  await test.step('an alarm scales the group', async () => {
    const before = (await shown()).last_run;
    const scaled = await alarm(request, url);
    expect(scaled.text).toContain('`up` scales `web` from 1 to 2 members');
    expect(scaled.status).toBe(202);
    await expect.poll(async () => (await shown()).last_run).not.toBe(before);
    await expect.poll(async () => state((await shown()).last_run), { timeout: 60_000 }).toBe('succeeded');
    await page.reload();
    await expect(page.locator('[data-group="web"] [data-size-now]')).toHaveText('2');
    expect((await alarm(request, url)).text).toContain('was scaled a short time ago');
  });

  await test.step('a network that somebody deletes comes back', async () => {
    const { last_run: before, resources } = await shown();
    const lost = resources.find(({ name }) => name === 'web/0')?.physical_id ?? '';
    await remove(request, `/network/v2.0/networks/${lost}`);
    await expect.poll(async () => (await shown()).last_run, { timeout: 120_000 }).not.toBe(before);
    await expect.poll(async () => state((await shown()).last_run), { timeout: 60_000 }).toBe('succeeded');
    await page.reload();
    await expect(page.getByText('demo (standing permission)').first()).toBeVisible();
  });

  await test.step('it is revoked', async () => {
    await section.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog', { name: 'Revoke the permission of alone?' }).getByRole('button', { name: 'Revoke' }).click();
    await expect(section.getByText('Let the server act while nobody is logged in')).toBeVisible();
    expect((await alarm(request, url)).status).toBe(403);
  });

  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

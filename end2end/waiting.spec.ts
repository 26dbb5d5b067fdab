// What a run waits for, and how far it is.
import { expect, test, type Page } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { clearFaults, fault } from './support/lab.ts';
import { ended, expectTab } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

interface Started {
  deployment: string;
  run: string;
}

const slow = `heat_template_version: 2021-04-16
resources:
  pause: {type: OS::Heat::Delay, properties: {min_wait: 6}}
  net: {type: OS::Neutron::Net, depends_on: pause}
`;

test.afterEach(async ({ request }) => clearFaults(request));

test('a running step tells what the cloud says, and a waiting one what it waits for', async ({ page, request }) => {
  await login(page);
  const first = await api<Started>(page, 'POST', '/deployments', { name: 'patient', template: slow });
  await page.goto(`/runs/${first.run}`);
  const step = (id: string) => page.getByRole('list', { name: 'Steps' }).locator(`[data-step="${id}"]`);

  await test.step('the first run', async () => {
    await expectTab(page, 'running', 'patient');
    await expect(step('pause:create').locator('.step-note')).toContainText('s left to wait');
    await step('net:create').click();
    const detail = page.locator('.step-detail');
    await expect(detail, 'with the time since its start').toContainText(/Waits for.*pause:create.*Running\s*\d[\d.]* m?s.*s left to wait/s);
    await shoot(page, 'run-waits');
    await detail.getByRole('button', { name: 'pause:create' }).click();
    await expect(detail.locator('strong')).toHaveText('pause:create');
    await ended(page, first.run);
    await expectTab(page, 'succeeded', 'patient');
    await expect(page.getByRole('progressbar', { name: 'Progress' })).toHaveAttribute('aria-valuenow', '100');
    await expect(step('pause:create').locator('.step-note')).toHaveCount(0);
  });

  await test.step('the second one has earlier durations', async () => {
    const second = await api<Started>(page, 'POST', '/deployments', { name: 'known', template: slow });
    await page.goto(`/runs/${second.run}`);
    await expect(page.locator('.run-left')).toHaveText(/left$/);
    await expect(step('pause:create').locator('.step-note')).toContainText(/about \d+ s left/);
    await expect(page.locator('.run-count')).toHaveText(/^\d+ % · \d+ of \d+ steps$/);
    await ended(page, second.run);
    await expect(page.locator('.run-left')).toHaveCount(0);
    const gone = await api<Started>(page, 'DELETE', `/deployments/${second.deployment}`);
    await ended(page, gone.run);
  });

  await test.step('what is removed is called so everywhere', async () => {
    const gone = await api<Started>(page, 'DELETE', `/deployments/${first.deployment}`);
    await ended(page, gone.run);
    const { steps } = await api<{ steps: { id: string; shown_as?: string }[] }>(page, 'GET', `/runs/${gone.run}`);
    expect(steps.find((one) => one.id === 'net:delete')?.shown_as).toBe('removed');
    await page.goto(`/runs/${gone.run}`);
    await expect(step('net:delete')).toContainText('Removed');
    await expect(step('net:delete')).toHaveAttribute('data-look', 'removed');
    await step('net:delete').click();
    await expect(page.locator('.step-detail .state')).toHaveText('Removed');
    await page.getByRole('button', { name: 'Graph' }).click();
    await expect(page.locator('[data-graph-step="net:delete"]')).toHaveAccessibleName(/^net Remove, Removed/);
    await page.getByRole('button', { name: 'Timeline' }).click();
    await expect(page.locator('.timeline-row', { hasText: 'net:delete' })).toContainText('Removed');
    await page.getByRole('button', { name: 'Canvas' }).click();
    expect(await leftovers(request)).toEqual({});
  });

  await test.step('other pages have their own icon', async () => {
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'patient' }).click();
    await expect(page).toHaveURL(`/deployments/${first.deployment}`);
    await expect(page.locator('link[rel=icon]')).not.toHaveAttribute('href', /circle/);
  });
});

test('a step that waits for the cloud tells the state there, also to the step behind it', async ({ page, request }) => {
  await login(page);
  await fault(request, { server: { name: '*web*', fault: 'never_active' } });
  const template = `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.62.0.0/24}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  late: {type: OS::Neutron::Net, depends_on: web}
  pause: {type: OS::Heat::Delay, properties: {min_wait: 5}}
`;
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'building', template });
  await page.goto(`/runs/${run}`);
  const step = (id: string) => page.getByRole('list', { name: 'Steps' }).locator(`[data-step="${id}"]`);
  await expect(step('web:create').locator('.step-note')).toContainText('web: the server is in state BUILD', { timeout: 60_000 });
  await step('late:create').click();
  await expect(page.locator('.step-detail')).toContainText(/Waits for.*web:create.*Running.*web: the server is in state BUILD/s);
  await shoot(page, 'run-waits-for-the-cloud');

  await test.step('also on a page that is opened after many other events', async () => {
    await expect(step('pause:create')).toHaveAttribute('data-state', 'succeeded', { timeout: 30_000 });
    const [last] = await api<{ type: string; step?: string }[]>(page, 'GET', `/runs/${run}/events?before=1000000&limit=1`);
    expect(last).not.toMatchObject({ type: 'log', step: 'web:create' });
    // As if the page had only one event at the end of the run.
    await page.route(`**/api/v1/runs/${run}/events?*`, (route) => {
      return route.continue({ url: route.request().url().replace('limit=2000', 'limit=1') });
    });
    await page.reload();
    await expect(step('web:create').locator('.step-note')).toContainText('web: the server is in state BUILD');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
  await cancel(page);
  await expectTab(page, 'cancelled', 'building');
  await clearFaults(request);
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

test('a step beyond those that run at a time waits for its turn, and tells how long', async ({ page, request }) => {
  await login(page);
  // One more than `STACKLOOM_PARALLEL_STEPS`.
  const pauses = Array.from({ length: 51 }, (_, at) => `  pause${at}: {type: OS::Heat::Delay, properties: {min_wait: 120}}`);
  const template = `heat_template_version: 2021-04-16\nresources:\n${pauses.join('\n')}\n`;
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'queue', template });
  const queued = async () => {
    const { steps } = await api<{ steps: { id: string; state: string }[] }>(page, 'GET', `/runs/${run}`);
    return steps.filter(({ state }) => state === 'queued').map(({ id }) => id);
  };
  await expect.poll(queued).toHaveLength(1);
  const [last] = await queued();
  await page.goto(`/runs/${run}?step=${last}`);
  const detail = page.locator('.step-detail');
  await expect(detail.locator('strong')).toHaveText(last!);
  await expect(detail.locator('.state')).toHaveText('Queued');
  await expect(detail).toContainText(/Waits for its turn: .* It starts when one of them ends\.\s*So far \d/);
  await shoot(page, 'run-waits-for-its-turn');
  await cancel(page);
  await expectTab(page, 'cancelled', 'queue');
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

test('a retrying step tells the reason and its next attempt @full', async ({ page, request }) => {
  await login(page);
  await fault(request, { call: { service: 'network', method: 'POST', path: '/v2.0/networks*', status: 503 } });
  const template = 'heat_template_version: 2021-04-16\nresources:\n  net: {type: OS::Neutron::Net}\n';
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'retrying', template });
  await page.goto(`/runs/${run}`);
  const net = page.locator('[data-step="net:create"]');
  await expect(net.locator('.step-note')).toContainText(/Attempt \d (in \d+ s|follows) · \S/, { timeout: 60_000 });
  await shoot(page, 'run-retrying');
  await clearFaults(request);
  await ended(page, run);
  await net.click();
  const attempts = page.locator('.step-detail').getByRole('group');
  await attempts.getByText(/earlier attempts? failed/).click();
  await expect(attempts).toContainText(/Attempt 1 after \S.*: \S/);
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

test('a failure shows what came before it, and what did not start because of it', async ({ page, request }) => {
  await login(page);
  const refusal = '{"NeutronError": {"type": "Odd", "message": "not today"}}';
  await fault(request, { call: { service: 'network', method: 'POST', path: '/v2.0/subnets*', status: 400, body: refusal } });
  const template = `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.61.0.0/24}
  port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: subnet}}]}
`;
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'chained', template });
  await page.goto(`/runs/${run}`);
  const cause = page.getByTestId('cause');
  await expect(cause).toContainText('not today', { timeout: 60_000 });
  const chain = cause.getByTestId('chain');
  await expect(chain).toContainText('The step that it waited for succeeded.');
  await expect(chain).toContainText('Not started because of it');
  await chain.getByRole('button', { name: 'port:create' }).click();
  await expect(page.locator('.step-detail strong')).toHaveText('port:create');
  await expect(cause.getByRole('link', { name: 'Roll back' }), 'nothing was complete before').toHaveCount(0);
  await expect(page.getByRole('main'), 'names stand as code, not in backticks').not.toContainText('`');
  await shoot(page, 'run-chain');
  await clearFaults(request);
  await cause.getByRole('button', { name: 'Resume: try subnet:create again' }).click();
  // In the API, the run can still be the failed one for a moment.
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded', { timeout: 60_000 });
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

test('the timeline follows a run until somebody scrolls, and again when it is asked @full', async ({ page, request }) => {
  await login(page);
  const pauses = Array.from({ length: 40 }, (_, at) => {
    const after = at > 0 ? `, depends_on: pause${at - 1}` : '';
    return `  pause${at}: {type: OS::Heat::Delay, properties: {min_wait: 1}${after}}`;
  });
  const template = `heat_template_version: 2021-04-16\nresources:\n${pauses.join('\n')}\n`;
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'followed', template });
  await page.goto(`/runs/${run}`);
  await page.getByRole('button', { name: 'Timeline' }).click();
  const timeline = page.getByRole('group', { name: 'Timeline' });
  const follow = page.locator('.timeline-frame').getByRole('button', { name: 'Follow' });
  const top = () => timeline.evaluate(({ scrollTop }) => scrollTop);
  await expect.poll(top, { timeout: 90_000 }).toBeGreaterThan(50);
  await expect(follow).toBeHidden();
  await timeline.hover();
  await page.mouse.wheel(0, -5000);
  await expect(follow).toBeVisible();
  await expect.poll(top).toBe(0);
  await follow.click();
  await expect.poll(top).toBeGreaterThan(50);
  await ended(page, run);
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

/** Cancels the run that the page shows. */
async function cancel(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
}

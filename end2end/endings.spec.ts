// Runs that fail or pause, and the actions available then.
import { readFile } from 'node:fs/promises';
import { expect, test, type Page } from '@playwright/test';
import { api, canvasReady, login, node, shoot } from './support/app.ts';
import { accessible } from './support/axe.ts';
import { clearFaults, fault, remove } from './support/lab.ts';
import { ended, expectTab } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
`;

interface Started {
  deployment: string;
  run: string;
}

test.afterEach(async ({ request }) => clearFaults(request));

/** Waits for a state in the header of the run's page. */
async function ends(page: Page, state: string): Promise<void> {
  await expect(page.getByRole('main').locator('header').locator(`[data-state="${state}"]`).first()).toBeVisible({ timeout: 60_000 });
}

test('a session that ends in mid-run pauses it, and a resume goes on', async ({ page, request }) => {
  await login(page);
  await fault(request, { call: { service: 'network', method: 'POST', path: '/v2.0/networks*', status: 401 } });
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'paused', template });
  await page.goto(`/runs/${run}`);
  await ends(page, 'paused');
  await expect(page.getByText('Your session with the cloud has ended. Log in again, then resume')).toBeVisible();
  await expect(page.getByTestId('cause').getByRole('button', { name: 'Undeploy' })).toBeEnabled();
  await page.locator('[data-step="front:create"]').click();
  await expect(page.locator('.step-detail')).toContainText('Waits for you: the run is paused. Log in again, then resume.');
  await shoot(page, 'run-paused');
  await page.goto('/deployments');
  const row = page.locator('[data-deployment="paused"]');
  await expect(row.locator('.state').filter({ hasText: 'Paused' }), 'its state and its last run').toHaveCount(2);
  await page.goto(`/deployments/${deployment}`);
  await expect(page.locator('.deployment-line')).toContainText('Paused');
  await expect(page.getByRole('note').filter({ hasText: 'The run is paused.' })).toBeVisible();
  await page.getByRole('link', { name: 'Watch the run' }).click();

  await clearFaults(request);
  await page.getByRole('button', { name: 'Resume' }).first().click();
  await ends(page, 'succeeded');
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await page.goto(`/runs/${gone.run}`);
  await ends(page, 'succeeded');
  expect(await leftovers(request)).toEqual({});
});

test('a failed run that is resumed goes on, on every page that shows it', async ({ page, context, request }) => {
  await login(page);
  const refusal = '{"NeutronError": {"type": "Odd", "message": "not today"}}';
  await fault(request, { call: { service: 'network', method: 'POST', path: '/v2.0/networks*', status: 400, body: refusal } });
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'again', template });
  const other = await context.newPage();
  for (const one of [page, other]) {
    await one.goto(`/runs/${run}`);
    await ends(one, 'failed');
    await expect(one.getByRole('main')).toContainText('not today');
    await expectTab(one, 'failed', 'again');
  }

  await clearFaults(request);
  await page.getByRole('button', { name: 'Resume' }).first().click();
  await ends(page, 'succeeded');
  // The other page looks for news when its tab is shown.
  await other.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
  for (const one of [page, other]) {
    await ends(one, 'succeeded');
    await expectTab(one, 'succeeded', 'again');
    await expect(one.getByRole('list', { name: 'Steps' }).locator('[data-state="failed"]')).toHaveCount(0);
    await expect(one.getByRole('list', { name: 'Steps' }).locator('[data-state="succeeded"]').first()).toBeVisible();
  }

  await test.step('the time between failure and resume is folded in the timeline', async () => {
    // As if the first network had been created half a day earlier.
    const earlier = (time: string): string => new Date(Date.parse(time) - 12.5 * 3_600_000).toISOString();
    await page.route(`**/api/v1/runs/${run}/events?*`, async (route) => {
      const response = await route.fetch();
      const events = (await response.json()) as { time: string; step?: string }[];
      const json = events.map((event) => (event.step === 'front:create' ? { ...event, time: earlier(event.time) } : event));
      await route.fulfill({ response, json });
    });
    await page.reload();
    await page.getByRole('button', { name: 'Timeline' }).click();
    await expect(page.locator('.timeline-gap')).toHaveAttribute('title', /^Nothing ran for 12:\d\d:\d\d$/);
    await expect(page.locator('.timeline-row')).not.toHaveCount(0);
  });

  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await other.goto(`/runs/${gone.run}`);
  await ends(other, 'succeeded');
  expect(await leftovers(request)).toEqual({});
});

test('a failed script shows its own last lines, is edited, and the update goes on to its end', async ({ page, request }) => {
  test.setTimeout(6 * 60_000);
  await login(page);
  const scripted = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.20.0.0/24}
  web:
    type: OS::Nova::Server
    metadata:
      stackloom: {public: true}
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  greet:
    type: Stackloom::Catalog::script
    properties:
      host: {get_resource: web}
      script: |
        seq 8000 | sed 's/^/number /'
        echo looking for the licence server
        sleep 1
        echo no route to licence.example >&2
        exit 3
`;
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'licence', template: scripted });
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'licence', design: design.id });
  await page.goto(`/runs/${run}`);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'failed', { timeout: 180_000 });
  const cause = page.getByTestId('cause');
  await expect(cause.locator('.cause-lines')).toHaveText(/looking for the licence server\s+no route to licence\.example/);
  await expect(cause.locator('.cause-reason')).toContainText('exit code 3');
  await expect(cause.getByTestId('chain')).toContainText('waited for succeeded');
  await shoot(page, 'run-cause');
  await accessible(page);
  await cause.getByRole('button', { name: 'Console log of web' }).click();
  await expect(page.getByRole('dialog', { name: 'Console of web' }).getByRole('log')).toContainText(/\S/);
  await page.keyboard.press('Escape');
  await page.locator('[data-step="web:ssh"]').click();
  await expect(page.getByRole('log')).toContainText(/SSH attempt \d+ failed: .*; \d+ s left/);

  await test.step('a search reaches lines that are not loaded', async () => {
    await page.goto(`/runs/${run}`);
    const log = page.getByRole('log');
    await expect(log).toContainText('no route to licence.example');
    const search = page.getByRole('searchbox', { name: 'Search the log' });
    await search.fill('Number 4711');
    await expect(page.locator('.log-hits')).toHaveText('1 of 1');
    await expect(log).not.toContainText('number 4711');
    await search.press('Enter');
    await expect(log.locator('[data-hit]')).toHaveText('number 4711');
    await search.fill('number 471');
    await expect(page.locator('.log-hits')).toHaveText('1 of 11');

    // A search that would go on for ever ends with its text.
    let asked = 0;
    await page.route(/search\?.*endless/, (route) => {
      asked += 1;
      return route.fulfill({ json: { lines: [], from: 2 } });
    });
    await search.fill('endless');
    await expect(page.locator('.log-hits')).toHaveText('searching…');
    await expect.poll(() => asked).toBeGreaterThan(2);
    await search.fill('number 471');
    await expect(page.locator('.log-hits')).toHaveText('1 of 11');
    const ended = asked;
    await search.fill('number 4711');
    await expect(page.locator('.log-hits')).toHaveText('1 of 1');
    expect(asked).toBe(ended);
    await search.fill('');
    await page.getByRole('button', { name: 'Follow' }).click();
  });

  await test.step('a link to a line far back opens the lines around it', async () => {
    const { lines } = await api<{ lines: { seq: number }[] }>(page, 'GET', `/runs/${run}/search?text=number%204711`);
    const far = lines[0]!.seq;
    // Another page in between: a change of the fragment alone loads nothing.
    await page.goto('about:blank');
    await page.goto(`/runs/${run}#L${far}`);
    const log = page.getByRole('log');
    const linked = log.locator(`[data-seq="${far}"]`);
    await expect(linked).toHaveAttribute('data-marked', 'true');
    await expect(linked).toBeInViewport();
    const height = () => log.evaluate((scroll) => scroll.scrollHeight);
    const around = await height();
    expect(around / 20, 'rows around the line, and not all up to the end').toBeLessThan(3000);

    await log.evaluate((scroll) => void (scroll.scrollTop = 0));
    await expect.poll(height, 'older lines').toBeGreaterThan(around);
    const shown = async () => {
      await log.evaluate((scroll) => void (scroll.scrollTop = scroll.scrollHeight));
      return log.innerText();
    };
    await expect.poll(shown, 'newer lines up to the end').toContain('no route to licence.example');
    await expect(page.getByRole('button', { name: 'Follow' })).toBeHidden();
  });

  await test.step('the log is filtered, folded, linked to and downloaded', async () => {
    const log = page.getByRole('log');
    const menu = page.getByRole('button', { name: 'Filter and times' });
    await menu.click();
    const times = page.getByRole('group', { name: 'Times' });
    for (const [choice, text] of [['Clock', /^\d\d:\d\d:\d\d/], ['Run', /^\+\d/], ['Step', /^\+\d/]] as const) {
      await times.getByRole('button', { name: choice }).click();
      await expect(log.locator('.log-time').first()).toHaveText(text);
    }
    const level = page.getByRole('group', { name: 'Level' });
    await level.getByRole('button', { name: 'Warnings, errors' }).click();
    await expect(log).not.toContainText('TASK');
    await expect(log).toContainText('no route to licence.example');
    await shoot(page, 'run-log-menu');
    await level.getByRole('button', { name: 'All' }).click();
    await page.getByRole('button', { name: 'Fold all plays' }).click();
    await expect(log).not.toContainText('TASK');
    const play = log.locator('.log-line', { hasText: 'PLAY [greet on web]' });
    await expect(play).toContainText(/\d( ms| s|:\d\d), .*\d+ changed, .*\d+ lines/);
    await shoot(page, 'run-log-plays');
    await play.getByRole('button', { name: 'Lines of the play' }).click();
    await expect(log).toContainText('TASK [script : Run the script]');
    await menu.click();
    await page.getByRole('button', { name: 'Fold all tasks' }).click();
    await expect(log).not.toContainText('looking for the licence server');
    const task = log.locator('.log-line', { hasText: 'TASK [script : Run the script]' });
    await expect(task).toContainText(/1 changed, \d+ lines/);
    await task.getByRole('button', { name: 'Lines of the task' }).press('Enter');
    await expect(log).toContainText('looking for the licence server');

    const line = log.locator('.log-line', { hasText: 'looking for the licence server' }).first();
    await line.locator('.log-time').click();
    await expect(line).toHaveAttribute('data-marked', 'true');
    const number = await line.getAttribute('data-seq');
    expect(new URL(page.url()).hash).toBe(`#L${number}`);
    await page.reload();
    await expect(page.getByRole('log').locator(`[data-seq="${number}"]`)).toHaveAttribute('data-marked', 'true');
    await expect(page.getByRole('log').locator(`[data-seq="${number}"]`)).toBeInViewport();

    const whole = page.getByRole('region', { name: 'Log of the run' });
    await page.getByRole('button', { name: 'Full window' }).click();
    const { height } = page.viewportSize()!;
    await expect.poll(() => whole.boundingBox()).toMatchObject({ x: 0, y: 0, height });
    await shoot(page, 'run-log-full');
    await page.keyboard.press('Escape');
    await expect(page.getByRole('button', { name: 'Full window' })).toHaveAttribute('aria-pressed', 'false');
    await page.getByRole('button', { name: 'Download the log' }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'As JSON lines' }).click();
    const file = await readFile(await (await downloading).path(), 'utf8');
    const lines = file.trim().split('\n').map((text) => JSON.parse(text) as { seq: number; step: string; stream: string; text: string });
    expect(lines.find((one) => one.seq === Number(number))).toMatchObject({ step: 'greet:configure', stream: 'stdout', text: 'looking for the licence server' });
  });

  await test.step('the failure leads to the property at fault', async () => {
    await cause.getByRole('link', { name: 'Edit script' }).click();
    await canvasReady(page);
    await expect(node(page, 'greet')).toHaveAttribute('data-selected', 'true');
    const script = page.getByRole('complementary', { name: 'Inspector' }).getByLabel('Script', { exact: true });
    await expect(script).toBeFocused();
    await script.fill((await script.inputValue()).replace('exit 3', 'exit 0'));
    const template = async () => (await api<{ template: string }>(page, 'GET', `/designs/${design.id}`)).template;
    await expect.poll(template, 'the edited design is saved').toContain('exit 0');
  });

  await test.step('update and continue', async () => {
    await page.goto(`/runs/${run}`);
    await cause.getByRole('link', { name: 'Update and continue' }).click();
    await expect(page).toHaveURL(new RegExp(`/designs/${design.id}/plan\\?deployment=${deployment}&version=\\d+$`));
    await page.getByRole('button', { name: 'Update', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'Update licence' })).toBeVisible({ timeout: 60_000 });
    await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded', { timeout: 180_000 });
    await expect(page.locator('[data-step="web:create"]'), 'the server is not made again').toHaveCount(0);
    await canvasReady(page);
    await expect(node(page, 'greet')).toContainText('Ready');
    await page.goto(`/deployments/${deployment}`);
    await expect(page.locator('.deployment-line')).toContainText('Deployed');
    await expect(page.locator('[data-resource="greet"]')).toContainText('Ready');
  });

  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
  expect(await leftovers(request)).toEqual({});
});

test('a cancelled run offers its resumption and the removal of what it made', async ({ page, request }) => {
  await login(page);
  const slow = `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  wait: {type: OS::Heat::Delay, depends_on: net, properties: {min_wait: 120}}
`;
  const { run } = await api<Started>(page, 'POST', '/deployments', { name: 'stopped', template: slow });
  await page.goto(`/runs/${run}`);
  await expect(page.locator('[data-step="net:create"]')).toHaveAttribute('data-state', 'succeeded', { timeout: 60_000 });
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
  await ends(page, 'cancelled');
  const card = page.getByTestId('cause');
  await expect(card).toContainText('The run was cancelled');
  await expect(card.getByRole('button', { name: 'Resume' })).toBeEnabled();
  await card.getByRole('button', { name: 'Undeploy' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Undeploy', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Undeploy stopped' })).toBeVisible();
  await ends(page, 'succeeded');
  expect(await leftovers(request)).toEqual({});
});

test('a failed run offers the removal of what it made, and its failed removal offers force', async ({ page, request }) => {
  await login(page);
  const refusal = '{"NeutronError": {"type": "Odd", "message": "not today"}}';
  await fault(request, { call: { service: 'network', method: 'POST', path: '/v2.0/subnets*', status: 400, body: refusal } });
  const half = `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.63.0.0/24}
`;
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'half', template: half });
  await page.goto(`/runs/${run}`);
  await ends(page, 'failed');
  const { resources } = await api<{ resources: { name: string; physical_id: string }[] }>(page, 'GET', `/deployments/${deployment}`);
  const net = resources.find(({ name }) => name === 'net')!.physical_id;
  await clearFaults(request);
  await fault(request, { call: { service: 'network', method: 'DELETE', path: `/v2.0/networks/${net}`, status: 409, body: '{"NeutronError": {"message": "it is in use"}}' } });

  const cause = page.getByTestId('cause');
  const question = page.getByRole('dialog', { name: 'Undeploy half?' });
  await cause.getByRole('button', { name: 'Undeploy', exact: true }).click();
  await expect(question).not.toContainText('stay in the cloud');
  await question.getByRole('button', { name: 'Undeploy', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Undeploy half' })).toBeVisible();
  await ends(page, 'failed');
  await expectTab(page, 'failed', 'half');
  await expect(cause).toContainText('it is in use');

  await cause.getByRole('button', { name: 'Force undeploy' }).click();
  await expect(question).toContainText('resources that cannot be removed stay in the cloud');
  await question.getByRole('button', { name: 'Force undeploy' }).click();
  await ends(page, 'succeeded');
  await page.goto(`/deployments/${deployment}`);
  await expect(page.locator('.deployment-line')).toContainText('Undeployed');

  await clearFaults(request);
  await remove(request, `/network/v2.0/networks/${net}`);
  expect(await leftovers(request)).toEqual({});
});

test('what the cloud does not let go is left by force, and named', async ({ page, request }) => {
  await login(page);
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'stuck', template });
  await page.goto(`/runs/${run}`);
  await ends(page, 'succeeded');
  const { resources } = await api<{ resources: { name: string; physical_id: string }[] }>(page, 'GET', `/deployments/${deployment}`);
  const back = resources.find(({ name }) => name === 'back')!.physical_id;
  await fault(request, { call: { service: 'network', method: 'DELETE', path: `/v2.0/networks/${back}`, status: 409, body: '{"NeutronError": {"message": "it is in use"}}' } });

  await page.goto(`/deployments/${deployment}`);
  await page.getByRole('button', { name: 'Undeploy', exact: true }).click();
  await page.getByRole('dialog', { name: 'Undeploy stuck?' }).getByRole('button', { name: 'Undeploy', exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await ends(page, 'failed');
  await expect(page.getByRole('main')).toContainText('it is in use');
  const cause = page.getByTestId('cause');
  await expect(cause).toContainText('Resume: removed resources are skipped');
  await expect(cause.getByRole('button', { name: 'Force undeploy' })).toBeEnabled();

  await page.goto(`/deployments/${deployment}`);
  await page.getByRole('button', { name: 'Force undeploy' }).click();
  const question = page.getByRole('dialog', { name: 'Undeploy stuck?' });
  await expect(question).toContainText('resources that cannot be removed stay in the cloud');
  await question.getByRole('button', { name: 'Force undeploy' }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await ends(page, 'succeeded');
  await expect(page.getByRole('main')).toContainText('back:delete');
  await expect(page.getByTestId('success'), 'not everything is removed').toHaveCount(0);
  await shoot(page, 'run-forced');

  await clearFaults(request);
  await remove(request, `/network/v2.0/networks/${back}`);
  expect(await leftovers(request)).toEqual({});
});

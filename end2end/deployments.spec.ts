// The list of deployments, and what a deployment offers at its end.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { api, login, openDesigns, shoot } from './support/app.ts';
import { clearFaults, fault } from './support/lab.ts';
import { ended, endedAs } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

interface Started {
  deployment: string;
  run: string;
}

const template = `heat_template_version: 2021-04-16
resources:
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
outputs:
  address: {value: {get_attr: [address, floating_ip_address]}}
  page: {value: {str_replace: {template: "http://it/", params: {it: {get_attr: [address, floating_ip_address]}}}}}
`;

const word = 'heat_template_version: 2021-04-16\nresources: {word: {type: OS::Heat::RandomString}}\n';

test.afterEach(async ({ request }) => clearFaults(request));

/** The addresses of the icons that are shown without a drawing. */
async function blankIcons(part: Locator): Promise<(string | null)[]> {
  return part.locator('svg.icon use').evaluateAll((uses) => {
    const isBlank = (use: Element) => {
      const { width, height } = (use as SVGUseElement).getBBox();
      return use.checkVisibility() && width === 0 && height === 0;
    };
    return uses.filter(isBlank).map((use) => use.getAttribute('href'));
  });
}

test('a list that could not be loaded comes back with the network', async ({ page, context }) => {
  await login(page);
  const list = '**/api/v1/deployments?*';
  await page.route(list, (route) => route.abort('internetdisconnected'));
  await page.goto('/deployments');
  await expect(page.getByText('No connection to the server')).toBeVisible();
  await context.setOffline(true);
  await page.unroute(list);
  const asked = page.waitForResponse((response) => response.url().includes('/api/v1/deployments?'));
  await context.setOffline(false);
  expect((await asked).ok()).toBe(true);
  await expect(page.getByText('No connection to the server')).toHaveCount(0);
});

// Routes of a page switch the browser's cache off, so this test has none.
test('icons that first come up offline are drawn', async ({ page, context }) => {
  await login(page);
  await openDesigns(page);
  await context.setOffline(true);
  await page.keyboard.press('Control+k');
  const commands = page.getByRole('dialog', { name: 'Commands' });
  await expect(commands.locator('svg.icon').first()).toBeVisible();
  await expect.poll(() => blankIcons(commands)).toEqual([]);
});

/** Answers requests for a list with these rows, in pages. */
async function answerWith(page: Page, list: string, rows: object[]): Promise<void> {
  await page.route(list, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [offset, limit] = [Number(query.get('offset')), Number(query.get('limit'))];
    return route.fulfill({ json: rows.slice(offset, offset + limit) });
  });
}

test('a list of 1,000 deployments shows its first rows, and searches all', async ({ page }) => {
  await login(page);
  const { run, deployment } = await api<Started>(page, 'POST', '/deployments', { name: 'one', template: word });
  await ended(page, run);
  const listed = await api<{ id: string }[]>(page, 'GET', '/deployments');
  const one = listed.find(({ id }) => id === deployment)!;
  const many = Array.from({ length: 1000 }, (_, at) => ({ ...one, id: `${one.id}-${at}`, name: `many-${at}` }));
  await answerWith(page, '**/api/v1/deployments?*', many);
  await page.goto('/deployments');
  const rows = page.locator('[data-deployment]');
  await expect(rows).toHaveCount(50);
  await expect(page.getByText('50 of 1000 are shown')).toBeVisible();
  await page.getByRole('button', { name: 'Show 50 more' }).focus();
  await page.keyboard.press('Enter');
  await expect(rows).toHaveCount(100);
  await expect(page.getByRole('button', { name: 'Show 50 more' })).toBeFocused();
  await page.getByRole('searchbox', { name: 'Search deployments' }).fill('many-999');
  await expect(rows).toHaveCount(1);
  await expect(page.getByRole('button', { name: /^Show/ })).toHaveCount(0);
  await page.getByRole('searchbox', { name: 'Search deployments' }).fill('xyzzy');
  await expect(page.getByRole('status').filter({ hasText: 'No deployment matches.' }), 'screen readers are told').toBeVisible();
  await page.getByRole('searchbox', { name: 'Search deployments' }).fill('');
  await expect(rows).toHaveCount(50);
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
});

test('a deployment with hundreds of runs shows the newest ones first, and the others when asked', async ({ page }) => {
  await login(page);
  const { run, deployment } = await api<Started>(page, 'POST', '/deployments', { name: 'old', template: word });
  await ended(page, run);
  const [one] = await api<{ created: string }[]>(page, 'GET', `/deployments/${deployment}/runs`);
  const at = (index: number) => new Date(Date.parse(one!.created) - index * 60_000).toISOString();
  const many = Array.from({ length: 620 }, (_, index) => ({ ...one, id: `run-${index}`, created: at(index) }));
  await answerWith(page, `**/api/v1/deployments/${deployment}/runs?*`, many);
  await page.goto(`/deployments/${deployment}`);
  const runs = page.getByRole('region', { name: 'Runs' });
  await expect(runs.locator('[data-run]')).toHaveCount(50);
  await expect(runs.getByText('50 of 620 are shown')).toBeVisible();
  await expect(runs.locator('[data-run="run-0"]')).toBeVisible();
  await runs.getByRole('button', { name: 'Show 50 more' }).click();
  await expect(runs.locator('[data-run="run-99"]')).toBeVisible();
  await expect(runs.locator('[data-run]')).toHaveCount(100);
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run);
});

test('a deployment outlives its design', async ({ page }) => {
  await login(page);
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'short-lived', template: word });
  const { run, deployment } = await api<Started>(page, 'POST', '/deployments', { name: 'orphan', design: design.id });
  await ended(page, run);
  expect((await page.request.delete(`/api/v1/designs/${design.id}`)).ok()).toBe(true);
  await page.goto('/deployments');
  await expect(page.locator('[data-deployment="orphan"]')).toBeVisible();
  const later = await api<Started>(page, 'POST', '/deployments', { name: 'later', template: word });
  await ended(page, later.run);
  // The page reads the list again when its tab is shown.
  await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
  await expect(page.locator('[data-deployment="later"]'), 'what somebody else has deployed').toBeVisible();
  await page.locator('[data-deployment="orphan"]').getByRole('link', { name: 'orphan' }).click();
  await expect(page.getByRole('heading', { name: 'orphan' })).toBeVisible();
  await expect(page.locator('[data-resource="word"]')).toBeVisible();
  for (const one of [deployment, later.deployment]) {
    const gone = await api<Started>(page, 'DELETE', `/deployments/${one}`);
    await ended(page, gone.run);
  }
});

test('the list has states, addresses and last runs, a search and a filter', async ({ page, request }) => {
  await login(page);
  const design = await api<{ id: string }>(page, 'POST', '/designs', { name: 'reachable', template });
  const good = await api<Started>(page, 'POST', '/deployments', { name: 'reachable', design: design.id });
  await ended(page, good.run);
  await fault(request, { call: { service: 'network', method: 'POST', path: '/v2.0/floatingips*', status: 400, body: '{"NeutronError": {"message": "not today"}}' } });
  const bad = await api<Started>(page, 'POST', '/deployments', { name: 'unlucky', template });
  await endedAs(page, bad.run, 'failed');
  await clearFaults(request);
  const { outputs } = await api<{ outputs: Record<string, { value: string }> }>(page, 'GET', `/deployments/${good.deployment}`);
  const address = outputs.address!.value;

  await page.goto('/deployments');
  const row = (name: string) => page.locator(`[data-deployment="${name}"]`);
  await expect(row('reachable')).toContainText(address);
  await expect(row('reachable')).toContainText('Deployed');
  await expect(row('unlucky').getByRole('link', { name: 'Deploy', exact: true })).toHaveAttribute('href', `/runs/${bad.run}`);
  await shoot(page, 'deployments');

  const states = page.getByRole('group', { name: 'State' });
  await states.getByRole('button', { name: /^Failed/ }).click();
  await expect(row('reachable')).toHaveCount(0);
  await expect(row('unlucky')).toBeVisible();
  await states.getByRole('button', { name: /^Live/ }).click();
  await page.getByRole('searchbox', { name: 'Search deployments' }).fill(address);
  await expect(row('reachable')).toBeVisible();
  await expect(row('unlucky')).toHaveCount(0);

  await test.step('the page of the run that succeeded opens its output', async () => {
    await page.goto(`/runs/${good.run}`);
    const card = page.getByTestId('success');
    await expect(card).toContainText('Deploy succeeded');
    await expect(card.locator('[data-output="address"]')).toContainText(address);
    await expect(card.locator('[data-output="page"]').getByRole('link', { name: 'Open' })).toHaveAttribute('href', `http://${address}/`);
    await shoot(page, 'run-succeeded');
  });

  await test.step('after an undeploy its design can be deployed again', async () => {
    for (const { deployment } of [good, bad]) {
      const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
      await ended(page, gone.run);
    }
    await page.goto(`/deployments/${good.deployment}`);
    await expect(page.getByRole('note').filter({ hasText: 'It is undeployed.' })).toContainText('what was deployed last');
    await page.getByRole('link', { name: 'Deploy again' }).click();
    await expect(page).toHaveURL(new RegExp(`/designs/${design.id}/plan\\?version=\\d+$`));
    await page.goto('/deployments');
    await expect(row('reachable')).toHaveCount(0);
    await states.getByRole('button', { name: /^Undeployed/ }).click();
    await expect(row('reachable')).toBeVisible();
  });

  await test.step('what is undeployed is removed, alone or with all others', async () => {
    await row('unlucky').getByRole('link', { name: 'unlucky' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByRole('dialog', { name: 'Remove unlucky?' }).getByRole('button', { name: 'Remove', exact: true }).click();
    await expect(page).toHaveURL('/deployments');
    await states.getByRole('button', { name: /^Undeployed/ }).click();
    await expect(row('reachable')).toBeVisible();
    await expect(row('unlucky')).toHaveCount(0);
    await page.getByRole('button', { name: 'Remove these' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
    await expect(row('reachable')).toHaveCount(0);
    expect((await page.request.get(`/api/v1/runs/${good.run}`)).status()).toBe(404);
  });
  expect(await leftovers(request)).toEqual({});
});

// Outputs of a deployment, whose secrets are covered, and its resources as the cloud has them.
import { expect, test } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { ended } from './support/runs.ts';

const template = `heat_template_version: 2021-04-16
resources:
  random: {type: OS::Heat::RandomString, properties: {length: 20}}
outputs:
  fixed: {value: no secret}
  password: {value: {get_attr: [random, value]}}
`;

interface Started {
  deployment: string;
  run: string;
}

test('a secret output is covered, copied without being shown, and shown on request', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await login(page);
  const started = await api<Started>(page, 'POST', '/deployments', { name: 'covered', template });
  await page.goto(`/runs/${started.run}`);
  await expect(page.getByTestId('success')).toContainText('Deploy succeeded', { timeout: 60_000 });
  const { outputs } = await api<{ outputs: Record<string, { value: string; secret?: boolean }> }>(page, 'GET', `/deployments/${started.deployment}`);
  const { value, secret } = outputs.password!;
  expect(secret).toBe(true);

  for (const address of [`/runs/${started.run}`, `/deployments/${started.deployment}`]) {
    await test.step(address, async () => {
      await page.goto(address);
      const output = page.locator('[data-output="password"]');
      await expect(page.locator('[data-output="fixed"]')).toContainText('no secret');
      await expect(output.getByRole('img', { name: 'Covered secret' })).toBeVisible();
      expect(await page.content()).not.toContain(value);
      await shoot(page, address.startsWith('/runs') ? 'run-secret-output' : 'deployment-secret-output');

      await page.evaluate(() => navigator.clipboard.writeText('nothing'));
      await output.getByRole('button', { name: 'Copy password' }).click();
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(value);
      await expect(output.getByRole('img', { name: 'Covered secret' })).toBeVisible();

      await output.getByRole('button', { name: 'Show password' }).click();
      await expect(output).toContainText(value);
      await output.getByRole('button', { name: 'Hide password' }).click();
      await expect(output).not.toContainText(value);
    });
  }
  const gone = await api<Started>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
});

test('the resources have the state and the addresses that the cloud tells', async ({ page }) => {
  await login(page);
  const resources = 'heat_template_version: 2021-04-16\nresources:\n  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}\n  disk: {type: OS::Cinder::Volume, properties: {size: 1}}\n  net: {type: OS::Neutron::Net}\n  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.7.0/24}}\n  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}\n  rules: {type: OS::Neutron::SecurityGroup}\n';
  const started = await api<Started>(page, 'POST', '/deployments', { name: 'told', template: resources });
  await ended(page, started.run);
  const live = await api<{ resources: { name: string; addresses?: string[] }[] }>(page, 'GET', `/deployments/${started.deployment}/live`);
  const address = live.resources.find(({ name }) => name === 'address')?.addresses?.[0] ?? '';
  expect(address).toMatch(/^\d+(\.\d+){3}$/);
  await page.goto(`/deployments/${started.deployment}`);
  const row = (name: string) => page.locator(`[data-resource="${name}"]`);
  await expect(row('address')).toContainText('DOWN');
  await expect(row('address')).toContainText(address);
  await expect(row('disk')).toContainText('available');
  await expect(row('net')).toContainText('ACTIVE');
  await expect(row('sub')).toContainText('10.0.7.0/24');
  await expect(row('port')).toContainText(/DOWN\s*10\.0\.7\.\d+/);
  // A security group has neither.
  await expect(row('rules').locator('.server-live')).toHaveCount(0);
  await shoot(page, 'deployment-live');

  await test.step('while the cloud cannot be asked, the page says so and keeps what it knows', async () => {
    const states = `**/api/v1/deployments/${started.deployment}/live`;
    const problem = { type: '/errors/unavailable', title: 'Not available', status: 503, code: 'unavailable', detail: 'It does not list its networks in time.' };
    await page.route(states, (route) => route.fulfill({ status: 503, json: problem }));
    const note = page.getByRole('status').filter({ hasText: 'The states and addresses may be out of date.' });
    // The page asks every 15 seconds.
    await expect(note).toContainText(problem.detail, { timeout: 30_000 });
    await expect(row('net')).toContainText('ACTIVE');
    await shoot(page, 'deployment-live-unknown');
    await page.unroute(states);
    await expect(note).toHaveCount(0, { timeout: 30_000 });
  });

  await test.step('a service that fails is named beside the states of the others', async () => {
    const resources = live.resources.filter(({ name }) => name !== 'disk');
    const failed = [{ service: 'block-storage', reason: 'the block-storage service did not answer in time' }];
    await page.route(`**/api/v1/deployments/${started.deployment}/live`, (route) => route.fulfill({ json: { resources, failed } }));
    await page.reload();
    const note = page.getByRole('status').filter({ hasText: 'The block-storage service does not report the states of its resources' });
    await expect(note).toContainText(failed[0]!.reason);
    await expect(row('net')).toContainText('ACTIVE');
    await expect(row('disk').locator('.server-live')).toHaveCount(0);
    await shoot(page, 'deployment-live-partly');
  });
  const gone = await api<Started>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
});

// The console of a server on the page of its deployment, its state in the cloud, and its power.
import { expect, test } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { clearFaults, fault } from './support/lab.ts';
import { ended } from './support/runs.ts';

const template = `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.7.0.0/24}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
`;

test.afterEach(async ({ request }) => clearFaults(request));

test('the console of a server is one click away, and says why there is no screen', async ({ page, request }) => {
  await login(page);
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'silent', template });
  await ended(page, started.run);
  await page.goto(`/deployments/${started.deployment}`);

  await expect(page.getByRole('button', { name: /^Terminal on web\. No terminal: the deployment has no bastion/ })).toBeDisabled();

  await page.getByRole('button', { name: 'Console of web' }).click();
  const dialog = page.getByRole('dialog', { name: 'Console of web' });
  await expect(dialog.getByRole('log')).toContainText(/\S/);
  await shoot(page, 'console');

  await dialog.getByRole('button', { name: 'Graphical console' }).click();
  await expect(dialog.getByRole('status')).toContainText('Unavailable console type novnc');
  await shoot(page, 'console-refused');
  await page.emulateMedia({ colorScheme: 'dark' });
  await shoot(page, 'console-dark');
  await page.emulateMedia({ colorScheme: 'light' });

  const consoles = (protocol: string, type: string, url: string) => {
    const body = JSON.stringify({ remote_console: { protocol, type, url } });
    return fault(request, { call: { service: 'compute', method: 'POST', path: '/v2.1/servers/*/remote-consoles', status: 200, body } });
  };
  await test.step('a serial console is an address', async () => {
    await consoles('serial', 'serial', 'ws://console.example:6083/?token=abc');
    await dialog.getByRole('button', { name: 'Graphical console' }).click();
    await expect(dialog.getByRole('status')).toContainText('ws://console.example:6083/?token=abc');
    await expect(dialog.getByRole('button', { name: 'Copy the address of the serial console' })).toBeVisible();
    await clearFaults(request);
  });

  await test.step('the screen is a link where the cloud has one', async () => {
    const url = 'https://console.example/vnc_auto.html?path=%3Ftoken%3Dabc';
    await consoles('vnc', 'novnc', url);
    await dialog.getByRole('button', { name: 'Graphical console' }).click();
    await expect(dialog.getByRole('link', { name: 'Show the screen in a new tab' })).toHaveAttribute('href', url);
    await expect(dialog.getByRole('status')).toHaveCount(0);
  });
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await page.getByRole('button', { name: 'Console of web' }).click();
  // The buttons are below the log, which is read anew.
  await expect(dialog.getByRole('log')).toContainText(/\S/);
  await dialog.getByRole('button', { name: 'Close' }).click();

  await test.step('the server is stopped and started again', async () => {
    const row = page.locator('[data-resource="web"]');
    await expect(row).toContainText('10.7.0.');
    await expect(row).toContainText('ACTIVE');
    await row.getByRole('button', { name: 'Power of web' }).click();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Stop web?' });
    await expect(question).toContainText('Its disks and addresses stay.');
    await question.getByRole('button', { name: 'Stop' }).click();
    await expect(row).toContainText('SHUTOFF', { timeout: 60_000 });
    await row.scrollIntoViewIfNeeded();
    await shoot(page, 'server-stopped');
    await row.getByRole('button', { name: 'Power of web' }).click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await expect(row).toContainText('ACTIVE', { timeout: 60_000 });
  });

  await test.step('the list counts the server, and tells its age', async () => {
    await page.goto('/deployments');
    const row = page.locator('[data-deployment="silent"]');
    await expect(page.getByRole('columnheader')).toHaveText(['Name', 'State', 'Check', 'Servers', 'Addresses', 'Last run', 'Age', 'By']);
    const cell = (column: number) => row.getByRole('cell').nth(column);
    await expect(cell(3)).toHaveText('1');
    await expect(cell(5)).toContainText('Deploy');
    await expect(cell(6)).toHaveText(/^(just now|\d+ min ago)$/);
  });

  const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
});

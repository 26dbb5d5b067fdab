// A command on the servers of a deployment: the dialog, the live run, and a server that fails.
import { expect, test } from '@playwright/test';
import { api, login, shoot, watchConsole } from './support/app.ts';
import { ended } from './support/runs.ts';

const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.32.0.0/24}}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, user_data_format: SOFTWARE_CONFIG, networks: [{network: {get_resource: front}}]}
  greet: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: echo hello}}
  greeted: {type: OS::Heat::SoftwareDeployment, properties: {config: {get_resource: greet}, server: {get_resource: web}}}
`;

interface Started {
  deployment: string;
  run: string;
}

test('a command runs on chosen servers, and the run names the one that failed', async ({ page }) => {
  test.setTimeout(15 * 60_000);
  const complaints = watchConsole(page);
  await login(page);
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'commands', template });
  await ended(page, run);

  await page.goto(`/deployments/${deployment}`);
  await page.getByRole('button', { name: 'Run a command' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run a command' });
  const start = dialog.getByRole('button', { name: 'Run', exact: true });

  await test.step('what is typed stays while a change of the deployment ends', async () => {
    const script = dialog.getByLabel('Script', { exact: true });
    await script.fill('uptime');
    const wider = `${template}  side: {type: OS::Neutron::Net}\n`;
    const update = await api<Started>(page, 'PUT', `/deployments/${deployment}`, { name: 'commands', template: wider });
    await ended(page, update.run);
    // The page reads the deployment again when its tab is shown.
    await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')));
    await expect(page.locator('[data-resource="side"]')).toBeVisible();
    await expect(script).toHaveValue('uptime');
    await script.fill('');
  });

  await test.step('the dialog asks for a script and servers', async () => {
    await expect(start).toBeDisabled();
    await dialog.getByLabel('Script', { exact: true }).fill('echo "greetings from $(hostname)"\ncase $(hostname) in *web) echo no disk >&2; exit 3 ;; esac');
    await expect(start).toBeEnabled();
    const all = dialog.getByRole('checkbox', { name: 'All servers' });
    await expect(all).toBeChecked();
    await all.uncheck();
    await expect(start).toBeDisabled();
    await dialog.getByRole('checkbox', { name: 'web' }).check();
    await dialog.getByRole('checkbox', { name: 'gate' }).check();
    await expect(all).toBeChecked();
    await dialog.getByLabel('Title').fill('Greet');
    await shoot(page, 'command');
    await page.emulateMedia({ colorScheme: 'dark' });
    await shoot(page, 'command-dark');
    await page.emulateMedia({ colorScheme: 'light' });
  });

  let command = '';
  await test.step('the run page shows the output live, and what failed', async () => {
    await start.click();
    await expect(page).toHaveURL(/\/runs\//);
    command = page.url();
    await expect(page.getByRole('note').filter({ hasText: 'the newest is' })).toHaveCount(0);
    await expect(page.getByRole('heading', { level: 1 })).toContainText('commands');
    await expect(page.getByText('greetings from commands-gate').first()).toBeVisible({ timeout: 120_000 });
    const cause = page.getByTestId('cause');
    await expect(cause).toContainText('the command failed on 1 of 2 servers: web', { timeout: 120_000 });
    await expect(cause.getByRole('button', { name: 'Resume' })).toHaveCount(0);
    await shoot(page, 'command-run');
    const log = page.getByRole('log', { name: 'Log' });
    await page.getByRole('button', { name: 'Filter and times' }).click();
    await page.getByRole('group', { name: 'Only these servers' }).getByRole('checkbox', { name: 'web', exact: true }).check();
    await expect(log).toContainText('greetings from commands-web');
    await expect(log).not.toContainText('greetings from commands-gate');
    await page.keyboard.press('Escape');
  });

  await test.step('the deployment stays deployed, and lists the command', async () => {
    await page.goto(`/deployments/${deployment}`);
    await expect(page.getByRole('link', { name: 'Command: Greet' })).toBeVisible();
    await expect(page.locator('.deployment-line')).toContainText('Deployed');
  });
  expect(complaints).toEqual([]);

  const removal = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, removal.run);

  await test.step('after a change of the deployment, the page of the command shows the past', async () => {
    await page.goto(command);
    const note = page.getByRole('note').filter({ hasText: 'Run 3 of 4; the newest is' });
    await expect(note.getByRole('link', { name: 'Undeploy by demo' })).toHaveAttribute('href', `/runs/${removal.run}`);
  });
});

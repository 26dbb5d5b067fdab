// A template of several files: opened together, edited on the canvas, deployed, inspected, undeployed.
import { expect, test, type Page } from '@playwright/test';
import { api, canvasReady, login, node, openDesigns, shoot, watchConsole } from './support/app.ts';
import { pasteOver, readCode, textOf } from './support/code.ts';
import { add, inspect, saved } from './support/draw.ts';
import { leftovers } from './support/tidy.ts';

const site = `heat_template_version: 2021-04-16
description: Three servers in front, a database behind.
parameters:
  tier:
    type: string
    label: Tier
    description: How much of it is made.
    default: full
    constraints: [{allowed_values: [small, full]}]
  size: {type: number, label: Servers, constraints: [{range: {min: 1, max: 5}}]}
conditions:
  full: {equals: [{get_param: tier}, full]}
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.30.0.0/24}}
  spare: {type: OS::Neutron::Net, condition: {not: full}}
  # as many as the parameter says
  web:
    type: OS::Heat::ResourceGroup
    depends_on: subnet
    properties:
      count: {get_param: size}
      resource_def:
        type: OS::Nova::Server
        properties:
          name: web-%index%
          image: debian-12
          flavor: m1.tiny
          networks: [{network: {get_resource: net}}]
  db:
    type: db.yaml
    condition: full
    depends_on: subnet
    properties: {net: {get_resource: net}}
outputs:
  addresses: {value: {get_attr: [web, first_address]}}
  names: {value: {get_attr: [web, attributes, name]}}
  db: {condition: full, value: {get_attr: [db, address]}}
`;

const db = `heat_template_version: 2021-04-16
description: A database server.
parameters:
  net: {type: string, description: Where it stands.}
  flavor: {type: string, description: How large it is.}
resources:
  port: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}
  server:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: {get_param: flavor}, networks: [{port: {get_resource: port}}]}
outputs:
  address: {value: {get_attr: [server, first_address]}}
`;

const environment = `parameters: {size: 3}
parameter_defaults: {flavor: m1.tiny}
`;

const file = (name: string, text: string) => ({ name, mimeType: 'application/yaml', buffer: Buffer.from(text) });

test('a template of several files: opened, edited, deployed, undeployed', async ({ page, request }) => {
  test.setTimeout(10 * 60_000);
  const complaints = watchConsole(page);
  await login(page);

  await test.step('opened together, they are one design', async () => {
    await openDesigns(page);
    await page.getByLabel('HOT files').setInputFiles([file('small.yaml', environment), file('db.yaml', db), file('site.yaml', site)]);
    await expect(page).toHaveURL(/\/designs\/[^/]+$/);
    await canvasReady(page);
    const files = page.getByRole('region', { name: 'Files' });
    await expect(files.getByRole('listitem')).toHaveCount(2);
    await expect(files.getByRole('listitem').filter({ hasText: 'small.yaml' }).getByRole('checkbox')).toBeChecked();
    await expect(node(page, 'web').getByTestId('member-count')).toHaveText('×3');
  });

  await test.step('members stand in the inspector', async () => {
    const form = await inspect(page, 'web');
    const members = form.getByRole('region', { name: 'Members' });
    await expect(members).toContainText('Members (3)');
    await expect(node(page, 'spare'), 'its condition does not hold').toHaveAttribute('data-off', 'true');
    await expect(node(page, 'web')).not.toHaveAttribute('data-off', 'true');
  });

  await test.step('a group opens on the canvas', async () => {
    const count = node(page, 'web').getByRole('button', { name: /^Members/ });
    await count.click();
    await expect(node(page, 'web').getByRole('list', { name: 'Members' }).getByRole('listitem')).toHaveCount(3);
    await shoot(page, 'compose');
  });

  await test.step('a parameter of the nested template is a field, and the rest of the text stays', async () => {
    const form = await inspect(page, 'db');
    await form.getByLabel('Flavor', { exact: true }).fill('m1.small');
    await form.getByLabel('Flavor', { exact: true }).press('Tab');
    const text = await readCode(page);
    expect(text).toContain('flavor: m1.small');
    expect(text).toContain('# as many as the parameter says');
    await saved(page);
  });

  await test.step('a server is drawn beside them', async () => {
    const drawn = await add(page, 'Private server', { on: node(page, 'net'), x: 0.5, y: 0.9 });
    const form = await inspect(page, drawn);
    await form.getByLabel('Name', { exact: true }).fill('helper');
    await form.getByLabel('Name', { exact: true }).press('Tab');
    await form.getByLabel('Image', { exact: true }).selectOption('debian-12');
    await form.getByLabel('Flavor', { exact: true }).selectOption('m1.tiny');
    await saved(page);
    expect(await readCode(page)).toMatch(/helper:[\s\S]*get_resource: net/);
  });

  await test.step('a reload finds the files again', async () => {
    await page.reload();
    await canvasReady(page);
    await expect(node(page, 'web').getByTestId('member-count')).toHaveText('×3');
  });

  await test.step('plan and deploy', async () => {
    await page.getByRole('link', { name: 'Plan', exact: true }).click();
    await expect(page).toHaveURL(/\/plan\?version=\d+$/);
    const changes = page.getByRole('region', { name: 'Changes' });
    await expect(changes).toContainText('web/2');
    await expect(changes).toContainText('db/server');
    await expect(changes).toContainText('spare is left out: its condition does not hold');
    await expect(changes.locator('[data-change="helper"]')).toBeVisible();
    const tier = page.getByLabel('Tier', { exact: true });
    await tier.selectOption('small');
    await expect(changes).toContainText('db is left out: its condition does not hold');
    await tier.selectOption('full');
    await expect(changes).toContainText('db/server');
    await shoot(page, 'compose-plan');
    await page.getByLabel('Deployment name').fill('several');
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
    await ends(page);
    await expect(node(page, 'web').getByTestId('member-count')).toHaveText('×3');
    await node(page, 'web').getByRole('button', { name: /^Members/ }).click();
    await expect(node(page, 'web').locator('[data-member="web/0"]')).toContainText('Ready');
    await shoot(page, 'compose-run');
  });

  await test.step('the deployment says what it is', async () => {
    await page.getByRole('link', { name: 'Deployments' }).first().click();
    await page.getByRole('link', { name: 'several', exact: true }).first().click();
    await expect(page.locator('[data-output="addresses"]')).toContainText(/10\.30\.0\./);
    await expect(page.locator('[data-output="names"]')).toContainText('web-2');
    await expect(page.locator('[data-output="db"]')).toContainText(/10\.30\.0\./);
    await shoot(page, 'compose-deployment');
  });

  await test.step('undeployed, nothing is left', async () => {
    await page.getByRole('button', { name: 'Undeploy', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Undeploy', exact: true }).click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
    await ends(page);
    expect(await leftovers(request)).toEqual({});
  });
  expect(complaints).toEqual([]);
});

test('a file that is not there is missed where it is named, and can be added', async ({ page }) => {
  await login(page);
  await openDesigns(page);
  await page.getByLabel('HOT files').setInputFiles([file('site.yaml', site)]);
  await expect(page).toHaveURL(/\/designs\/[^/]+$/);
  await canvasReady(page);
  await expect(node(page, 'db')).toHaveAttribute('data-problem', 'error');
  await page.getByLabel('Files beside the template').setInputFiles([file('db.yaml', db), file('small.yaml', environment)]);
  await expect(node(page, 'db')).not.toHaveAttribute('data-problem', 'error');
  await saved(page);

  await test.step('a file is looked into, changed and renamed', async () => {
    const files = page.getByRole('region', { name: 'Files' });
    await files.getByRole('button', { name: 'db.yaml', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'File' });
    const content = dialog.getByRole('textbox', { name: 'Content' });
    expect(await textOf(content)).toBe(db);
    await shoot(page, 'file');
    await pasteOver(content, `${db}# looked at\n`);
    await dialog.getByLabel('Path').fill('lib/db.yaml');
    await dialog.getByRole('button', { name: 'Done' }).click();
    await saved(page);
    const id = new URL(page.url()).pathname.split('/').pop();
    const stored = await api<{ files: Record<string, string> }>(page, 'GET', `/designs/${id}`);
    expect(stored.files['lib/db.yaml']).toContain('# looked at');
    expect(stored.files['db.yaml']).toBeUndefined();
  });

  await test.step('a new file, and away with it', async () => {
    const files = page.getByRole('region', { name: 'Files' });
    await files.getByRole('button', { name: 'New file' }).click();
    await page.getByRole('dialog', { name: 'File' }).getByRole('button', { name: 'Done' }).click();
    await files.getByRole('button', { name: 'Remove nested.yaml' }).click();
    await expect(files.getByRole('listitem')).toHaveCount(2);
    await files.getByRole('button', { name: 'Remove lib/db.yaml' }).click();
    await expect(files.getByRole('listitem')).toHaveCount(1);
    await page.keyboard.press('Control+z');
    await expect(files.getByRole('listitem'), 'undo brings the file back').toHaveCount(2);
  });
});

/** Waits for the end of the run in the API, and on the page. */
async function ends(page: Page): Promise<void> {
  const run = new URL(page.url()).pathname.split('/').pop() ?? '';
  let last: { state: string; steps: { id: string; error?: string }[] } | undefined;
  await expect
    .poll(async () => {
      last = await api(page, 'GET', `/runs/${run}`);
      return ['succeeded', 'failed', 'cancelled', 'paused'].includes(last!.state);
    }, { timeout: 5 * 60_000, intervals: [500] })
    .toBe(true);
  const failed = last!.steps.filter((step) => step.error).map((step) => `${step.id}: ${step.error}`);
  expect(last!.state, failed.join('\n')).toBe('succeeded');
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');
}

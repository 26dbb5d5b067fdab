// Drawing a design with the mouse, filling in its forms, and editing in the code view.
import { expect, test } from '@playwright/test';
import { api, login, newDesign, node, openDesign, shoot, watchConsole } from './support/app.ts';
import { expectCode, readCode, typeCode } from './support/code.ts';
import { add, inspect, saved, tab } from './support/draw.ts';

interface Design {
  template: string;
  version: number;
}

test('two servers in a network, nginx on the private one', async ({ page }) => {
  const complaints = watchConsole(page);
  await login(page);
  const id = await newDesign(page);

  const network = await add(page, 'Network', { x: 0.35, y: 0.35 });
  const router = await add(page, 'Router', { x: 0.85, y: 0.15 });
  const front = await add(page, 'Public server', { on: node(page, network), x: 0.25, y: 0.6 });
  const web = await add(page, 'Private server', { on: node(page, network), x: 0.85, y: 0.6 });
  await tab(page, 'Catalogue');
  const nginx = await add(page, 'nginx', { on: node(page, web), x: 0.5, y: 0.5 });

  await test.step('image and flavor come from the cloud', async () => {
    for (const server of [front, web]) {
      const form = await inspect(page, server);
      await form.getByLabel('Image', { exact: true }).selectOption('debian-12');
      await form.getByLabel('Flavor', { exact: true }).selectOption('m1.small');
    }
  });
  await test.step('port and page text are fields', async () => {
    const form = await inspect(page, nginx);
    await form.getByLabel('Listen port', { exact: true }).fill('8080');
    await form.getByLabel('Page text', { exact: true }).fill('Hello from a form');
    await form.getByLabel('Page text', { exact: true }).press('Tab');
  });
  await test.step('the code view says the same', async () => {
    const text = await readCode(page);
    expect(text).toContain('Stackloom::Catalog::nginx');
    expect(text).toContain('Hello from a form');
    expect(text).toMatch(/listen_port: 8080/);
    expect(text).toMatch(new RegExp(`host: \\{\\s*get_resource: ${web}\\s*\\}|get_resource: ${web}`));
  });
  await test.step('an edit in the code view reaches the form', async () => {
    const text = await readCode(page);
    await typeCode(page, text.replace('Hello from a form', 'Hello from the code'));
    const form = await inspect(page, nginx);
    await expect(form.getByLabel('Page text', { exact: true })).toHaveValue('Hello from the code');
  });
  await saved(page);
  await shoot(page, 'design');

  await test.step('a reload finds it all again', async () => {
    const places = async () => (await node(page, network).boundingBox())?.width;
    const width = await places();
    await openDesign(page, id);
    for (const name of [network, router, front, web, nginx]) await expect(node(page, name)).toBeVisible();
    expect(await places()).toBe(width);
    const stored = await api<Design>(page, 'GET', `/designs/${id}`);
    expect(stored.template).toContain('Hello from the code');
  });
  expect(complaints).toEqual([]);
});

test('undo takes back what redo brings again', async ({ page }) => {
  await login(page);
  await newDesign(page);
  const network = await add(page, 'Network', { x: 0.4, y: 0.4 });
  await page.keyboard.press('Control+z');
  await expect(node(page, network)).toHaveCount(0);
  await page.keyboard.press('Control+Shift+z');
  await expect(node(page, network)).toBeVisible();
});

test('comments and order survive an edit on the canvas', async ({ page }) => {
  await login(page);
  const template = [
    'heat_template_version: 2021-04-16  # wallaby',
    'resources:',
    '  # the one in front',
    '  web:',
    '    properties: {flavor: m1.tiny, image: debian-12}   # small',
    '    type: OS::Nova::Server',
    '',
  ].join('\n');
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'comments', template });
  await openDesign(page, id);
  const form = await inspect(page, 'web');
  await form.getByLabel('Flavor', { exact: true }).selectOption('m1.small');
  await expectCode(page, template.replace('m1.tiny', 'm1.small'));
});

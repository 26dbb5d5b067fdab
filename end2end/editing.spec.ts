// Keyboard operation of the editor, and behaviour with invalid text, an expired session or no network.
import { expect, test, type Page, type Route } from '@playwright/test';
import { api, login, newDesign, node, nodeNames, openDesign, shoot } from './support/app.ts';
import { expectCode, pasteOver, readCode, textOf, typeCode } from './support/code.ts';
import { add, code, inspect, problems, saved } from './support/draw.ts';
import { broken, twoTier } from './support/templates.ts';

async function design(page: Page, name: string, template: string): Promise<string> {
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name, template });
  await openDesign(page, id);
  return id;
}

test('copied here, pasted here and in another design', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await login(page);
  await design(page, 'source', twoTier('copied'));
  await inspect(page, 'web');
  await page.keyboard.press('Control+c');
  await expect(page.getByText('Copied. Paste it here, or in another design.').first()).toBeVisible();
  await page.keyboard.press('Control+v');
  for (const name of ['web_2', 'nginx_2']) await expect(node(page, name)).toBeVisible();
  expect(await readCode(page)).toMatch(/nginx_2:[\s\S]*get_resource: web_2/);

  await newDesign(page);
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+v');
  await expect(node(page, 'web')).toBeVisible();
  await expect(node(page, 'nginx')).toBeVisible();
});

test('keys move, select, ask and save', async ({ page }) => {
  await login(page);
  await newDesign(page);
  const network = await add(page, 'Network', { x: 0.4, y: 0.4 });
  const server = await add(page, 'Private server', { on: node(page, network), x: 0.5, y: 0.6 });
  await inspect(page, network);
  const before = (await node(page, network).boundingBox())!;
  await page.keyboard.press('ArrowRight');
  await expect.poll(async () => (await node(page, network).boundingBox())!.x).toBeGreaterThan(before.x);
  await page.keyboard.press('Escape');
  await expect(node(page, network)).toHaveAttribute('data-selected', 'false');

  await page.keyboard.press('Control+a');
  for (const name of [network, server]) await expect(node(page, name)).toHaveAttribute('data-selected', 'true');
  await page.keyboard.press('Control+s');
  await expect(page.getByText('Saved. Designs are saved as you go.').first()).toBeVisible();
  const count = (await nodeNames(page)).length;
  await page.keyboard.press('Control+d');
  await expect.poll(async () => (await nodeNames(page)).length, 'everything is there twice').toBeGreaterThan(count);

  await inspect(page, network);
  await page.keyboard.press('Delete');
  const question = page.getByRole('dialog', { name: `Delete ${network}?` });
  await expect(question, 'servers on it lose their network, which is said first').toContainText('no longer on');
  await page.keyboard.press('Escape');
  await expect(node(page, network)).toBeVisible();
});

test('several servers are arranged and edited together, and one undo takes it back', async ({ page }) => {
  await login(page);
  const server = (name: string) => `  ${name}:\n    type: OS::Nova::Server\n    properties: {flavor: m1.small, image: debian-12, name: the-${name}}\n`;
  const template = `heat_template_version: 2021-04-16\nresources:\n${server('web')}${server('db')}  disk: {type: OS::Cinder::Volume, properties: {size: 1}}\n`;
  await design(page, 'several', template);
  const inspector = await inspect(page, 'web');
  await node(page, 'db').click({ modifiers: ['Shift'], position: { x: 12, y: 12 } });
  await expect(inspector.getByRole('heading', { name: '2 resources' })).toBeVisible();
  await inspector.getByRole('group', { name: 'Arrange' }).getByRole('button', { name: 'Align left' }).click();
  const left = async (name: string) => (await node(page, name).boundingBox())!.x;
  await expect.poll(async () => Math.abs((await left('web')) - (await left('db')))).toBeLessThan(1);

  const name = inspector.getByLabel('Name in the cloud', { exact: true });
  await expect(name).toHaveValue('');
  await expect(name).toHaveAttribute('placeholder', 'Several values');
  await name.fill('node');
  await expectCode(page, template.replace('the-web', 'node').replace('the-db', 'node'));
  await expect(name, 'the field stays and has the common value').toHaveValue('node');
  await node(page, 'web').focus();
  await page.keyboard.press('Control+z');
  await expectCode(page, template);

  await node(page, 'disk').click({ modifiers: ['Shift'], position: { x: 12, y: 12 } });
  await expect(inspector).toContainText('Select resources of one type to edit them together.');
});

test('what is too long is told as such and taken out again, and ten megabytes are not put in', async ({ page, context }) => {
  test.slow();
  const patient = { timeout: 90_000 };
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await login(page);
  await design(page, 'long', broken);
  const editor = await code(page);
  await page.evaluate((text) => navigator.clipboard.writeText(text), '# all work and no play\n'.repeat(460_000));
  await editor.focus();
  await page.keyboard.press('Control+v');
  await expect(page.getByText('Nothing was inserted').first()).toBeVisible();
  await expectCode(page, broken);

  const long = `${broken}${'# all work and no play\n'.repeat(40_000)}`;
  await pasteOver(editor, long);
  await expect(await problems(page, patient)).toContainText(/512 KiB|too (long|large)/i, patient);
  await expect(node(page, 'lonely'), 'the canvas shows what it was').toBeVisible(patient);
  await code(page, patient);
  expect((await textOf(editor)).length).toBe(long.length);
  await saved(page, patient);
  await pasteOver(editor, broken);
  await saved(page, patient);
});

test('a server that cannot save says why, and the design is saved when it can', async ({ page }) => {
  await login(page);
  await newDesign(page);
  const editor = await code(page);
  const mark = page.getByRole('status').filter({ hasText: 'Not saved yet' });
  for (const [status, name, detail] of [
    [503, 'disk-almost-full', 'The disk of the server is almost full.'],
    [429, 'project-busy', 'The project works on too many templates at once.'],
  ] as const) {
    const problem = { type: `/errors/${name}`, title: name, status, code: name, detail };
    const save = (route: Route) => (route.request().method() === 'PUT' ? route.fulfill({ status, json: problem }) : route.fallback());
    await page.route('**/api/v1/designs/*', save);
    await pasteOver(editor, `${await textOf(editor)}# ${name}\n`);
    await expect(mark).toHaveAttribute('title', `${detail} Your work is stored in this browser and saved as soon as the server can save it.`);
    await page.unroute('**/api/v1/designs/*', save);
    await saved(page);
  }
});

test('what is kept nowhere else is not left without a question', async ({ page, context }) => {
  await page.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new Error('full');
    };
  });
  const asked: string[] = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.message());
    void dialog.dismiss();
  });
  await login(page);
  await newDesign(page);
  const here = page.url();
  const editor = await code(page);
  await context.setOffline(true);
  const text = `${await textOf(editor)}# typed in a tunnel\n`;
  await pasteOver(editor, text);
  await expect(page.getByRole('status').filter({ hasText: 'Offline, will save' })).toBeVisible();

  const ways = {
    back: () => page.evaluate(() => history.back()),
    link: () => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Deployments' }).click(),
    palette: async () => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('Deployments');
      await page.keyboard.press('Enter');
    },
  };
  for (const [way, go] of Object.entries(ways)) {
    const before = asked.length;
    await go();
    await expect.poll(() => asked.length, way).toBe(before + 1);
    expect(asked.at(-1)).toContain('not saved');
    await expect(page).toHaveURL(here);
    await expectCode(page, text);
  }

  await context.setOffline(false);
  await saved(page);
  await ways.palette();
  await expect(page).toHaveURL(/\/deployments$/);
  await ways.back();
  await expect(page).toHaveURL(here);
  await expectCode(page, text);
  expect(asked.length).toBe(Object.keys(ways).length);
});

test('an alias bomb in the code view is an error with its place', async ({ page }) => {
  await login(page);
  await design(page, 'bomb', broken);
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]']
    .concat('bcdefghi'.split('').map((key, i) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(', ')}]`))
    .join('\n');
  await typeCode(page, bomb);
  await expect(await problems(page)).toContainText(/line \d+/);
  await expectCode(page, bomb);
});

test('a session that ends while one types costs nothing', async ({ page, context }) => {
  await login(page);
  const id = await design(page, 'typing on', twoTier('before'));
  await context.clearCookies();
  const editor = await code(page);
  const text = (await textOf(editor)).replace('before', 'typed after the session ended');
  await pasteOver(editor, text);
  const notice = page.getByRole('alert').filter({ hasText: 'Your session has ended' });
  await expect(notice).toContainText('stored in this browser');
  await shoot(page, 'session-ended');
  await notice.getByRole('link', { name: 'Log in' }).click();
  await expect(page).toHaveURL(/\/login\?next=/);
  await page.getByLabel('User', { exact: true }).fill('demo');
  await page.getByLabel('Password', { exact: true }).fill('demo');
  await page.getByLabel('Project', { exact: true }).fill('demo');
  await page.getByRole('button', { name: 'Log in', exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`/designs/${id}$`));
  await expectCode(page, text);
  await saved(page);
});

test('without a network the work waits, and goes when it is back', async ({ page, context }) => {
  await login(page);
  const id = await design(page, 'on a train', twoTier('before'));
  const editor = await code(page);
  await context.setOffline(true);
  const text = (await textOf(editor)).replace('before', 'typed in a tunnel');
  await pasteOver(editor, text);
  await expect(page.getByRole('status').filter({ hasText: 'Offline, will save' })).toBeVisible();
  await context.setOffline(false);
  await saved(page);
  expect((await api<{ template: string }>(page, 'GET', `/designs/${id}`)).template).toBe(text);
});

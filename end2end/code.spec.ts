// The code editor of the designer: what it knows of templates, and one text and one history with canvas and forms.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { api, login, node, openDesign, shoot, watchConsole } from './support/app.ts';
import { expectCode, paste, pasteOver, readCode } from './support/code.ts';
import { code, inspect, saved } from './support/draw.ts';

const template = `heat_template_version: 2021-04-16

parameters:
  size: {type: string, description: Size of the servers, default: m1.tiny}

resources:
  front:
    type: OS::Neutron::Net
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.enormous
      networks: [{network: {get_resource: front}}]
`;

async function design(page: Page, name: string): Promise<Locator> {
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name, template });
  await openDesign(page, id);
  return code(page);
}

/** Types a part of a word and takes the proposal. */
async function take(page: Page, typed: string, proposal: RegExp): Promise<void> {
  await page.keyboard.type(typed);
  await accept(page, proposal);
}

/** Takes the selected entry of the list at the caret. */
async function accept(page: Page, proposal: RegExp): Promise<void> {
  const option = page.getByRole('listbox').getByRole('option', { name: proposal }).first();
  await expect(option).toHaveAttribute('aria-selected', 'true');
  // The editor takes no proposal in the first moments of a list, when a key can still be meant for the text.
  const shown = await page.evaluate(() => performance.now());
  await page.waitForFunction((shown) => performance.now() - shown > 100, shown);
  await page.keyboard.press('Tab');
}

test('the editor proposes types, properties, values and references, and explains them', async ({ page }) => {
  const complaints = watchConsole(page);
  const scripts: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/pkg/editor.js')) scripts.push(request.url());
  });
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'proposals', template });
  await openDesign(page, id);
  expect(scripts, 'the editor is loaded when it is used').toEqual([]);
  const editor = await code(page);
  expect(scripts).toHaveLength(1);

  await test.step('a server is typed with proposals', async () => {
    await editor.press('ControlOrMeta+End');
    await page.keyboard.type('  back:');
    await page.keyboard.press('Enter');
    await take(page, 'ty', /^type/);
    await take(page, 'NovaServer', /^OS::Nova::Server(?!Group)/);
    await page.keyboard.press('Enter');
    await take(page, 'prop', /^properties/);
    await take(page, 'fla', /^flavor\b/);
    await take(page, 'get_p', /^get_param\b/);
    await take(page, 'si', /^size\b/);
    await page.keyboard.press('End');
    await expect.poll(() => readCode(page)).toMatch(/ {2}back:\n {4}type: OS::Nova::Server\n {4}properties:\n {6}flavor: \{ get_param: size \}$/);
    await page.keyboard.press('Enter');
    await page.keyboard.type('networks: [{network: {get_resource: ');
    await take(page, 'fro', /^front/);
    await page.keyboard.type('}}]');
    await expect(node(page, 'back'), 'typing draws it').toBeVisible();
  });
  await test.step('help is shown under the pointer', async () => {
    await editor.getByText('OS::Neutron::Net', { exact: true }).hover();
    await expect(page.getByRole('tooltip').or(page.locator('.cm-tooltip-hover'))).toContainText('Network');
    await shoot(page, 'code-help');
  });
  await test.step('a problem is marked in its place, and solved there', async () => {
    await page.mouse.move(0, 0);
    const wrong = editor.locator('.cm-lintRange-error', { hasText: 'm1.enormous' });
    await wrong.hover();
    const message = page.locator('.cm-tooltip-hover');
    await expect(message).toContainText('m1.enormous');
    await shoot(page, 'code-problem');
    await message.getByRole('button').first().click();
    await expect(wrong).toHaveCount(0);
    await expect.poll(() => readCode(page)).not.toContain('m1.enormous');
  });
  await saved(page);
  expect(complaints).toEqual([]);
});

test('code, canvas and forms are one text with one history', async ({ page }) => {
  await login(page);
  const editor = await design(page, 'one history');
  const flavor = async () => (await inspect(page, 'web')).getByLabel('Flavor', { exact: true });
  await editor.press('ControlOrMeta+End');
  await page.keyboard.type('  # typed');
  const typed = `${template}  # typed`;
  await paste(editor, '\n  disk: {type: "OS::Cinder::Volume"}\n');
  const pasted = `${typed}\n  disk: {type: "OS::Cinder::Volume"}\n`;
  await expectCode(page, pasted);
  await expect(node(page, 'disk')).toBeVisible();
  await (await flavor()).selectOption('m1.small');
  const chosen = pasted.replace('m1.enormous', 'm1.small');
  await expectCode(page, chosen, 'the form changes the text in the editor');

  for (const text of [pasted, typed, template]) {
    await editor.press('ControlOrMeta+z');
    await expectCode(page, text);
  }
  await expect(node(page, 'disk')).toHaveCount(0);
  for (const text of [typed, pasted, chosen]) {
    await editor.press('ControlOrMeta+Shift+z');
    await expectCode(page, text);
  }
  await expect(await flavor()).toHaveValue('m1.small');
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('ControlOrMeta+z');
  await expectCode(page, pasted, 'undo on the canvas');
});

test('a problem on the line of the caret is solved by keyboard, as one change', async ({ page }) => {
  await login(page);
  const editor = await design(page, 'fixes');
  const wrong = editor.locator('.cm-lintRange-error', { hasText: 'm1.enormous' });
  await expect(wrong).toBeVisible();
  await editor.press('ControlOrMeta+End');
  for (let line = 0; line < 2; line += 1) await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ControlOrMeta+.');
  await accept(page, /^Use m1\./);
  await expect(wrong).toHaveCount(0);
  await expect.poll(() => readCode(page)).not.toContain('m1.enormous');
  await editor.press('ControlOrMeta+z');
  await expectCode(page, template);
});

test('lines fold, text is found, and the keyboard leaves the editor', async ({ page }) => {
  await login(page);
  const editor = await design(page, 'keys');
  await editor.press('ControlOrMeta+f');
  const find = page.getByRole('textbox', { name: 'Find' });
  await find.pressSequentially('Neutron');
  await find.press('Enter');
  await expect(page.locator('.cm-searchMatch-selected')).toHaveText('Neutron');
  await find.press('Escape');
  await expect(find).toHaveCount(0);
  await editor.getByText('resources', { exact: true }).click();
  await editor.press('ControlOrMeta+Shift+{');
  await expect(editor).not.toContainText('get_resource');
  await editor.press('ControlOrMeta+Shift+}');
  await expect(editor).toContainText('get_resource');
  await expectCode(page, template);

  await editor.press('Escape');
  await page.keyboard.press('Tab');
  await expect(editor).not.toBeFocused();
  await editor.focus();
  await page.keyboard.press('ControlOrMeta+End');
  await page.keyboard.press('Tab');
  await expect(editor).toBeFocused();
  await expectCode(page, `${template}  `, 'a Tab is an indent');
});

test('without the script the text can be read, and loading is tried again', async ({ page }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'slow', template });
  await page.route('**/pkg/editor.js*', (route) => route.abort());
  await openDesign(page, id);
  await page.getByRole('tab', { name: 'Code' }).click();
  const panel = page.getByRole('tabpanel', { name: 'Code' });
  await expect(panel.getByRole('alert')).toContainText('could not be loaded');
  await expect(panel).toContainText('flavor: m1.enormous');
  await shoot(page, 'code-missing');
  await page.unroute('**/pkg/editor.js*');
  await panel.getByRole('button', { name: 'Try again' }).click();
  await pasteOver(await code(page), template.replace('m1.enormous', 'm1.small'));
  await expect(panel.getByRole('alert')).toHaveCount(0);
  await saved(page);
  expect((await api<{ template: string }>(page, 'GET', `/designs/${id}`)).template).toContain('m1.small');
});

// No text is lost, whatever happens between a keystroke and the response to its save.
import { expect, test, type Page, type Route } from '@playwright/test';
import { api, login, openDesign } from './support/app.ts';
import { expectCode } from './support/code.ts';
import { code, saved } from './support/draw.ts';

const empty = 'heat_template_version: 2021-04-16\n\nresources: {}\n';

interface Stored {
  id: string;
  name: string;
  template: string;
  version: number;
}

async function design(page: Page, name: string): Promise<string> {
  const { id } = await api<Stored>(page, 'POST', '/designs', { name, template: empty });
  await openDesign(page, id);
  await code(page);
  return id;
}

const stored = (page: Page, id: string): Promise<Stored> => api<Stored>(page, 'GET', `/designs/${id}`);

/** Types at the end of the text. */
async function type(page: Page, text: string): Promise<void> {
  await (await code(page)).focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(text);
}

/** Checks that a reopened design has the newest text, that the text is saved, and that there is no conflict. */
async function comesBack(page: Page, id: string, text: string): Promise<void> {
  await openDesign(page, id);
  await expectCode(page, text);
  await saved(page);
  await expect(page.getByText('while you were editing')).toHaveCount(0);
  expect((await stored(page, id)).template).toBe(text);
}

/** Delays saves until `go` is called. */
async function slowly(page: Page): Promise<{ held: () => number; go: () => Promise<void> }> {
  const held: Route[] = [];
  let open = false;
  await page.route('**/api/v1/designs/*', async (route) => {
    if (route.request().method() !== 'PUT' || open) return route.continue();
    held.push(route);
  });
  const go = async () => {
    open = true;
    for (const route of held) await route.continue();
  };
  return { held: () => held.length, go };
}

test('a reload at once after a key, while no save gets through', async ({ page }) => {
  await login(page);
  const id = await design(page, 'reloaded');
  await page.route('**/api/v1/designs/*', (route) => (route.request().method() === 'PUT' ? route.abort() : route.continue()));
  await type(page, '# a');
  await page.reload();
  await expectCode(page, `${empty}# a`);
  await page.unroute('**/api/v1/designs/*');
  await comesBack(page, id, `${empty}# a`);
});

test('a tab that is hidden has written down the last key', async ({ page }) => {
  await login(page);
  const id = await design(page, 'hidden');
  const editor = await code(page);
  await editor.press('Control+End');
  const kept = await editor.evaluate((editor, id) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', '# last');
    editor.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    // In the same task, before an idle callback can run.
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(`stackloom.draft.${id}`));
    return keys.map((key) => localStorage.getItem(key)).join();
  }, id);
  expect(kept).toContain('# last');
  await saved(page);
  const left = () => page.evaluate((id) => Object.keys(localStorage).filter((key) => key.includes(id)).length, id);
  await expect.poll(left, 'what is saved is forgotten').toBe(0);
});

test('left while a save is on its way, and something typed since', async ({ page }) => {
  await login(page);
  const id = await design(page, 'left in mid-save');
  const saves = await slowly(page);
  await type(page, '# a');
  await expect.poll(saves.held).toBe(1);
  await type(page, 'b');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Designs' }).click();
  await expect(page.getByRole('heading', { name: 'Designs' })).toBeVisible();
  await saves.go();
  await expect.poll(async () => (await stored(page, id)).template, 'what was typed since follows').toBe(`${empty}# ab`);
  await comesBack(page, id, `${empty}# ab`);
});

test('reloaded while a save is on its way, and something typed since', async ({ page }) => {
  await login(page);
  const id = await design(page, 'reloaded in mid-save');
  // The server receives the save, but the page gets no response.
  await page.route('**/api/v1/designs/*', async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    await route.fetch();
  });
  await type(page, '# a');
  await expect.poll(async () => (await stored(page, id)).template).toBe(`${empty}# a`);
  await page.unroute('**/api/v1/designs/*');
  await type(page, 'b');
  await page.reload();
  await comesBack(page, id, `${empty}# ab`);
});

test('two tabs, one in conflict: closed, its text comes back', async ({ page, context }) => {
  await login(page);
  // This tab does not hear of the other's change before it has its own.
  await page.route('**/api/v1/designs/*/viewers', (route) => route.abort());
  const id = await design(page, 'two tabs');
  const other = await context.newPage();
  await openDesign(other, id);
  await code(other);
  await type(other, '# theirs');
  await saved(other);

  await type(page, '# mine');
  await expect(page.getByRole('button', { name: 'Keep mine' })).toBeVisible();
  await type(other, ', and more');
  await saved(other);
  await page.close({ runBeforeUnload: true });
  await expect.poll(() => page.isClosed()).toBe(true);

  await openDesign(other, id);
  await expectCode(other, `${empty}# mine`);
  await other.getByRole('button', { name: 'Take theirs' }).click();
  await saved(other);
  await expectCode(other, `${empty}# theirs, and more`);
  await comesBack(other, id, `${empty}# theirs, and more`);
});

test('whoever stays after the browser asked is not in conflict with oneself', async ({ page }) => {
  await page.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new Error('full');
    };
  });
  await login(page);
  const id = await design(page, 'stayed');
  const saves = await slowly(page);
  await type(page, '# a');
  const asked = page.waitForEvent('dialog');
  await page.close({ runBeforeUnload: true });
  await (await asked).dismiss();
  await type(page, 'b');
  await saves.go();
  await saved(page);
  expect((await stored(page, id)).template).toBe(`${empty}# ab`);
  await expect(page.getByText('while you were editing')).toHaveCount(0);
});

test('a letter keeps the line ends of Windows, in the template and in a file beside it', async ({ page }) => {
  await login(page);
  const windows = 'heat_template_version: 2021-04-16\r\n\r\n# Windows\r\nresources: {}\r\n';
  const files = { 'script.sh': '#!/bin/sh\r\necho one\r\n' };
  const { id } = await api<Stored>(page, 'POST', '/designs', { name: 'windows', template: windows, files });
  await openDesign(page, id);
  await (await code(page)).focus();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('# x');
  await page.keyboard.press('Enter');
  await expectCode(page, `# x\n${windows.replaceAll('\r', '')}`, 'the caret stays where it is');
  await saved(page);
  expect((await stored(page, id)).template).toBe(`# x\r\n${windows}`);

  await page.getByRole('region', { name: 'Files' }).getByRole('button', { name: 'script.sh', exact: true }).click();
  const text = page.getByRole('dialog', { name: 'File' }).getByLabel('Content');
  await text.focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('x');
  await page.keyboard.press('Escape');
  await saved(page);
  const { files: now } = await api<{ files: Record<string, string> }>(page, 'GET', `/designs/${id}`);
  expect(now['script.sh']).toBe(`${files['script.sh']}x`);
});

test('undo goes on after a reload, and redo too', async ({ page }) => {
  await login(page);
  const id = await design(page, 'undone later');
  for (const name of ['one', 'two']) {
    await page.getByRole('complementary', { name: 'Palette' }).getByRole('searchbox', { name: 'Search the palette' }).fill('network');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('button', { name: /^Undo/ })).toBeEnabled();
    await saved(page);
    expect((await stored(page, id)).template.match(/OS::Neutron::Net"?$/gm), name).toHaveLength(name === 'one' ? 1 : 2);
  }
  const both = (await stored(page, id)).template;
  await page.reload();
  await expectCode(page, both);
  await page.getByRole('button', { name: /^Undo/ }).click();
  await page.getByRole('button', { name: /^Undo/ }).click();
  await expectCode(page, empty);
  await saved(page);
  await page.reload();
  await expectCode(page, empty);
  await page.getByRole('button', { name: /^Redo/ }).click();
  await page.getByRole('button', { name: /^Redo/ }).click();
  await expectCode(page, both);
  await saved(page);
});

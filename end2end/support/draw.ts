// Drawing with the mouse: drag from the palette, drop, select, fill in.
import { expect, type Locator, type Page } from '@playwright/test';
import { dragFromPalette, node, nodeNames, type Point, type Spot } from './app.ts';

/** Drags an entry to the canvas. Returns the name of the created resource. */
export async function add(page: Page, entry: string, target: Point | Spot): Promise<string> {
  const before = new Set(await nodeNames(page));
  await dragFromPalette(page, entry, target);
  let added: string[] = [];
  await expect(async () => {
    added = (await nodeNames(page)).filter((name) => !before.has(name));
    expect(added.length, `nothing new on the canvas after dropping ${entry}`).toBeGreaterThan(0);
  }).toPass();
  return added[0]!;
}

/** Opens a tab of the palette. */
export async function tab(page: Page, name: 'Resources' | 'Catalogue' | 'Outline'): Promise<void> {
  await page.getByRole('tablist', { name: 'Palette' }).getByRole('tab', { name }).click();
}

/** Selects a resource. Returns the inspector with its form. */
export async function inspect(page: Page, name: string): Promise<Locator> {
  await node(page, name).click({ position: { x: 12, y: 12 } });
  const inspector = page.getByRole('complementary', { name: 'Inspector' });
  await expect(node(page, name)).toHaveAttribute('data-selected', 'true');
  return inspector;
}

/** Time limit in milliseconds for slow pages. */
export type Patience = { timeout?: number };

/** Opens the code view. */
export async function code(page: Page, patience: Patience = {}): Promise<Locator> {
  const editor = page.getByRole('textbox', { name: 'Template', exact: true });
  if (!(await editor.isVisible())) await page.getByRole('tab', { name: 'Code' }).click();
  await expect(editor).toBeVisible(patience);
  return editor;
}

/** Opens the list of problems. */
export async function problems(page: Page, patience: Patience = {}): Promise<Locator> {
  const list = page.getByRole('tabpanel', { name: /^Problems/ });
  if (!(await list.isVisible())) await page.getByRole('tab', { name: /^Problems/ }).click();
  await expect(list).toBeVisible(patience);
  return list;
}

/** Waits until the design is saved. */
export async function saved(page: Page, patience: Patience = {}): Promise<void> {
  await expect(page.getByRole('status').filter({ hasText: /^Saved$/ })).toBeVisible(patience);
}

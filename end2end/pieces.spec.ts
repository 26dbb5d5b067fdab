// Code splitting: the time when each wasm module is fetched, and the error if one cannot be fetched. A page whose program
// does not load.
import { expect, test, type Page } from '@playwright/test';
import { alert, canvasReady, login, loginByForm, newDesign, shoot, watchConsole } from './support/app.ts';
import { accessible } from './support/axe.ts';

/** The names of the requested wasm modules, in order. */
function modules(page: Page): string[] {
  const asked: string[] = [];
  page.on('request', (request) => {
    const name = new URL(request.url()).pathname.split('/').pop() ?? '';
    if (name.endsWith('.wasm')) asked.push(name);
  });
  return asked;
}

/** The number of documents that the page has requested since this call. */
function documents(page: Page): () => number {
  let count = 0;
  page.on('request', (request) => {
    if (request.isNavigationRequest()) count += 1;
  });
  return () => count;
}

test('the login loads the core alone, the list fetches what comes next, a design then waits for nothing', async ({ page }) => {
  const complaints = watchConsole(page);
  const asked = modules(page);
  await page.goto('/login');
  await expect(page.getByRole('button', { name: 'Log in', exact: true })).toBeEnabled({ timeout: 60_000 });
  expect(new Set(asked)).toEqual(new Set(['stackloom_bg.wasm']));
  await loginByForm(page);
  await expect.poll(() => asked).toContain('split_pages.wasm');
  expect(asked).toContain('split_designer.wasm');
  expect(asked).toContain('split_forms.wasm');
  await expect.poll(() => asked, 'the planner of the worker').toContain('planner_bg.wasm');
  await expect.poll(() => asked).toContain('split_code.wasm');
  const before = asked.length;
  await page.getByRole('button', { name: 'New design' }).click();
  await page.getByRole('dialog', { name: 'New design' }).getByRole('button', { name: /^Empty/ }).click();
  await canvasReady(page);
  expect(asked.slice(before)).toEqual([]);
  expect(complaints).toEqual([]);
});

test('the document of a design names its piece', async ({ page }) => {
  await login(page);
  await newDesign(page);
  const html = await (await page.request.get(page.url())).text();
  const hints = [...html.matchAll(/<link [^>]*href="([^"]+\.wasm)"/g)].map((found) => found[1]);
  expect(hints.filter((hint) => hint?.endsWith('/split_designer.wasm'))).toHaveLength(1);
  for (const hint of hints) {
    const file = await page.request.get(hint ?? '');
    expect(file.headers()['cache-control']).toContain('immutable');
  }
});

test('a piece that does not come is told, and asked for again', async ({ page }) => {
  await login(page);
  await newDesign(page);
  await page.route('**/split_designer.wasm', (route) => route.abort());
  await page.reload();
  await expect(alert(page)).toContainText('could not be loaded');
  await page.unroute('**/split_designer.wasm');
  // The canvas does not wait for the piece of the forms, and stays where it is when they come.
  let fail = (): void => undefined;
  const held = new Promise<void>((resolve) => { fail = resolve; });
  await page.route('**/split_forms.wasm', async (route) => {
    await held;
    await route.abort();
  });
  await alert(page).getByRole('button', { name: 'Load again' }).click();
  const canvas = await canvasReady(page);
  const place = await canvas.boundingBox();
  const [undo, code] = [page.getByRole('button', { name: 'Undo', exact: true }), page.getByRole('tab', { name: 'Code' })];
  for (const part of [undo, code, page.getByRole('button', { name: 'Export' })]) await expect(part).toHaveCount(0);
  fail();
  const inspector = page.getByRole('complementary', { name: 'Inspector' });
  await expect(inspector.getByRole('alert')).toContainText('could not be loaded');
  await page.unroute('**/split_forms.wasm');
  await inspector.getByRole('button', { name: 'Try again' }).click();
  await expect(inspector.getByLabel('Design name')).toBeVisible();
  // One attempt is for all parts of the piece.
  await expect(page.getByRole('tablist', { name: 'Palette' })).toBeVisible();
  for (const part of [undo, code]) await expect(part).toBeVisible();
  expect(await canvas.boundingBox()).toEqual(place);
  await canvas.click({ button: 'right', position: { x: 40, y: 200 } });
  await expect(page.getByRole('menu', { name: 'Actions' })).toBeVisible();
  await page.keyboard.press('Escape');
  // The piece of the code editor is fetched when the editor is first shown.
  await page.route('**/split_code.wasm', (route) => route.abort());
  await code.click();
  await expect(alert(page)).toContainText('could not be loaded');
  await page.unroute('**/split_code.wasm');
  await alert(page).getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('textbox', { name: 'Template', exact: true })).toBeVisible();
});

test('a part that fails once is loaded again without a word', async ({ page }) => {
  await login(page);
  const id = await newDesign(page);
  const loads = documents(page);
  // The piece beside the canvas, and the program of the worker.
  const failed = new Set<string>();
  await page.route(/\/(split_forms|planner_bg)\.wasm$/, (route) => {
    const url = route.request().url();
    if (failed.has(url)) return route.continue();
    failed.add(url);
    return route.abort();
  });
  await page.goto(`/designs/${id}`);
  await canvasReady(page);
  await expect(page.getByRole('complementary', { name: 'Inspector' }).getByLabel('Design name')).toBeVisible();
  expect(failed.size).toBe(2);
  expect(loads()).toBe(1);
});

test('a page whose program does not load is loaded again, once', async ({ page }) => {
  await login(page);
  const id = await newDesign(page);
  // Each failure is the first one: a page that has started forgets the failures before.
  for (const file of ['stackloom.js', 'stackloom_bg.wasm', 'split_designer.wasm']) {
    const loads = documents(page);
    await page.route(`**/${file}`, (route) => (loads() === 1 ? route.abort() : route.continue()));
    // The page can begin to load again before everything else has arrived.
    await page.goto(`/designs/${id}`, { waitUntil: 'commit' });
    await canvasReady(page);
    expect(loads(), file).toBe(2);
    await page.unroute(`**/${file}`);
  }
});

test('a page whose program never loads says so, and is loaded again by its button', async ({ page }) => {
  await login(page);
  const loads = documents(page);
  await page.route('**/stackloom_bg.wasm', (route) => route.abort());
  await page.goto('/designs', { waitUntil: 'commit' });
  await expect(alert(page)).toContainText('could not be loaded');
  expect(loads()).toBe(2);
  await accessible(page);
  await shoot(page, 'program-missing');
  // The next failure is a first one again: the page is loaded once more by itself.
  await page.unroute('**/stackloom_bg.wasm');
  await page.route('**/stackloom_bg.wasm', (route) => (loads() === 3 ? route.abort() : route.continue()));
  await alert(page).getByRole('button', { name: 'Load again' }).click();
  await expect(page.getByRole('button', { name: 'New design' })).toBeEnabled();
  expect(loads()).toBe(4);
});

// Arranging: tidy up, align, guides, the context menu, the map, folded panels, fading, and one search.
import { expect, test, type Page } from '@playwright/test';
import { api, canvasReady, drag, login, newDesign, node, openDesign, shoot, watchConsole, type Point } from './support/app.ts';
import { saved } from './support/draw.ts';
import { enlargeText } from './support/fits.ts';

const server = (name: string, net: string) =>
  `  ${name}: {type: OS::Nova::Server, properties: {flavor: m1.tiny, image: debian-12, networks: [{network: {get_resource: ${net}}}]}}\n`;
// The cards fit no other resource, so that a drop on one only moves them.
const TEMPLATE = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
${server('web', 'front')}${server('db', 'back')}  key: {type: OS::Heat::RandomString}
  token: {type: OS::Heat::RandomString}
  group: {type: OS::Heat::RandomString}
`;

type Rect = Point & { width: number; height: number };

async function open(page: Page): Promise<void> {
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'arrange', template: TEMPLATE });
  await openDesign(page, id);
}

async function box(page: Page, name: string) {
  return (await node(page, name).boundingBox())!;
}

async function move(page: Page, name: string, by: Point): Promise<void> {
  const at = await box(page, name);
  const start = { x: at.x + at.width - 30, y: at.y + 14 };
  await drag(page, start, { x: start.x + by.x, y: start.y + by.y });
}

test('tidy up brings scattered resources together, and one undo scatters them again', async ({ page }) => {
  const complaints = watchConsole(page);
  await login(page);
  await open(page);
  await move(page, 'key', { x: 150, y: -330 });
  await move(page, 'group', { x: -60, y: -290 });
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('f');
  const before = await box(page, 'key');
  await page.keyboard.press('Escape');
  const glides = page.getByTestId('viewport').evaluate((layer) => new Promise<boolean>((done) => {
    new MutationObserver(() => layer.hasAttribute('data-glides') && done(true)).observe(layer, { attributes: true });
  }));
  await page.getByRole('button', { name: 'Tidy up' }).click();
  expect(await glides, 'the nodes glide to their places').toBe(true);
  await expect.poll(async () => {
    const [key, group, token] = [await box(page, 'key'), await box(page, 'group'), await box(page, 'token')];
    return Math.abs(key.y - group.y) < 1 && Math.abs(key.y - token.y) < 1;
  }).toBe(true);
  const web = await box(page, 'web');
  const front = await box(page, 'front');
  expect(web.x > front.x && web.x + web.width < front.x + front.width).toBe(true);
  await shoot(page, 'tidy');
  await page.keyboard.press('Control+z');
  await page.keyboard.press('f');
  await expect.poll(async () => Math.abs((await box(page, 'key')).x - before.x) < 2).toBe(true);
  expect(complaints).toEqual([]);
});

test('the context menu opens by the right button and by keyboard, and aligns', async ({ page }) => {
  await login(page);
  await open(page);
  await move(page, 'token', { x: 40, y: 60 });
  await node(page, 'key').click({ position: { x: 12, y: 12 } });
  await node(page, 'token').click({ position: { x: 12, y: 12 }, modifiers: ['Shift'] });
  await node(page, 'token').click({ position: { x: 40, y: 12 }, button: 'right' });
  const menu = page.getByRole('menu', { name: 'Actions' });
  await expect(menu).toBeVisible();
  await shoot(page, 'menu');
  await menu.getByRole('menuitem', { name: 'Align top' }).click();
  await expect.poll(async () => Math.abs((await box(page, 'key')).y - (await box(page, 'token')).y)).toBeLessThan(1);

  await node(page, 'web').focus();
  await page.keyboard.press('Shift+F10');
  await expect(menu.getByRole('menuitem', { name: 'Edit' })).toBeFocused();
  await page.keyboard.press('ArrowUp');
  await expect(menu.getByRole('menuitem', { name: 'Delete' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(menu).toHaveCount(0);
  await node(page, 'web').click({ position: { x: 12, y: 12 }, button: 'right' });
  await menu.getByRole('menuitem', { name: 'Select the same type' }).click();
  await expect(node(page, 'db')).toHaveAttribute('data-selected', 'true');
});

test('cards of one type are selected, aligned and distributed by keyboard', async ({ page }) => {
  await login(page);
  await open(page);
  await move(page, 'token', { x: 40, y: 60 });
  const choose = async (label: string) => {
    await page.keyboard.press('Shift+F10');
    const menu = page.getByRole('menu', { name: 'Actions' });
    await expect(menu.getByRole('menuitem').first()).toBeFocused();
    const entries = await menu.getByRole('menuitem').allInnerTexts();
    const steps = entries.findIndex((text) => text.startsWith(label));
    expect(steps, label).toBeGreaterThanOrEqual(0);
    for (let step = 0; step < steps; step += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect(menu).toHaveCount(0);
  };
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Escape');
  await node(page, 'key').focus();
  await page.keyboard.press(' ');
  await choose('Select the same type');
  for (const name of ['key', 'token', 'group']) await expect(node(page, name)).toHaveAttribute('data-selected', 'true');
  // The menu is that of the selection, wherever the focus is.
  await choose('Align top');
  const boxes = async () => (await Promise.all(['key', 'token', 'group'].map((name) => box(page, name)))).sort((one, other) => one.x - other.x);
  await expect.poll(async () => Math.max(...(await boxes()).map((at) => at.y)) - Math.min(...(await boxes()).map((at) => at.y))).toBeLessThan(1);
  await choose('Distribute across');
  await expect.poll(async () => {
    const [left, middle, right] = (await boxes()) as [Rect, Rect, Rect];
    return Math.abs(middle.x - left.x - left.width - (right.x - middle.x - middle.width));
  }).toBeLessThan(2);
});

test('the context menu stays on a low canvas at 125 % text, and scrolls', async ({ page }) => {
  await enlargeText(page);
  await page.setViewportSize({ width: 1280, height: 420 });
  await login(page);
  await open(page);
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+a');
  await node(page, 'web').focus();
  await page.keyboard.press('Shift+F10');
  const menu = page.getByRole('menu', { name: 'Actions' });
  const last = menu.getByRole('menuitem', { name: 'Delete' });
  await expect(menu).toBeVisible();
  await page.keyboard.press('ArrowUp');
  await expect(last).toBeFocused();
  const [canvas, whole, entry] = await Promise.all([page.getByTestId('canvas'), menu, last].map(async (one) => (await one.boundingBox())!));
  expect(whole!.y).toBeGreaterThanOrEqual(canvas!.y);
  expect(whole!.y + whole!.height).toBeLessThanOrEqual(canvas!.y + canvas!.height);
  expect(entry!.y + entry!.height).toBeLessThanOrEqual(whole!.y + whole!.height);
  await shoot(page, 'low-menu');
});

test('the code stands beside the canvas, with a width that stays', async ({ page }) => {
  await page.setViewportSize({ width: 1600, height: 900 });
  await login(page);
  await open(page);
  const drawer = page.getByRole('region', { name: 'Problems, code and history' });
  const sides = async () => {
    const [canvas, code] = await Promise.all([page.getByTestId('canvas'), drawer].map(async (one) => (await one.boundingBox())!));
    return { gap: code!.x - (canvas!.x + canvas!.width), width: code!.width, height: code!.height - canvas!.height };
  };
  await page.getByRole('tab', { name: 'Code' }).click();
  await page.getByRole('button', { name: 'Move the drawer beside the canvas' }).click();
  await expect.poll(async () => Math.abs((await sides()).gap)).toBeLessThan(2);
  expect(Math.abs((await sides()).height)).toBeLessThan(2);
  const { width } = await sides();
  await page.getByRole('separator', { name: 'Width of the drawer' }).focus();
  await page.keyboard.press('ArrowLeft');
  await expect.poll(async () => (await sides()).width).toBeGreaterThan(width + 20);
  await shoot(page, 'code-beside');

  await page.reload();
  await canvasReady(page);
  await page.getByRole('tab', { name: 'Code' }).click();
  await expect.poll(async () => (await sides()).width).toBeGreaterThan(width + 20);
  await page.getByRole('button', { name: 'Move the drawer below the canvas' }).click();
  await expect.poll(async () => (await sides()).gap).toBeLessThan(-100);
});

test('a dragged card snaps to its neighbour and shows the guide', async ({ page }) => {
  await login(page);
  await open(page);
  const key = await box(page, 'key');
  const token = await box(page, 'token');
  const start = { x: token.x + 100, y: token.y + 14 };
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(start.x + 30, start.y + 60, { steps: 5 });
  await page.mouse.move(start.x - (token.x - key.x) + 3, start.y + 100, { steps: 8 });
  await expect(page.locator('.guide').first()).toBeAttached();
  await shoot(page, 'guides');
  await page.mouse.up();
  await expect.poll(async () => Math.abs((await box(page, 'token')).x - key.x)).toBeLessThan(0.6);
  await expect(page.locator('.guide')).toHaveCount(0);
});

test('a rectangle selects the cards in it, and they are distributed', async ({ page }) => {
  await login(page);
  await open(page);
  await move(page, 'token', { x: 40, y: 40 });
  const cards = ['key', 'token', 'group'];
  const boxes = async () => (await Promise.all(cards.map((name) => box(page, name)))).sort((one, other) => one.x - other.x);
  const around = await boxes();
  const corner = (side: (...values: number[]) => number, x: (at: Rect) => number, y: (at: Rect) => number) =>
    ({ x: side(...around.map(x)), y: side(...around.map(y)) });
  const start = corner(Math.min, (at) => at.x - 10, (at) => at.y - 10);
  const end = corner(Math.max, (at) => at.x + at.width + 10, (at) => at.y + at.height + 10);
  await page.keyboard.down('Shift');
  await drag(page, start, end);
  await page.keyboard.up('Shift');
  for (const name of cards) await expect(node(page, name)).toHaveAttribute('data-selected', 'true');
  await expect(node(page, 'web')).toHaveAttribute('data-selected', 'false');
  await node(page, 'key').click({ position: { x: 12, y: 12 }, button: 'right' });
  await page.getByRole('menu', { name: 'Actions' }).getByRole('menuitem', { name: 'Distribute across' }).click();
  await expect.poll(async () => {
    const [left, middle, right] = (await boxes()) as [Rect, Rect, Rect];
    return Math.abs(middle.x - left.x - left.width - (right.x - middle.x - middle.width));
  }).toBeLessThan(2);
});

test('a rectangle that begins in a network selects the servers in it', async ({ page }) => {
  await login(page);
  await open(page);
  const [front, web] = [await box(page, 'front'), await box(page, 'web')];
  await page.keyboard.down('Shift');
  await drag(page, { x: (front.x + web.x) / 2, y: web.y + 10 }, { x: web.x + web.width / 2, y: web.y + web.height / 2 });
  await page.keyboard.up('Shift');
  await expect(node(page, 'web')).toHaveAttribute('data-selected', 'true');
  await expect(node(page, 'front')).toHaveAttribute('data-selected', 'false');
  await expect(page.getByRole('button', { name: 'Undo', exact: true }), 'nothing moved').toBeDisabled();
  await node(page, 'front').click({ position: { x: 12, y: 12 }, modifiers: ['Shift'] });
  for (const name of ['web', 'front']) await expect(node(page, name)).toHaveAttribute('data-selected', 'true');
});

test('a drag at the border of the canvas goes on beyond it, and keys lead to the selection and zoom', async ({ page }) => {
  await login(page);
  await open(page);
  const canvas = (await page.getByTestId('canvas').boundingBox())!;
  const shift = () => page.getByTestId('viewport').evaluate((layer) => new DOMMatrix(getComputedStyle(layer).transform).e);
  const before = await shift();
  const key = await box(page, 'key');
  const grip = { x: key.width - 30, y: 14 };
  await page.mouse.move(key.x + grip.x, key.y + grip.y);
  await page.mouse.down();
  const border = { x: canvas.x + canvas.width - 4, y: key.y + grip.y };
  await page.mouse.move(border.x, border.y, { steps: 6 });
  // The view pans as long as the pointer stays there.
  await expect.poll(async () => before - (await shift())).toBeGreaterThan(400);
  await page.mouse.up();
  const after = await shift();
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveAttribute('title', /Move key/);
  // The card is still below the pointer, but for the grid, and the view rests.
  expect(Math.abs((await box(page, 'key')).x + grip.x - border.x)).toBeLessThan(12);
  expect(await shift()).toBe(after);
  await page.keyboard.press('Shift+f');
  await expect.poll(async () => {
    const [card, area] = [await box(page, 'key'), (await page.getByTestId('canvas').boundingBox())!];
    return Math.abs(card.x + card.width / 2 - area.x - area.width / 2);
  }).toBeLessThan(2);
  const percent = page.getByRole('button', { name: /^Zoom to 100%/ });
  await expect(percent).toHaveText('100%');
  await page.keyboard.press('-');
  await expect(percent).toHaveText('80%');
  await page.keyboard.press('=');
  await expect(percent).toHaveText('100%');
  await page.keyboard.press('-');
  await percent.click();
  await expect(percent).toHaveText('100%');
});

test('the map and the way back appear when the drawing is out of view', async ({ page }) => {
  await login(page);
  await open(page);
  const canvas = (await page.getByTestId('canvas').boundingBox())!;
  const map = page.getByRole('img', { name: 'Map of the drawing' });
  await expect(map).toHaveCount(0);
  const empty = { x: canvas.x + canvas.width - 60, y: canvas.y + 90 };
  await drag(page, empty, { x: empty.x - 560, y: empty.y + 10 });
  await drag(page, empty, { x: empty.x - 560, y: empty.y + 10 });
  await expect(map).toBeVisible();
  const back = page.getByRole('button', { name: 'Back to content' });
  await expect(back).toBeVisible();
  await shoot(page, 'lost');
  await back.click();
  await expect(back).toHaveCount(0);
  await expect(map).toHaveCount(0);
});

test('a network folds to a card with the number of its servers, and opens for what it hides', async ({ page }) => {
  const complaints = watchConsole(page);
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'folded', template: TEMPLATE });
  await openDesign(page, id);
  await page.getByRole('button', { name: 'Fold front', exact: true }).click();
  await expect(node(page, 'web')).toHaveCount(0);
  await expect(node(page, 'front').getByTestId('member-count')).toHaveText('1');
  await expect(node(page, 'db')).toBeVisible();
  await shoot(page, 'folded');
  await page.keyboard.press('Control+z');
  await expect(node(page, 'web')).toBeVisible();

  // By keyboard: a selected network, or the network around a selected server.
  await node(page, 'web').focus();
  await page.keyboard.press(' ');
  await page.keyboard.press('o');
  await expect(node(page, 'web')).toHaveCount(0);
  await node(page, 'front').focus();
  await page.keyboard.press('Shift+F10');
  await page.getByRole('menuitem', { name: 'Unfold' }).click();
  await expect(node(page, 'web')).toBeVisible();
  await page.keyboard.press('o');
  await expect(node(page, 'web')).toHaveCount(0);
  await saved(page);

  // The outline has what is hidden.
  await page.getByRole('tablist', { name: 'Palette' }).getByRole('tab', { name: 'Outline' }).click();
  await page.getByRole('complementary', { name: 'Palette' }).getByRole('button', { name: /^web\b/ }).click();
  await expect(node(page, 'web')).toHaveAttribute('data-selected', 'true');
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+z');
  await expect(node(page, 'web')).toHaveCount(0);
  await saved(page);

  // The fold stays with the design, and a link to a hidden resource unfolds it.
  await page.reload();
  await canvasReady(page);
  await expect(node(page, 'front').getByTestId('member-count')).toHaveText('1');
  await page.goto(`/designs/${id}?resource=web`);
  await canvasReady(page);
  await expect(node(page, 'web')).toHaveAttribute('data-selected', 'true');
  expect(complaints).toEqual([]);
});

test('tidy up of a selection moves nothing else', async ({ page }) => {
  await login(page);
  await open(page);
  await move(page, 'key', { x: 150, y: -330 });
  await move(page, 'group', { x: -60, y: -290 });
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('f');
  // Relative to a card that stays: the view can move too.
  const place = async (name: string) => {
    const [one, web] = [await box(page, name), await box(page, 'web')];
    return { x: Math.round(one.x - web.x), y: Math.round(one.y - web.y) };
  };
  const [key, token, db] = [await place('key'), await place('token'), await place('db')];
  await node(page, 'key').click({ position: { x: 12, y: 12 } });
  await node(page, 'group').click({ position: { x: 12, y: 12 }, modifiers: ['Shift'] });
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('t');
  await expect.poll(() => place('key')).not.toEqual(key);
  expect(await place('token')).toEqual(token);
  expect(await place('db')).toEqual(db);
  await page.keyboard.press('Control+z');
  await expect.poll(() => place('key')).toEqual(key);
});

test('a press on the map shows that part of the drawing, and the keyboard leads back to it', async ({ page }) => {
  await login(page);
  await open(page);
  const canvas = (await page.getByTestId('canvas').boundingBox())!;
  const back = page.getByRole('button', { name: 'Back to content' });
  const getLost = async () => {
    await page.getByTestId('canvas').focus();
    await page.keyboard.press('Escape');
    await expect(async () => {
      await page.keyboard.press('Shift+ArrowRight');
      await expect(back).toBeVisible({ timeout: 200 });
    }).toPass();
  };
  await getLost();
  const map = (await page.getByRole('img', { name: 'Map of the drawing' }).boundingBox())!;
  await page.mouse.move(map.x + map.width / 2, map.y + map.height / 2);
  await page.mouse.down();
  await page.mouse.up();
  await expect(back).toHaveCount(0);
  const web = await box(page, 'web');
  expect(web.x > canvas.x && web.x < canvas.x + canvas.width).toBe(true);

  await getLost();
  await back.press('Enter');
  await expect(back).toHaveCount(0);
  await expect(page.getByTestId('canvas')).toBeFocused();
});

test('panels fold, and stay folded', async ({ page }) => {
  await login(page);
  await open(page);
  const palette = page.getByRole('complementary', { name: 'Palette' });
  const inspector = page.getByRole('complementary', { name: 'Inspector' });
  const width = async () => (await page.getByTestId('canvas').boundingBox())!.width;
  const before = await width();
  await page.getByRole('button', { name: 'Palette', exact: true }).click();
  await page.getByTestId('canvas').focus();
  await page.keyboard.press(']');
  await expect(palette).toBeHidden();
  await expect(inspector).toBeHidden();
  await expect.poll(width).toBeGreaterThan(before + 500);
  await page.reload();
  await expect(page.getByTestId('canvas')).toHaveAttribute('data-ready', 'true');
  await expect(palette).toBeHidden();
  await shoot(page, 'folded');
  await node(page, 'web').click({ position: { x: 12, y: 12 } });
  await page.keyboard.press('Enter');
  await expect(inspector).toBeVisible();
  await page.getByRole('button', { name: 'Palette', exact: true }).click();
  await expect(palette).toBeVisible();
});

test('unrelated resources fade on demand', async ({ page }) => {
  await login(page);
  await open(page);
  await page.getByRole('button', { name: 'Fade the unrelated' }).click();
  await node(page, 'web').click({ position: { x: 12, y: 12 } });
  await expect(node(page, 'db')).toHaveAttribute('data-faded', 'true');
  await expect(node(page, 'front')).not.toHaveAttribute('data-faded');
  await shoot(page, 'faded');
  await page.getByRole('button', { name: 'Fade the unrelated' }).click();
  await expect(node(page, 'db')).not.toHaveAttribute('data-faded');

  await page.keyboard.press('Control+k');
  const commands = page.getByRole('dialog', { name: 'Commands' });
  await expect(commands.getByRole('combobox')).toBeFocused();
  await page.keyboard.type('xyzzy');
  await expect(commands.getByRole('status'), 'screen readers are told').toHaveText('Nothing matches.');
  await commands.getByRole('combobox').fill('fade the unrelated');
  await page.keyboard.press('Enter');
  await expect(node(page, 'db')).toHaveAttribute('data-faded', 'true');
});

test('a resource is found by its name, also in a folded network, and Enter opens the first match of the outline', async ({ page }) => {
  await login(page);
  await open(page);
  await page.getByRole('button', { name: 'Fold front', exact: true }).click();
  await expect(node(page, 'web')).toHaveCount(0);
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+f');
  const find = page.getByRole('dialog', { name: 'Find' });
  await find.getByRole('combobox').fill('web');
  await expect(find.getByRole('option').first()).toContainText('web');
  await shoot(page, 'find');
  await page.keyboard.press('Enter');
  await expect(node(page, 'web')).toHaveAttribute('data-selected', 'true');

  await page.keyboard.press('Control+f');
  await find.getByRole('combobox').fill('nowhere');
  await expect(find.getByRole('status'), 'screen readers are told').toHaveText('Nothing matches.');
  await find.getByRole('combobox').fill('');
  await find.getByRole('option', { name: /^token/ }).click();
  await expect(node(page, 'token')).toHaveAttribute('data-selected', 'true');

  await page.getByRole('tablist', { name: 'Palette' }).getByRole('tab', { name: 'Outline' }).click();
  const search = page.getByRole('searchbox', { name: 'Search the palette' });
  await search.fill('xyzzy');
  await expect(page.getByRole('tabpanel', { name: 'Outline' }).getByRole('status')).toHaveText('Nothing matches.');
  await search.fill('db');
  await search.press('Enter');
  await expect(node(page, 'db')).toHaveAttribute('data-selected', 'true');
});

test('one search finds resources and items, the best first, and Enter adds it', async ({ page }) => {
  await login(page);
  await newDesign(page);
  const palette = page.getByRole('complementary', { name: 'Palette' });
  const search = palette.getByRole('searchbox', { name: 'Search the palette' });
  await search.fill('volume');
  await expect(palette.getByRole('tabpanel').getByRole('button').first()).toHaveAccessibleName('Volume');
  await search.press('Enter');
  await expect(node(page, 'volume')).toBeVisible();
  await search.fill('xyzzy');
  await expect(palette.getByRole('tabpanel').getByRole('status'), 'screen readers are told').toHaveText('Nothing matches.');
  await search.fill('nginx');
  await expect(palette.getByRole('tabpanel').getByRole('button').first()).toHaveAccessibleName('nginx');
});

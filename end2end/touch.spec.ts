// The canvas by touch: two fingers zoom and pan, one finger pans, and a long press opens the menu.
import { expect, test, type CDPSession, type Page } from '@playwright/test';
import { api, centre, login, node, openDesign, type Point } from './support/app.ts';

test.use({ hasTouch: true });

const TEMPLATE = `heat_template_version: 2021-04-16
resources:
  key: {type: OS::Nova::KeyPair, properties: {name: mine}}
  token: {type: OS::Heat::RandomString}
`;

async function open(page: Page, template = TEMPLATE): Promise<CDPSession> {
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'touch', template });
  await openDesign(page, id);
  return page.context().newCDPSession(page);
}

/** A finger: the first one has id 0. */
interface Finger extends Point {
  id?: number;
}

/** Puts fingers on the screen, moves them, or, without points, lifts them one after the other. */
async function touch(session: CDPSession, type: 'touchStart' | 'touchMove' | 'touchEnd', ...points: Finger[]): Promise<void> {
  await session.send('Input.dispatchTouchEvent', { type, touchPoints: points.map((point, id) => ({ id, ...point })) });
}

/** The zoom and the shift of the canvas. */
async function view(page: Page) {
  return page.getByTestId('viewport').evaluate((layer) => {
    const matrix = new DOMMatrix(getComputedStyle(layer).transform);
    return { zoom: matrix.a, x: matrix.e, y: matrix.f };
  });
}

const menu = (page: Page) => page.getByRole('menu', { name: 'Actions' });

test('two fingers zoom around the point between them and pan with it, and lifting them changes nothing', async ({ page }) => {
  await login(page);
  const session = await open(page);
  const canvas = page.getByTestId('canvas');
  const before = await view(page);
  const card = await node(page, 'key').boundingBox();
  const key = await centre(node(page, 'key'));
  const fingers = (reach: number, shift: Point): [Point, Point] =>
    [{ x: key.x - reach + shift.x, y: key.y + shift.y }, { x: key.x + reach + shift.x, y: key.y + shift.y }];
  // The first finger begins to drag the card. The second one gives the drag up.
  const [left, right] = fingers(40, { x: 0, y: 0 });
  await touch(session, 'touchStart', left);
  await touch(session, 'touchMove', { x: left.x, y: left.y + 20 });
  await expect(canvas).toHaveAttribute('data-doing', 'moving');
  await touch(session, 'touchMove', left);
  await touch(session, 'touchStart', { ...right, id: 1 });
  await expect(canvas).toHaveAttribute('data-doing', 'pinching');
  await touch(session, 'touchMove', ...fingers(60, { x: 0, y: 0 }));
  await touch(session, 'touchMove', ...fingers(80, { x: 30, y: 50 }));
  await expect.poll(async () => (await view(page)).zoom / before.zoom).toBeCloseTo(2, 1);
  // The middle of the card stays between the fingers.
  await expect.poll(async () => Math.hypot((await centre(node(page, 'key'))).x - key.x - 30, (await centre(node(page, 'key'))).y - key.y - 50)).toBeLessThan(3);
  const pinched = await view(page);
  await touch(session, 'touchEnd');
  await expect(canvas).toHaveAttribute('data-doing', 'idle');
  expect(await view(page)).toEqual(pinched);
  await expect(menu(page)).toHaveCount(0);
  await expect(canvas.getByRole('button', { name: 'Undo', exact: true })).toBeDisabled();
  await expect(node(page, 'key')).toHaveAttribute('data-selected', 'false');

  // Back again, and then one finger pans.
  await touch(session, 'touchStart', ...fingers(80, { x: 30, y: 50 }));
  await touch(session, 'touchMove', ...fingers(40, { x: 0, y: 0 }));
  await expect.poll(async () => (await view(page)).zoom / before.zoom).toBeCloseTo(1, 1);
  await touch(session, 'touchEnd');
  await expect(canvas).toHaveAttribute('data-doing', 'idle');
  const now = await view(page);
  const empty = { x: key.x, y: card!.y - 60 };
  await touch(session, 'touchStart', empty);
  await touch(session, 'touchMove', { x: empty.x + 20, y: empty.y });
  await touch(session, 'touchMove', { x: empty.x + 70, y: empty.y });
  await touch(session, 'touchEnd');
  await expect.poll(async () => (await view(page)).x - now.x).toBeCloseTo(70, 0);
  expect((await view(page)).zoom).toBe(now.zoom);
});

test('two fingers on an unselected card select nothing', async ({ page }) => {
  await login(page);
  const session = await open(page);
  const key = await centre(node(page, 'key'));
  await touch(session, 'touchStart', { x: key.x - 20, y: key.y });
  await touch(session, 'touchStart', { x: key.x + 20, y: key.y, id: 1 });
  await expect(page.getByTestId('canvas')).toHaveAttribute('data-doing', 'pinching');
  await touch(session, 'touchEnd');
  await expect(page.getByTestId('canvas')).toHaveAttribute('data-doing', 'idle');
  await expect(node(page, 'key')).toHaveAttribute('data-selected', 'false');
  await expect(menu(page)).toHaveCount(0);
});

test('a long press opens the menu of a card, and a pinch opens none', async ({ page }) => {
  await login(page);
  const session = await open(page);
  const key = await centre(node(page, 'key'));
  await touch(session, 'touchStart', { x: key.x - 30, y: key.y }, { x: key.x + 30, y: key.y });
  await expect(page.getByTestId('canvas')).toHaveAttribute('data-doing', 'pinching');
  // Longer than a long press: only the time can show that nothing opens.
  await page.waitForTimeout(800);
  await expect(menu(page)).toHaveCount(0);
  await touch(session, 'touchEnd');
  await expect(page.getByTestId('canvas')).toHaveAttribute('data-doing', 'idle');

  await touch(session, 'touchStart', key);
  await expect(menu(page)).toBeVisible();
  await touch(session, 'touchEnd');
  await expect(menu(page)).toBeVisible();
  await expect(node(page, 'key')).toHaveAttribute('data-selected', 'true');
  await menu(page).getByRole('menuitem', { name: /^Duplicate/ }).click();
  await expect(node(page, 'key_2')).toBeVisible();
});

// Only a mobile browser has a coarse pointer, for which handles are larger.
test.describe('on a phone', () => {
  test.use({ isMobile: true });

  test('a finger connects two cards, from beside the handle of the selected one', async ({ page }) => {
    await login(page);
    const session = await open(page, `${TEMPLATE}  web: {type: OS::Nova::Server, properties: {flavor: m1.tiny}}\n`);
    await touch(session, 'touchStart', await centre(node(page, 'key')));
    await touch(session, 'touchEnd');
    await expect(node(page, 'key')).toHaveAttribute('data-selected', 'true');
    const handle = await centre(node(page, 'key').locator('.handle'));
    const web = await centre(node(page, 'web'));
    // As far beside the handle as fingers are not exact: a mouse would miss it.
    const start = { x: handle.x + 15 * (await view(page)).zoom, y: handle.y };
    await touch(session, 'touchStart', start);
    await touch(session, 'touchMove', { x: (start.x + web.x) / 2, y: (start.y + web.y) / 2 });
    await expect(page.getByTestId('canvas')).toHaveAttribute('data-doing', 'connecting');
    await touch(session, 'touchMove', web);
    await touch(session, 'touchEnd');
    const design = new URL(page.url()).pathname;
    await expect.poll(async () => (await api<{ template: string }>(page, 'GET', design)).template).toMatch(/key_name: ?\{? ?get_resource: key/);
  });
});

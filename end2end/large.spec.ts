// Large drawings: only what is in view has elements, small nodes are painted, and everything can still be reached.
import { readFileSync } from 'node:fs';
import { expect, test, type Locator, type Page } from '@playwright/test';
import { api, canvasReady, centre, drag, login, node, openDesign, shoot, watchConsole, type Point } from './support/app.ts';
import { expectCode, typeCode } from './support/code.ts';
import { joined } from './support/shapes.ts';

const COUNT = 600;
const MEMBERS = 19;
const CARD = { width: 216, height: 88 };

/** Positions of the nodes of `joined`: six networks side by side. */
function places(): Record<string, Point> {
  const nodes: Record<string, Point> = {};
  for (let net = 0; net * (MEMBERS + 1) < COUNT; net += 1) {
    const corner = { x: (net % 6) * 768, y: Math.floor(net / 6) * 856 };
    nodes[`net${net}`] = corner;
    for (let member = 0; member < MEMBERS; member += 1) {
      nodes[`server${net * MEMBERS + member}`] = {
        x: corner.x + 16 + (member % 3) * 232,
        y: corner.y + 48 + Math.floor(member / 3) * 104,
      };
    }
  }
  return nodes;
}

async function open(page: Page): Promise<string> {
  const design = { name: 'large', template: joined(COUNT), layout: { nodes: places() } };
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', design);
  await openDesign(page, id);
  await linesRouted(page);
  return id;
}

/** Waits for the lines, which the worker routes. */
async function linesRouted(page: Page): Promise<void> {
  await expect(page.getByTestId('canvas')).not.toHaveAttribute('data-routing');
}

/** A point of the canvas on the screen. */
async function toScreen(page: Page, point: Point): Promise<Point> {
  const canvas = (await page.getByTestId('canvas').boundingBox())!;
  const view = await page.getByTestId('viewport').evaluate((layer) => {
    const matrix = new DOMMatrix(getComputedStyle(layer).transform);
    return { zoom: matrix.a, x: matrix.e, y: matrix.f };
  });
  return { x: canvas.x + view.x + point.x * view.zoom, y: canvas.y + view.y + point.y * view.zoom };
}

/** The middle of a server on the screen, from the stored positions. */
async function onScreen(page: Page, name: string): Promise<Point> {
  const place = places()[name]!;
  return toScreen(page, { x: place.x + CARD.width / 2, y: place.y + CARD.height / 2 });
}

/** Zooms in at a server until its card has an element. */
async function approach(page: Page, name: string): Promise<void> {
  const at = await onScreen(page, name);
  await page.mouse.move(at.x, at.y);
  await page.mouse.wheel(0, -1000);
  await expect(page.locator('.painted')).toHaveCount(0);
  await expect(node(page, name)).toBeInViewport();
}

/** Moves the focus to the next node, past the parts of this one. */
async function tabToNode(page: Page): Promise<void> {
  do {
    await page.keyboard.press('Tab');
  } while (await page.evaluate(() => document.activeElement?.closest('.node') !== document.activeElement));
}

function inspector(page: Page): Locator {
  return page.getByRole('complementary', { name: 'Inspector' });
}

const name = (page: Page) => inspector(page).getByLabel('Name', { exact: true });

test('far away all nodes are painted, and a click selects one', async ({ page }) => {
  const complaints = watchConsole(page);
  await login(page);
  await open(page);
  await expect(page.locator('.painted')).toBeVisible();
  expect(await page.locator('.viewport *').count()).toBeLessThan(200);
  const at = await onScreen(page, 'server250');
  await page.mouse.move(at.x, at.y);
  await expect(page.locator('.hint'), 'the name below the pointer, where it cannot be read on the card').toHaveText('server250');
  await page.mouse.click(at.x, at.y);
  await expect(name(page)).toHaveValue('server250');
  await shoot(page, 'large-far');
  // The drag of a painted node is one change.
  await drag(page, at, { x: at.x + 8, y: at.y + 3 });
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveAttribute('title', /Move server250/);
  await page.keyboard.press('Control+z');
  await page.mouse.click(at.x, at.y, { button: 'right' });
  await page.getByRole('menu', { name: 'Actions' }).getByRole('menuitem', { name: 'Select the same type' }).click();
  await expect(inspector(page).getByRole('heading', { name: '570 resources' })).toBeVisible();
  expect(complaints).toEqual([]);
});

test('near by only what is in view has elements, and a pan shows the rest', async ({ page }) => {
  await login(page);
  await open(page);
  await approach(page, 'server250');
  await expect(node(page, 'server251')).toBeAttached();
  await expect(node(page, 'server20')).toHaveCount(0);
  expect(await page.locator('.node').count()).toBeLessThan(150);
  await shoot(page, 'large-near');
  const canvas = await centre(page.getByTestId('canvas'));
  await page.mouse.move(canvas.x, canvas.y);
  await page.mouse.down({ button: 'middle' });
  await page.mouse.move(canvas.x - 400, canvas.y, { steps: 5 });
  await page.mouse.up({ button: 'middle' });
  await page.mouse.move(canvas.x, canvas.y);
  await page.mouse.down({ button: 'middle' });
  await page.mouse.move(canvas.x - 400, canvas.y, { steps: 5 });
  await page.mouse.up({ button: 'middle' });
  // The network on the right is in view now.
  await expect(node(page, 'net14')).toBeInViewport();
  await page.getByRole('button', { name: 'Fit to screen' }).click();
  await expect(page.locator('.painted')).toBeVisible();
});

test('the keyboard reaches every node, and the view follows', async ({ page }) => {
  await login(page);
  await open(page);
  await approach(page, 'server250');
  await node(page, 'server250').focus();
  for (let step = 1; step <= 12; step += 1) {
    await tabToNode(page);
    const focused = page.locator('.node:focus');
    await expect(focused).toHaveAttribute('data-name', `server${250 + step}`);
    await expect(focused).toBeInViewport();
  }
  await page.keyboard.press('Enter');
  await expect(name(page)).toHaveValue('server262');
  await node(page, 'server262').focus();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveAttribute('title', /Move/);
  await page.keyboard.press('c');
  await expect(page.getByRole('dialog', { name: 'Connect server262' })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+a');
  await expect(inspector(page).getByRole('heading', { name: `${COUNT} resources` })).toBeVisible();
});

test('a line follows a dragged node whose other end is out of view, and is selected where it is painted', async ({ page }) => {
  await login(page);
  await open(page);
  // The first server of a network is on the network before, too.
  const first = `server${MEMBERS * 14}`;
  await approach(page, first);
  const line = page.locator(`.line[data-from="${first}"][data-to="net13"] .line-ink`);
  const before = await line.getAttribute('d');
  const at = await centre(node(page, first));
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x + 60, at.y + 40, { steps: 6 });
  await expect(line).not.toHaveAttribute('d', before!);
  await page.keyboard.press('Escape');
  await page.mouse.up();
  await expect(line).toHaveAttribute('d', before!);

  const middle = await line.evaluate((path: SVGPathElement) => {
    const { x, y } = path.getPointAtLength(path.getTotalLength() / 2);
    return { x, y };
  });
  await page.getByRole('button', { name: 'Fit to screen' }).click();
  await expect(page.locator('.painted')).toBeVisible();
  const painted = await toScreen(page, middle);
  await page.mouse.click(painted.x, painted.y);
  await expect(inspector(page).getByRole('heading', { name: `Connection: ${first} to net13` })).toBeVisible();
});

/** Delivers routes of lines after the worker's answer to a later request. */
async function lateRoutes(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const plain = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage')!;
    Object.defineProperty(Worker.prototype, 'onmessage', {
      set(this: Worker, take: ((event: MessageEvent) => void) | null) {
        const late: MessageEvent[] = [];
        const release = () => late.splice(0).forEach((event) => take?.(event));
        plain.set!.call(this, (event: MessageEvent) => {
          if (String(event.data).includes('"points"')) {
            late.push(event);
            setTimeout(release, 2_000);
          } else {
            take?.(event);
            release();
          }
        });
      },
    });
  });
}

test('tidy up moves a large drawing, and one undo brings it back @full', async ({ page }) => {
  const complaints = watchConsole(page);
  await lateRoutes(page);
  await login(page);
  await open(page);
  const undo = page.getByRole('button', { name: 'Undo' });
  await page.getByRole('button', { name: 'Tidy up' }).click();
  await expect(undo).toHaveAttribute('title', /Tidy up/);
  await linesRouted(page);
  await shoot(page, 'large-tidy');
  await undo.click();
  await expect(undo).toBeDisabled();
  await page.getByRole('button', { name: 'Fit to screen' }).click();
  const at = await onScreen(page, 'server250');
  await page.mouse.click(at.x, at.y);
  await expect(name(page)).toHaveValue('server250');
  await expect(page.getByText('A part of the program could not be loaded'), 'each answer has reached its request').toHaveCount(0);
  expect(complaints).toEqual([]);
});

test('a large design without positions is arranged beside the page', async ({ page }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'unplaced', template: joined(COUNT) });
  // An answer with rectangles waits until the notice was seen.
  await page.addInitScript(() => {
    const held: (() => void)[] = [];
    Object.assign(window, { held });
    const plain = Object.getOwnPropertyDescriptor(Worker.prototype, 'onmessage')!;
    Object.defineProperty(Worker.prototype, 'onmessage', {
      set(this: Worker, take: ((event: MessageEvent) => void) | null) {
        plain.set!.call(this, (event: MessageEvent) => {
          const isArranged = /^\d+,\[\{"x"/.test(String(event.data));
          if (isArranged) held.push(() => take?.(event));
          else take?.(event);
        });
      },
    });
  });
  const deliver = () =>
    page.evaluate(() => {
      const answer = (window as unknown as { held: (() => void)[] }).held.shift();
      answer?.();
      return answer !== undefined;
    });
  await page.goto(`/designs/${id}`);
  const notice = page.getByRole('status').getByText('Arranging…');
  await expect(notice).toBeVisible();
  // Screen readers announce nothing in a part that is busy.
  await expect(page.locator('[aria-busy="true"]').getByText('Arranging…')).toHaveCount(0);
  await expect.poll(deliver).toBe(true);
  await canvasReady(page);
  await expect(notice).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Undo' })).toBeDisabled();

  // Another text in its place is arranged there too. Until then nothing of the first one can be changed.
  const other = joined(COUNT).replaceAll('server', 'host');
  await typeCode(page, other);
  await expect(notice).toBeVisible();
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await expectCode(page, other);
  await expect.poll(deliver).toBe(true);
  await expect(notice).toHaveCount(0);
  await linesRouted(page);
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+a');
  await expect(inspector(page).getByRole('heading', { name: `${COUNT} resources` })).toBeVisible();
});

test('an exported picture has every node', async ({ page }) => {
  await login(page);
  await open(page);
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  await page.getByRole('button', { name: 'Export as Picture (SVG)' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
  const picture = readFileSync(await (await download).path(), 'utf8');
  for (const resource of ['server0', 'server250', 'net29', 'server569']) expect(picture).toContain(`>${resource}<`);
});

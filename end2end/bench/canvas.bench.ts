// The canvas with many nodes: processor time of the main thread for each step of a gesture, beside that of React Flow
// with the same nodes and lines.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test, type CDPSession, type Page } from '@playwright/test';
import { api, canvasReady, centre, login, openDesigns, type Point } from '../support/app.ts';
import { joined } from '../support/shapes.ts';

const sizes = (process.env.STACKLOOM_SIZES ?? '100,500,1000,2000,5000').split(',').map(Number);
/** The folder with the bundle of the React Flow page. */
const flow = process.env.STACKLOOM_FLOW ?? '';
const STEPS = 24;
/** The highest good figures of 1,000 nodes. */
const AIMS: Record<string, number> = {
  'load until idle': 800,
  'elements, all in view': 3000,
  'pan, all in view': 9,
  'zoom': 8,
  'drag one, all in view': 5,
  'elements, zoom 1': 3000,
  'drag one, zoom 1': 4,
  'pan, zoom 1': 4,
  'drag all': 25,
};
const rows: string[] = [];

test.afterAll(() => writeFileSync('test-results/canvas-figures.txt', rows.join('')));

/** One of the compared canvases. */
interface Subject {
  name: string;
  canvas: string;
  /** Opens a drawing with this number of nodes. */
  open(page: Page, count: number): Promise<void>;
  /** The middle of a server on the screen. */
  middle(page: Page, server: number): Promise<Point>;
  /** The element with the CSS transform of the viewport. */
  layer: string;
  /** CSS pixels of the wheel for a factor of the zoom. */
  wheel(factor: number): number;
  selectAll(page: Page): Promise<void>;
  fit(page: Page): Promise<void>;
}

const designs = new Map<number, string>();
/** Positions of the nodes of the current design, as on the React Flow page. */
const places = new Map<string, Point>();

function arrange(count: number): void {
  places.clear();
  const across = Math.ceil(Math.sqrt(Math.ceil(count / 20)));
  for (let node = 0; node < count; node += 1) {
    const net = Math.floor(node / 20);
    const corner = { x: (net % across) * 768, y: Math.floor(net / across) * 848 };
    const member = (node % 20) - 1;
    if (member < 0) places.set(`net${net}`, corner);
    else {
      const [column, row] = [member % 3, Math.floor(member / 3)];
      places.set(`server${net * 19 + member}`, { x: corner.x + 16 + column * 232, y: corner.y + 48 + row * 104 });
    }
  }
}

const ours: Subject = {
  name: 'stackloom',
  canvas: '[data-testid="canvas"]',
  layer: '[data-testid="viewport"]',
  async open(page, count) {
    await page.goto(`/designs/${designs.get(count)}`);
    await canvasReady(page);
  },
  // A painted node has no element, so its place follows from the stored positions and the viewport.
  async middle(page, server) {
    const canvas = (await page.locator(this.canvas).boundingBox())!;
    const view = await page.locator(this.layer).evaluate((layer) => {
      const matrix = new DOMMatrix(getComputedStyle(layer).transform);
      return { zoom: matrix.a, x: matrix.e, y: matrix.f };
    });
    const place = places.get(`server${server}`)!;
    return {
      x: canvas.x + view.x + (place.x + 108) * view.zoom,
      y: canvas.y + view.y + (place.y + 44) * view.zoom,
    };
  },
  wheel: (factor) => -Math.log(factor) / 0.0022,
  selectAll: (page) => page.keyboard.press('Control+a'),
  fit: (page) => page.getByRole('button', { name: 'Fit to screen' }).click(),
};

function reactFlow(name: string, query: string): Subject {
  return {
    name,
    canvas: '.react-flow',
    layer: '.react-flow__viewport',
    async open(page, count) {
      const html = `<!doctype html><link rel="stylesheet" href="/flow/page.css"><link rel="icon" href="data:,">
        <style>
          body { margin: 0; font: 14px sans-serif } #root { width: 1000px; height: 840px; margin: 48px 0 0 240px }
          .card, .frame { box-sizing: border-box; height: 100%; border: 1px solid #aaa; border-radius: 8px; padding: 10px; display: flex; gap: 8px; background: #fff }
          .frame { background: #eef3; } .icon { width: 24px; height: 24px; border-radius: 6px; background: #cde; display: inline-block }
        </style><div id="root"></div><script type="module" src="/flow/page.js"></script>`;
      await page.route('/flow/**', (route) => {
        const file = new URL(route.request().url()).pathname.split('/').pop() ?? '';
        const type = { js: 'text/javascript', css: 'text/css' }[file.split('.').pop() ?? ''];
        return route.fulfill(type ? { contentType: type, body: readFileSync(`${flow}/${file}`) } : { contentType: 'text/html', body: html });
      });
      await page.goto(`/flow/index?nodes=${count}${query}`);
      await expect(page.locator('.react-flow__node').first()).toBeVisible({ timeout: 60_000 });
    },
    middle: (page, server) => centre(page.locator(`.react-flow__node[data-id="server${server}"]`)),
    wheel: (factor) => -Math.log2(factor) / 0.002,
    async selectAll(page) {
      await page.evaluate(() => {
        const { flow } = window as unknown as { flow: { setNodes(change: (nodes: object[]) => object[]): void } };
        flow.setNodes((nodes) => nodes.map((node) => ({ ...node, selected: true })));
      });
    },
    async fit(page) {
      await page.evaluate(() => (window as unknown as { flow: { fitView(): void } }).flow.fitView());
    },
  };
}

const subjects = [ours, reactFlow('React Flow', ''), reactFlow('React Flow, culled', '&culled')];

/** Processor time of the page's main thread since its start, in milliseconds. */
async function busy(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000;
}

async function nextFrame(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
}

/** Waits until the main thread has nothing more to do. */
async function idle(page: Page, session: CDPSession): Promise<void> {
  const quiet = { intervals: [400], timeout: 300_000 };
  let before = await busy(session);
  await expect(async () => {
    const now = await busy(session);
    const used = now - before;
    before = now;
    expect(used).toBeLessThan(8);
  }).toPass(quiet);
  await nextFrame(page);
}

/** A move or a wheel of the mouse, without the script by which Playwright waits in the page for each. */
function mouse(session: CDPSession, type: 'mouseMoved' | 'mouseWheel', at: Point, more: object): Promise<unknown> {
  return session.send('Input.dispatchMouseEvent', { type, ...at, ...more });
}

/** Milliseconds of one step, on average. The browser handles a move or a wheel at the start of a frame and answers then, so
 *  each step has one frame. */
async function perStep(page: Page, session: CDPSession, step: (index: number) => Promise<unknown>): Promise<number> {
  const before = await busy(session);
  for (let index = 1; index <= STEPS; index += 1) await step(index);
  await nextFrame(page);
  return ((await busy(session)) - before) / STEPS;
}

/** A path on a circle, so that a gesture ends near its start. */
function around(start: Point, index: number): Point {
  const angle = (index / STEPS) * 2 * Math.PI;
  return { x: start.x + 40 * Math.sin(angle), y: start.y + 40 * (1 - Math.cos(angle)) };
}

async function gesture(page: Page, session: CDPSession, from: Point, button: 'left' | 'middle'): Promise<number> {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down({ button });
  // The beginning of the gesture is not a step.
  await page.mouse.move(from.x + 8, from.y + 8);
  await nextFrame(page);
  const held = { button, buttons: button === 'left' ? 1 : 4 };
  const figure = await perStep(page, session, (index) => mouse(session, 'mouseMoved', around(from, index), held));
  // The release is where Playwright has moved the mouse to.
  await page.mouse.move(from.x, from.y);
  return figure;
}

/** Zooms to 1 with a node in the middle of the canvas. */
async function zoomToOne(page: Page, subject: Subject, session: CDPSession, server: number): Promise<Point> {
  const scale = () => page.locator(subject.layer).evaluate((layer) => new DOMMatrix(getComputedStyle(layer).transform).a);
  const at = await subject.middle(page, server);
  await page.mouse.move(at.x, at.y);
  await expect(async () => {
    const now = await scale();
    if (Math.abs(now - 1) > 0.01) {
      await page.mouse.wheel(0, Math.max(-400, Math.min(400, subject.wheel(1 / now))));
      await idle(page, session);
    }
    expect(Math.abs((await scale()) - 1)).toBeLessThan(0.02);
  }).toPass({ intervals: [0], timeout: 240_000 });
  await idle(page, session);
  return subject.middle(page, server);
}

async function measure(page: Page, subject: Subject, count: number): Promise<Record<string, number>> {
  const session = await page.context().newCDPSession(page);
  // Not the time that has passed: the browser's other threads use the same processors while a page loads.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  // A page of the same origin, so that the browser keeps the process and its counters.
  await page.goto('/readyz');
  const start = await busy(session);
  await subject.open(page, count);
  await idle(page, session);
  const figures: Record<string, number> = {};
  figures['load until idle'] = (await busy(session)) - start;
  await subject.fit(page);
  await idle(page, session);
  figures['elements, all in view'] = await page.locator(`${subject.canvas} *`).count();
  const middle = await centre(page.locator(subject.canvas));
  const held = Math.floor(count / 2);

  figures['pan, all in view'] = await gesture(page, session, middle, 'middle');
  await page.mouse.up({ button: 'middle' });
  await page.mouse.move(middle.x, middle.y);
  figures['zoom'] = await perStep(page, session, (index) =>
    mouse(session, 'mouseWheel', middle, { deltaX: 0, deltaY: index % 8 < 4 ? -20 : 20 }));
  await subject.fit(page);
  await idle(page, session);

  const drag = async (what: string, from: Point) => {
    figures[what] = await gesture(page, session, from, 'left');
    const before = await busy(session);
    await page.mouse.up();
    await idle(page, session);
    figures[`release: ${what}`] = (await busy(session)) - before;
  };
  await drag('drag one, all in view', await subject.middle(page, held));
  const near = await zoomToOne(page, subject, session, held);
  figures['elements, zoom 1'] = await page.locator(`${subject.canvas} *`).count();
  await drag('drag one, zoom 1', near);
  figures['pan, zoom 1'] = await gesture(page, session, near, 'middle');
  await page.mouse.up({ button: 'middle' });
  await subject.selectAll(page);
  await subject.fit(page);
  await idle(page, session);
  await drag('drag all', await subject.middle(page, held));
  return figures;
}

test('gestures among many nodes', async ({ browser }) => {
  test.setTimeout(60 * 60_000);
  for (const count of sizes) {
    const found: Record<string, number>[] = [];
    for (const subject of subjects) {
      // Each has a browser context of its own, so none inherits timers or memory.
      const page = await browser.newPage();
      await login(page);
      await openDesigns(page);
      if (subject === ours) {
        arrange(count);
        const layout = { nodes: Object.fromEntries(places) };
        const design = { name: `${count} nodes`, template: joined(count), layout };
        designs.set(count, (await api<{ id: string }>(page, 'POST', '/designs', design)).id);
      }
      found.push(await measure(page, subject, count));
      await page.close();
    }
    for (const step of Object.keys(found[0]!)) {
      const aim = count === 1000 ? AIMS[step] : undefined;
      const cells = [count, step, ...found.map((figures) => figures[step]!.toFixed(1)), ...(aim === undefined ? [] : [aim])];
      rows.push(`${cells.join('\t')}\n`);
    }
  }
});

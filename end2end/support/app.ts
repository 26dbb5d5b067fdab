// Access to the pages by role, label, and the few test hooks of the canvas. Specs describe actions; the locators of
// controls are defined here only.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { begin } from './tidy.ts';

/** An account for a login. The lab cloud has `demo` and `other`. */
export interface Account {
  cloud: string;
  user: string;
  password: string;
  domain: string;
  project: string;
}

export const demo: Account = { cloud: 'lab', user: 'demo', password: 'demo', domain: 'Default', project: 'demo' };

/** Fills in the login form and submits it. The caller checks the result. */
export async function fillLogin(page: Page, account: Account): Promise<void> {
  await page.goto('/login');
  // The form is rendered on the server. Its button is enabled after hydration.
  const button = page.getByRole('button', { name: 'Log in', exact: true });
  await expect(button).toBeEnabled({ timeout: 60_000 });
  const cloud = page.getByLabel('Cloud', { exact: true });
  await expect(cloud.locator(`option[value="${account.cloud}"]`)).toBeAttached();
  await cloud.selectOption(account.cloud);
  await page.getByLabel('User', { exact: true }).fill(account.user);
  await page.getByLabel('Password', { exact: true }).fill(account.password);
  await page.getByLabel('Domain', { exact: true }).fill(account.domain);
  await page.getByLabel('Project', { exact: true }).fill(account.project);
  await button.click();
}

/** Logs in, and opens no page. Every test begins with a login (see `tidy`). Only tests of the login use its form. */
export async function login(page: Page, account: Account = demo): Promise<void> {
  const response = await page.request.post('/api/v1/login', { data: account });
  expect(response.ok(), `the login answered ${response.status()}: ${await response.text()}`).toBeTruthy();
  await begin(page);
}

/** Logs in with the form. */
export async function loginByForm(page: Page, account: Account = demo): Promise<void> {
  await fillLogin(page, account);
  await expect(page).toHaveURL(/\/designs$/);
  await expect(page.getByRole('heading', { name: 'Designs' })).toBeVisible();
  await begin(page);
}

/** Opens the list of designs, and waits until it reacts to clicks. */
export async function openDesigns(page: Page): Promise<void> {
  await page.goto('/designs');
  await expect(page.getByRole('button', { name: 'New design' })).toBeEnabled({ timeout: 60_000 });
}

/** The page's error message. */
export function alert(page: Page): Locator {
  return page.getByRole('alert').filter({ hasText: /\S/ });
}

/** Collects console warnings and errors, such as hydration mismatches. */
export function watchConsole(page: Page): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    const isComplaint = message.type() === 'error' || message.type() === 'warning';
    // A busy machine draws the first text later than the browser expects; that says nothing about the page.
    if (isComplaint && !message.text().includes('was preloaded using link preload')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return complaints;
}

/** Calls the REST API with the page's session. */
export async function api<T>(page: Page, method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, data?: unknown): Promise<T> {
  const response = await page.request.fetch(`/api/v1${path}`, { method, data });
  expect(response.ok(), `${method} ${path} answered ${response.status()}: ${await response.text()}`).toBeTruthy();
  return (await response.json()) as T;
}

/** Creates an empty design with the page's controls, and opens it. Returns its id. */
export async function newDesign(page: Page): Promise<string> {
  await openDesigns(page);
  await page.getByRole('button', { name: 'New design' }).click();
  await page.getByRole('dialog', { name: 'New design' }).getByRole('button', { name: /^Empty/ }).click();
  await expect(page).toHaveURL(/\/designs\/[^/]+$/);
  await canvasReady(page);
  return new URL(page.url()).pathname.split('/').pop() ?? '';
}

/** Opens an existing design. */
export async function openDesign(page: Page, id: string): Promise<void> {
  await page.goto(`/designs/${id}`);
  await canvasReady(page);
}

/** Waits until the canvas is drawn. If it is not, the report has the messages of the browser: a picture does not tell why. */
export async function canvasReady(page: Page): Promise<Locator> {
  const canvas = page.getByTestId('canvas');
  try {
    await expect(canvas).toHaveAttribute('data-ready', 'true', { timeout: 60_000 });
  } catch (missing) {
    const messages = (await page.consoleMessages({ filter: 'all' })).map((message) => `${message.type()}: ${message.text()}`);
    await test.info().attach('console', { body: messages.join('\n'), contentType: 'text/plain' });
    throw missing;
  }
  return canvas;
}

/** The node of a resource. Its parts can have the same name; the first element is the node. */
export function node(page: Page, name: string): Locator {
  return page.getByTestId('canvas').locator(`[data-node="${name}"]`).first();
}

/** Names of all resources on the canvas. */
export async function nodeNames(page: Page): Promise<string[]> {
  const names = await page.getByTestId('canvas').locator('[data-node]').evaluateAll((elements) =>
    elements.map((element) => element.getAttribute('data-node') ?? ''));
  return [...new Set(names)];
}

/** A point on a node, as fractions of its width and height. */
export interface Spot extends Point {
  on: Locator;
}

/** Drags an entry of the palette to a point of the canvas (as fractions of its width and height) or onto a node. */
export async function dragFromPalette(page: Page, entry: string, target: Point | Spot): Promise<void> {
  const from = page.getByRole('complementary', { name: 'Palette' }).getByRole('button', { name: entry, exact: true });
  await from.scrollIntoViewIfNeeded();
  const start = await centre(from);
  const end = await pointOf('on' in target ? target.on : page.getByTestId('canvas'), target);
  await drag(page, start, end);
}

/** Drags with the mouse in several steps. */
export async function drag(page: Page, from: Point, to: Point): Promise<void> {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x + 6, from.y + 6);
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 8 });
  await page.mouse.move(to.x, to.y, { steps: 8 });
  await page.mouse.up();
}

export interface Point {
  x: number;
  y: number;
}

export async function centre(locator: Locator): Promise<Point> {
  const box = await locator.boundingBox();
  if (!box) throw new Error(`${locator} is not on the page`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function pointOf(locator: Locator, part: Point): Promise<Point> {
  const box = await locator.boundingBox();
  if (!box) throw new Error(`${locator} is not on the page`);
  return { x: box.x + box.width * part.x, y: box.y + box.height * part.y };
}

/** Screenshots are for reviews at a desk, and for the long tests: CI compares them with nothing. */
const SHOOTS = !process.env.CI || process.env.STACKLOOM_FULL;

/** A screenshot in light and in dark, for review. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (!SHOOTS) return;
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    await page.screenshot({ path: `test-results/${name}-${scheme}.png` });
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: null });
}

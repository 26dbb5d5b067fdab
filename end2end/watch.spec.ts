// Watching a run over a bad connection: what is stored is what is shown.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { api, login } from './support/app.ts';
import { putToSleep } from './support/asleep.ts';
import { network } from './support/network.ts';
import { ended } from './support/runs.ts';
import { canRestart, restartServer } from './support/server.ts';
import { leftovers } from './support/tidy.ts';

const LINES = 20_000;

/** A server and a script on it. */
const template = (subnet: number, script: string) => `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.58.${subnet}.0/24}
  server:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  talk:
    type: Stackloom::Catalog::script
    properties:
      host: {get_resource: server}
      script: |
        ${script.trim().replaceAll('\n', '\n        ')}
`;

/** Bursts of lines, for forty seconds. */
const words = `
for number in $(seq ${LINES}); do
  echo "word number $number"
  [ $((number % 500)) != 0 ] || sleep 1
done`;

const stream = /\/api\/v1\/runs\/[^/]+\/stream/;

/** The page's message without a connection: of the run, or of the whole page in the top bar. */
const lost = (page: Page): Locator => page.getByText(/Connection lost\. Reconnecting|^No connection$/);

/** Numbers of the page's websockets for events from now on. */
function sockets(page: Page): { opened: number; closed: number } {
  const count = { opened: 0, closed: 0 };
  page.on('websocket', (socket) => {
    if (!stream.test(socket.url())) return;
    count.opened += 1;
    socket.on('close', () => void (count.closed += 1));
  });
  return count;
}

interface LogEvent {
  seq: number;
  type: string;
  stream?: string;
  text?: string;
}

test('every stored line is shown once, over cuts of the network, a tab asleep and a reload @full', async ({ page, request }) => {
  test.setTimeout(8 * 60_000);
  await login(page);
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'talk', template: template(1, words), parameters: {} });
  const cable = await network();
  const streams = sockets(page);
  await page.goto(`${cable.address}/runs/${run}`);
  const log = page.getByRole('log', { name: 'Log' });
  await expect(log).toContainText('word number', { timeout: 120_000 });

  let wake = async (): Promise<void> => undefined;
  for (const cut of ['network', 'asleep', 'reload', 'network'] as const) {
    const before = await newest(page);
    const { opened, closed } = streams;
    if (cut === 'network') {
      cable.cut();
      await expect(lost(page)).toBeVisible();
      await expect.poll(() => streams.closed, 'the websocket is closed').toBeGreaterThan(closed);
    }
    if (cut === 'asleep') wake = await putToSleep(page);
    // Lines that this page cannot see are stored meanwhile.
    await expect.poll(async () => (await stored(page, run, before)).length, { timeout: 60_000 }).toBeGreaterThan(200);
    if (cut === 'network') {
      expect(streams.opened, 'no websocket is opened without a network').toBe(opened);
      cable.mend();
    }
    if (cut === 'asleep') await wake();
    if (cut === 'reload') await page.reload();
    await expect.poll(() => newest(page), { message: `lines go on after: ${cut}`, timeout: 60_000 }).toBeGreaterThan(before + 200);
    await expect(lost(page)).toHaveCount(0);
    if (cut !== 'asleep') expect(streams.opened, `another websocket after: ${cut}`).toBeGreaterThan(opened);
  }
  await ended(page, run);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');

  const lines = await allAreShown(page, run);
  expect(lines.filter(({ text }) => text?.startsWith('word number'))).toHaveLength(LINES);

  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, removal.run);
  expect(await leftovers(request)).toEqual({});
});

for (const { rate, seconds, subnet } of [{ rate: 10, seconds: 40, subnet: 2 }, { rate: 1_000, seconds: 30, subnet: 3 }]) {
  test(`a page goes on by itself when the server restarts in mid-run, at ${rate} lines/s @full`, async ({ page, request }) => {
    test.skip(!canRestart, 'only `cargo xtask test` can restart the server');
    test.setTimeout(8 * 60_000);
    await login(page);
    const count = rate * seconds;
    const ticks = `for number in $(seq ${count}); do echo "tick $number"; [ $((number % ${rate / 10})) != 0 ] || sleep 0.1; done`;
    const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'ticks', template: template(subnet, ticks), parameters: {} });
    const streams = sockets(page);
    await page.goto(`/runs/${started.run}`);
    const log = page.getByRole('log', { name: 'Log' });
    await expect(log).toContainText(/tick \d\d/, { timeout: 120_000 });
    await page.evaluate(() => void (document.body.dataset['opened'] = 'once'));

    const before = await newest(page);
    const { opened, closed } = streams;
    await Promise.all([restartServer(), expect(lost(page)).toBeVisible({ timeout: 60_000 })]);
    expect(streams.closed, 'the websocket was closed').toBeGreaterThan(closed);
    await expect.poll(() => newest(page), { message: 'lines go on after the restart', timeout: 120_000 }).toBeGreaterThan(before);
    await expect(lost(page)).toHaveCount(0);
    expect(streams.opened, 'another websocket was opened').toBeGreaterThan(opened);
    await ended(page, started.run);
    await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');
    await expect(page.locator('body'), 'the page was not loaded again').toHaveAttribute('data-opened', 'once');
    const lines = await allAreShown(page, started.run);
    const texts = lines.map(({ text }) => text).filter((text) => text?.startsWith('tick '));
    expect(texts).toHaveLength(count);
    expect(texts.filter((text, index) => text !== `tick ${index + 1}`)).toEqual([]);

    const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
    await ended(page, removal.run);
    expect(await leftovers(request)).toEqual({});
  });
}

/** A run that waits for some seconds. */
const pause = (seconds: number) => `heat_template_version: 2021-04-16
resources:
  pause: {type: OS::Heat::Delay, properties: {min_wait: ${seconds}}}
`;

test('a lost connection is told once, by the top bar if the whole page has none', async ({ page }) => {
  await login(page);
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'once', template: pause(10), parameters: {} });
  const cable = await network();
  const streams = sockets(page);
  await page.goto(`${cable.address}/runs/${run}`);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'running');
  await expect.poll(() => streams.opened).toBeGreaterThan(0);
  const search = page.getByRole('searchbox', { name: 'Search the log' });
  await search.fill('pause');
  cable.cut();
  await expect(lost(page)).toBeVisible();
  await expect.poll(() => streams.closed, 'the websocket is closed').toBeGreaterThan(0);
  await expect(page.getByRole('banner').getByText('No connection')).toBeVisible();
  await expect(lost(page)).toHaveCount(1);
  cable.mend();
  await expect(lost(page)).toHaveCount(0);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');
  await expect(search, 'the search stays').toHaveValue('pause');
  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, removal.run);
});

test('a page that is told to ask again does so', async ({ page }) => {
  await login(page);
  // Too slow for live events, then a server that stops.
  const codes = [1013, 1012];
  let opened = 0;
  await page.routeWebSocket(stream, (socket) => {
    const code = codes[opened];
    opened += 1;
    if (code) void socket.close({ code, reason: 'resume after 0' });
    else socket.connectToServer();
  });
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'told', template: pause(6), parameters: {} });
  await page.goto(`/runs/${run}`);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');
  expect(opened).toBeGreaterThan(codes.length);
  const lines = (await stored(page, run, 0)).filter((event) => event.type === 'log');
  await expect(page.locator('.log-line')).toHaveCount(lines.length);
  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, removal.run);
});

test('a page whose connection has died without a word looks for itself @full', async ({ page }) => {
  await login(page);
  await page.routeWebSocket(stream, (socket) => {
    const server = socket.connectToServer();
    server.onMessage(() => {});
    server.onClose(() => {});
  });
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'deaf', template: pause(4), parameters: {} });
  await page.goto(`/runs/${run}`);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'running');
  await ended(page, run);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded', { timeout: 45_000 });
  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, removal.run);
});

test('the page of a deployment shows responses that take longer than its reloads @full', async ({ page }) => {
  await login(page);
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'slow', template: pause(6), parameters: {} });
  await page.route(`**/api/v1/deployments/${deployment}`, async (route) => {
    const response = await route.fetch();
    // Longer than the interval of reloads during a run.
    await new Promise((answer) => setTimeout(answer, 5_000));
    await route.fulfill({ response });
  });
  await page.goto(`/deployments/${deployment}`);
  const line = page.locator('.deployment-line');
  await expect(line).toContainText('Running', { timeout: 15_000 });
  await ended(page, run);
  await expect(line).toContainText('Deployed', { timeout: 30_000 });
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, removal.run);
});

/** Compares the lines of the page with the stored ones. Returns the latter. */
async function allAreShown(page: Page, run: string): Promise<LogEvent[]> {
  const wanted = (await stored(page, run, 0)).filter((event) => event.type === 'log');
  const { lines: shown, misplaced } = await allShown(page, wanted[0]!.seq);
  expect(misplaced, 'each line once, in order').toEqual([]);
  // The page shows what the engine writes in backticks as code.
  const texts = new Map(wanted.map((event) => [event.seq, event.stream === 'engine' ? event.text?.replaceAll('`', '') : event.text]));
  expect(shown.filter(({ seq, text }) => texts.get(seq) !== text)).toEqual([]);
  const seen = new Set(shown.map(({ seq }) => seq));
  expect(wanted.filter(({ seq }) => !seen.has(seq))).toEqual([]);
  return wanted;
}

/** The number of the newest line that the page shows. */
async function newest(page: Page): Promise<number> {
  const numbers = await page.locator('.log-line').evaluateAll((lines) => lines.map((line) => Number((line as HTMLElement).dataset['seq'])));
  return Math.max(0, ...numbers);
}

/** The stored events with higher numbers. */
async function stored(page: Page, run: string, after: number): Promise<LogEvent[]> {
  const all: LogEvent[] = [];
  for (;;) {
    const last = all.at(-1)?.seq ?? after;
    const next = await api<LogEvent[]>(page, 'GET', `/runs/${run}/events?after=${last}&limit=10000`);
    if (next.length === 0) return all;
    all.push(...next);
  }
}

/** All lines, read from the page by scrolling from the first one to the end. And those that were not below a line before them. */
async function allShown(page: Page, first: number): Promise<{ lines: { seq: number; text: string }[]; misplaced: number[] }> {
  const log = page.getByRole('log', { name: 'Log' });
  const top = async () => {
    await log.evaluate((scroll) => void (scroll.scrollTop = 0));
    return log.locator(`[data-seq="${first}"]`).count();
  };
  await expect.poll(top, { message: 'the first line is loaded', timeout: 60_000 }).toBe(1);
  return log.evaluate(async (scroll) => {
    const frame = () => new Promise(requestAnimationFrame);
    const found = new Map<number, string>();
    const misplaced: number[] = [];
    for (;;) {
      const rows = [...scroll.querySelectorAll<HTMLElement>('.log-line')].map((line) => {
        const text = line.querySelector('.log-text')?.textContent ?? '';
        return { seq: Number(line.dataset['seq']), text, top: line.getBoundingClientRect().top };
      });
      rows.sort((one, other) => one.top - other.top);
      rows.forEach(({ seq, text }, at) => {
        found.set(seq, text);
        if (at > 0 && seq <= rows[at - 1]!.seq) misplaced.push(seq);
      });
      if (scroll.scrollTop + scroll.clientHeight >= scroll.scrollHeight - 1) break;
      scroll.scrollTop += scroll.clientHeight / 2;
      await frame();
      await frame();
    }
    return { lines: [...found].map(([seq, text]) => ({ seq, text })), misplaced };
  });
}

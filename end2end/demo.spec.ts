// The main scenario, end to end: draw, deploy, watch, open the deployed page, undeploy, and check that the cloud is
// empty.
import { expect, test, type Page } from '@playwright/test';
import { api, login, newDesign, node, shoot } from './support/app.ts';
import { readCode, typeCode } from './support/code.ts';
import { add, inspect, saved, tab } from './support/draw.ts';
import { openBastionRules } from './support/lab.ts';
import { leftovers } from './support/tidy.ts';

interface Event {
  seq: number;
  type: 'run' | 'step' | 'log' | 'resource';
  text?: string;
  state?: string;
}

const said = `Hello from the private server, ${Date.now()}`;

test('draw, deploy, watch, undeploy', async ({ page, request }) => {
  test.setTimeout(15 * 60_000);
  await login(page);
  await newDesign(page);
  let nginx = '';

  await test.step('draw', async () => {
    const network = await add(page, 'Network', { x: 0.4, y: 0.35 });
    await add(page, 'Router', { x: 0.85, y: 0.15 });
    const edge = await add(page, 'Public server', { on: node(page, network), x: 0.25, y: 0.6 });
    const web = await add(page, 'Private server', { on: node(page, network), x: 0.85, y: 0.6 });
    await tab(page, 'Catalogue');
    nginx = await add(page, 'nginx', { on: node(page, web), x: 0.5, y: 0.5 });
    const balancer = await add(page, 'HAProxy', { on: node(page, edge), x: 0.5, y: 0.5 });
    for (const server of [edge, web]) {
      const form = await inspect(page, server);
      await form.getByLabel('Image', { exact: true }).selectOption('debian-12');
      await form.getByLabel('Flavor', { exact: true }).selectOption('m1.small');
    }
    let form = await inspect(page, nginx);
    await form.getByLabel('Listen port', { exact: true }).fill('8080');
    await form.getByLabel('Page text', { exact: true }).fill(said);
    form = await inspect(page, balancer);
    await form.getByLabel('Backends', { exact: true }).selectOption(nginx);
    // Outputs have no node to drag, so this one is typed in the code view.
    await typeCode(page, `${await readCode(page)}\noutputs:\n  url:\n    value: {get_attr: [${balancer}, url]}\n`);
    await saved(page);
  });

  await test.step('plan', async () => {
    await page.getByRole('link', { name: 'Plan', exact: true }).click();
    await expect(page).toHaveURL(/\/plan\?version=\d+$/);
    const changes = page.getByRole('region', { name: 'Changes' });
    await expect(changes).toContainText('OS::Neutron::FloatingIP');
    await expect(changes).toContainText('added for you');
    await shoot(page, 'plan');
    await page.getByLabel('Deployment name').fill('demo');
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
  });

  await test.step('watch, with a reload in the middle', async () => {
    const run = idOf(page);
    await expect(page.getByRole('list', { name: 'Steps' }).locator('[data-state="running"]').first()).toBeVisible({ timeout: 60_000 });
    // Software is being installed now, so log lines are streaming.
    await expect(page.getByRole('log')).toContainText(/TASK|Install nginx/, { timeout: 8 * 60_000 });
    expect(await openBastionRules(request), 'the bastion is open while software is installed').toHaveLength(1);
    await shoot(page, 'run');
    await page.reload();
    await ends(page, 'succeeded');
    await noLineIsMissingOrDoubled(page, run);
    await tellTimes(page, run);
    await shoot(page, 'run-done');
  });

  await test.step('the page says what was typed', async () => {
    await openDeployment(page);
    const url = await page.locator('[data-output="url"]').getByRole('link').first().getAttribute('href');
    const services = page.getByRole('region', { name: 'Services' });
    const web = services.getByRole('row').filter({ hasText: '8080/tcp' });
    await expect(web).toContainText('Healthy');
    // A check asks the software on both servers, through the bastion.
    await page.getByRole('button', { name: 'Check now' }).click();
    const check = page.getByRole('region', { name: 'Check' });
    await expect(check).toContainText('All compared resources are as deployed.', { timeout: 120_000 });
    await expect(web).toContainText('Healthy');
    await node(page, nginx).click();
    const beside = page.getByRole('group', { name: 'Service' });
    await expect(beside).toContainText('Healthy');
    await expect(beside).toContainText('8080/tcp');
    await shoot(page, 'deployment');
    expect(url).toBeTruthy();
    await expect(async () => {
      const answer = await request.get(url!);
      expect(await answer.text()).toContain(said);
    }).toPass({ timeout: 60_000 });
    expect(await openBastionRules(request), 'the rule for SSH is gone after the run').toEqual([]);
  });

  await test.step('undeploy, and find the lab empty', async () => {
    await page.getByRole('button', { name: 'Undeploy', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Undeploy', exact: true }).click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
    await ends(page, 'succeeded');
    expect(await leftovers(request)).toEqual({});
  });
});

function idOf(page: Page): string {
  return new URL(page.url()).pathname.split('/').pop() ?? '';
}

async function openDeployment(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Deployments' }).first().click();
  await page.getByRole('link', { name: 'demo', exact: true }).first().click();
  await expect(page).toHaveURL(/\/deployments\//);
}

/** Waits for the end of the run in the API, and on the page. */
async function ends(page: Page, state: string): Promise<void> {
  const run = idOf(page);
  let last: { state: string; steps: { id: string; state: string; error?: string }[] } | undefined;
  await expect
    .poll(async () => {
      last = await api(page, 'GET', `/runs/${run}`);
      return ['succeeded', 'failed', 'cancelled', 'paused'].includes(last!.state);
    }, { timeout: 12 * 60_000, intervals: [500] })
    .toBe(true);
  const failed = last!.steps.filter((step) => step.error).map((step) => `${step.id}: ${step.error}`);
  expect(last!.state, failed.join('\n')).toBe(state);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', state);
}

/** Prints the duration of the run, and of each step that took at least 0.1 s. */
async function tellTimes(page: Page, run: string): Promise<void> {
  const { steps } = await api<{ steps: { id: string; started?: string; ended?: string }[] }>(page, 'GET', `/runs/${run}`);
  const walked = steps.filter((step) => step.started && step.ended).map(({ id, started, ended }) => ({ id, from: Date.parse(started!), to: Date.parse(ended!) }));
  const begin = Math.min(...walked.map((step) => step.from));
  const end = Math.max(...walked.map((step) => step.to));
  const line = (name: string, ms: number) => console.log(`demo deployment, ${name}: ${(ms / 1000).toFixed(1)} s`);
  line(`${walked.length} steps in all`, end - begin);
  for (const { id, from, to } of walked.toSorted((a, b) => b.to - b.from - (a.to - a.from))) {
    if (to - from >= 100) line(id, to - from);
  }
}

/** All events of a run, read in pages. */
async function events(page: Page, run: string): Promise<Event[]> {
  const all: Event[] = [];
  for (;;) {
    const more = await api<Event[]>(page, 'GET', `/runs/${run}/events?after=${all.at(-1)?.seq ?? 0}&limit=1000`);
    if (more.length === 0) return all;
    all.push(...more);
  }
}

/** Checks that the log on the page and the stored events have the same lines in the same order. */
async function noLineIsMissingOrDoubled(page: Page, run: string): Promise<void> {
  const stored = await events(page, run);
  stored.forEach((event, index) => expect(event.seq).toBe(index + 1));
  const lines = stored.filter((event) => event.type === 'log').map((event) => event.seq);
  expect(lines.length).toBeGreaterThan(10);
  await expect(async () => {
    expect(await shownLines(page)).toEqual(lines);
  }).toPass({ timeout: 60_000 });
}

/** Numbers of the log lines on the page, in order. Only visible lines are elements, so the log is read screen by screen. */
async function shownLines(page: Page): Promise<number[]> {
  return page.getByRole('log').evaluate(async (log) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const seen: number[] = [];
    for (let top = 0; ; top += log.clientHeight / 2) {
      log.scrollTop = top;
      await frame();
      const lines = [...log.querySelectorAll<HTMLElement>('[data-seq]')].sort((a, b) => a.offsetTop - b.offsetTop);
      const numbers = lines.map((line) => Number(line.dataset.seq));
      // Screens overlap: lines after the last known one are new. Duplicates on one screen remain.
      const known = numbers.lastIndexOf(seen.at(-1) ?? -1);
      seen.push(...numbers.slice(known + 1));
      if (top + log.clientHeight >= log.scrollHeight) return seen;
    }
  });
}

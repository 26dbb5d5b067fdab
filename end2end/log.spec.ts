// The log of a run: what programs write, as a terminal shows it; following, filters, links, copies and downloads.
import { readFile } from 'node:fs/promises';
import { expect, test, type Locator, type Page } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const template = String.raw`heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.59.1.0/24}
  server:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  talk:
    type: Stackloom::Catalog::script
    properties:
      host: {get_resource: server}
      script: |
        printf '\033[31mred\033[0m and \033[1mbold\033[0m\n'
        printf '10 %%\r50 %%\r100 %%\n'
        echo "wide $(printf 'x%.0s' $(seq 400)) end"
        echo complaint >&2
        for part in $(seq 8); do printf 'part %s of 8\r' $part; sleep 0.7; done
        echo
        for number in $(seq 150); do echo "line $number"; sleep 0.1; done
`;

interface LogEvent {
  seq: number;
  text: string;
}

test('a log shows what programs write as a terminal does, and is followed, filtered, linked to, copied and downloaded', async ({ page, context, request }) => {
  test.setTimeout(6 * 60_000);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await login(page);
  const { deployment, run } = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'terminal-like', template });
  await page.goto(`/runs/${run}`);
  const log = page.getByRole('log', { name: 'Log' });

  await test.step('a progress bar is one row while it runs', async () => {
    const bar = log.locator('.log-text', { hasText: /^part \d+ of 8$/ });
    await expect(bar).toHaveText(/^part [1-5] of 8$/, { timeout: 120_000 });
    const first = await bar.textContent();
    await expect(bar).not.toHaveText(first!);
    await expect(bar).toHaveCount(1);
    await expect(log).toContainText('line 1');
    await expect(bar).toHaveText('part 8 of 8');
  });

  await test.step('scrolling up lets the end go, and counts new lines', async () => {
    await expect(log).toContainText('line 20');
    const follow = page.getByRole('button', { name: /^(Follow|\d+ new lines?)$/ });
    await expect(follow).toBeHidden();
    await log.hover();
    await page.mouse.wheel(0, -300);
    await expect(follow).toBeVisible();
    const place = await log.evaluate((scroll) => scroll.scrollTop);
    const count = async () => Number((await follow.textContent())!.match(/^(\d+) new lines?$/)?.[1] ?? 0);
    await expect.poll(count).toBeGreaterThan(0);
    const few = await count();
    await expect.poll(count).toBeGreaterThan(few + 5);
    expect(await log.evaluate((scroll) => scroll.scrollTop)).toBe(place);
    await follow.click();
    await expect(follow).toBeHidden();
    const newest = await log.locator('.log-line').last().getAttribute('data-seq');
    await expect(log.locator('.log-line').last(), 'it goes on').not.toHaveAttribute('data-seq', newest!);
  });

  await ended(page, run);
  const found = async (text: string): Promise<number> => {
    const { lines } = await api<{ lines: LogEvent[] }>(page, 'GET', `/runs/${run}/search?text=${encodeURIComponent(text)}`);
    expect(lines.map((line) => line.text), text).toHaveLength(1);
    return lines[0]!.seq;
  };
  const [coloured, bar, wide] = [await found('red and bold'), await found('100 %'), await found('xxx end')];
  const line = (number: number): Locator => log.locator(`[data-seq="${number}"]`);

  await test.step('a link to a range marks its lines', async () => {
    // The page is the same: a change of the fragment alone loads nothing.
    const follow = () => page.goto(`/runs/${run}#L${coloured}-L${bar}`);
    for (const open of [follow, () => page.reload()]) {
      await open();
      for (const number of [coloured, bar]) {
        await expect(line(number)).toHaveAttribute('data-marked', 'true');
        await expect(line(number)).toBeInViewport();
      }
      await expect(line(wide)).not.toHaveAttribute('data-marked');
    }
    await expect(line(bar).locator('.log-time'), 'its date').toHaveAttribute('title', new RegExp(` ${new Date().getFullYear()} `));
  });

  await test.step('a click and one with Shift make such a link', async () => {
    await line(wide).locator('.log-time').click();
    await expect(page).toHaveURL(new RegExp(`#L${wide}$`));
    await line(coloured).locator('.log-time').click();
    await line(bar).locator('.log-time').click({ modifiers: ['Shift'] });
    await expect(page).toHaveURL(new RegExp(`#L${coloured}-L${bar}$`));
    await expect(line(bar)).toHaveAttribute('data-marked', 'true');
    await expect(line(wide)).not.toHaveAttribute('data-marked');
  });

  await test.step('colours are colours, and a carriage return replaces', async () => {
    await expect(line(coloured).locator('.log-text')).toHaveText('red and bold');
    await expect(line(coloured).locator('[data-colour="1"]')).toHaveText('red');
    await expect(line(coloured).locator('[data-bold]')).toHaveText('bold');
    await expect(line(bar).locator('.log-text')).toHaveText('100 %');
    await shoot(page, 'run-log-terminal');
  });

  await test.step('long lines wrap, or not', async () => {
    const height = async () => (await line(wide).boundingBox())!.height;
    const wrap = page.getByRole('button', { name: 'Wrap long lines' });
    await expect(wrap).toHaveAttribute('aria-pressed', 'true');
    expect(await height()).toBeGreaterThan(40);
    await wrap.click();
    await expect.poll(height).toBe(20);
    await wrap.click();
    await expect.poll(height).toBeGreaterThan(40);
  });

  await test.step('marked lines are copied', async () => {
    await page.getByRole('button', { name: 'Copy the log' }).click();
    await expect(page.getByText('The marked lines were copied.')).toBeVisible();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain('  talk:configure  red and bold\n');
    expect(copied).toContain('  talk:configure  100 %\n');
    expect(copied).not.toContain('xxx end');
  });

  await test.step('a filter chooses streams and levels, also of the download', async () => {
    await page.getByRole('button', { name: 'Filter and times' }).click();
    for (const stream of ['Output of programs', 'Ansible', 'Stackloom', 'Consoles of servers']) {
      await page.getByRole('checkbox', { name: stream, exact: true }).uncheck();
    }
    await expect(log.locator('.log-text')).toHaveText(['complaint']);
    await page.keyboard.press('Escape');
    expect(await downloaded(page, 'As text')).toMatch(/^\S+Z {2}talk:configure {2}complaint\n$/);

    await page.getByRole('button', { name: 'Filter and times' }).click();
    await page.getByRole('group', { name: 'Level' }).getByRole('button', { name: 'Errors', exact: true }).click();
    await expect(log).toContainText(/The filter hides all \d+ lines/);
    await page.keyboard.press('Escape');
    await log.getByRole('button', { name: 'Clear the filter' }).click();
    await expect(log.locator('.log-line').first()).toBeVisible();
  });

  await test.step('a copied link and the way back open the same view', async () => {
    await page.getByRole('button', { name: 'Filter and times' }).click();
    for (const stream of ['Output of programs', 'Ansible', 'Stackloom', 'Consoles of servers']) {
      await page.getByRole('checkbox', { name: stream, exact: true }).uncheck();
    }
    await page.keyboard.press('Escape');
    const search = (of: Page): Locator => of.getByRole('searchbox', { name: 'Search the log' });
    await search(page).fill('complain');
    await expect(page).toHaveURL(/\?stream=stderr&search=complain(#|$)/);
    const link = page.url();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Deployments' }).click();
    await expect(page).toHaveURL(/\/deployments$/);
    await page.goBack();
    const other = await context.newPage();
    await other.goto(link);
    for (const one of [page, other]) {
      await expect(search(one)).toHaveValue('complain');
      await expect(one.getByRole('log', { name: 'Log' }).locator('.log-text')).toHaveText(['complaint']);
    }
    await other.close();
    await page.goto(`/runs/${run}`);
  });

  await test.step('one step back takes back a link to a step, a filter and a search of the same run', async () => {
    await expect(log.locator('.log-line').first()).toBeVisible();
    const search = page.getByRole('searchbox', { name: 'Search the log' });
    await page.evaluate(() => {
      const link = document.createElement('a');
      link.href = '?step=talk:configure&stream=stderr&search=complain';
      document.body.append(link);
      link.click();
      link.remove();
    });
    const step = page.locator('.step-detail strong');
    await expect(step).toHaveText('talk:configure');
    await expect(search).toHaveValue('complain');
    await expect(log.locator('.log-text')).toHaveText(['complaint']);
    await page.goBack();
    await expect(step).toHaveCount(0);
    await expect(search).toHaveValue('');
    await expect(log.locator('.log-line').nth(1)).toBeVisible();
    await expect(page).toHaveURL(`/runs/${run}`);
  });

  await test.step('a download has all lines, as the program wrote them', async () => {
    const text = await downloaded(page, 'As text');
    expect(text).toContain('\u001b[31mred\u001b[0m and \u001b[1mbold\u001b[0m\n');
    expect(text).toContain('  10 %\r50 %\r100 %\n');
    const lines = (await downloaded(page, 'As JSON lines')).trim().split('\n').map((json) => JSON.parse(json) as LogEvent);
    expect(lines).toHaveLength(text.trim().split('\n').length);
    expect(lines.filter((one) => one.text.startsWith('line ')).map((one) => one.text)).toEqual(Array.from({ length: 150 }, (_, index) => `line ${index + 1}`));
    expect(lines.filter((one) => one.text.includes('of 8')), 'only the end of the progress bar').toHaveLength(1);
  });

  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, removal.run);
  expect(await leftovers(request)).toEqual({});
});

/** Content of a downloaded log. */
async function downloaded(page: Page, format: string): Promise<string> {
  await page.getByRole('button', { name: 'Download the log' }).click();
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: format }).click();
  return readFile(await (await downloading).path(), 'utf8');
}

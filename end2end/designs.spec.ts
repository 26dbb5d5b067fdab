// The list of designs: import from a file, rename, copy, export, delete. The starters, one of which is deployed.
import { readFileSync } from 'node:fs';
import { expect, test, type Locator, type Page } from '@playwright/test';
import { api, canvasReady, login, node, nodeNames, openDesigns, shoot } from './support/app.ts';
import { problems } from './support/draw.ts';
import { ended } from './support/runs.ts';
import { twoTier } from './support/templates.ts';
import { leftovers } from './support/tidy.ts';

const template = `${twoTier('from a file')}# the last line is a comment, and stays\n`;

/** The row of a design. */
function row(page: Page, name: string): Locator {
  return page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
}

async function choose(page: Page, name: string, action: string): Promise<void> {
  await row(page, name).getByRole('button', { name: `Actions for ${name}` }).click();
  await row(page, name).getByRole('button', { name: action, exact: true }).click();
}

test('a design comes from a file, gets a name, and goes to a file as it came', async ({ page }) => {
  await login(page);
  // The input is in the page before its listener is: the listener is there when the page reacts to clicks.
  await openDesigns(page);
  await page.getByLabel(/HOT file/).setInputFiles({ name: 'shop-front.yaml', mimeType: 'text/yaml', buffer: Buffer.from(template) });
  await expect(page).toHaveURL(/\/designs\/[^/]+$/);
  await canvasReady(page);
  expect(await nodeNames(page)).toEqual(expect.arrayContaining(['front', 'edge', 'web', 'nginx', 'balancer']));

  await page.goto('/designs');
  await choose(page, 'shop-front', 'Rename');
  const dialog = page.getByRole('dialog', { name: 'Rename design' });
  await dialog.getByLabel('Name').fill('Shop, summer');
  await dialog.getByRole('button', { name: 'Rename' }).click();
  await expect(row(page, 'Shop, summer')).toBeVisible();
  await expect(row(page, 'shop-front')).toHaveCount(0);

  const download = page.waitForEvent('download');
  await choose(page, 'Shop, summer', 'Download the template');
  const file = await download;
  expect(file.suggestedFilename()).toBe('shop-summer.yaml');
  expect(readFileSync(await file.path(), 'utf8')).toBe(template);
});

test('a design leaves for others, with what they cannot say named on top', async ({ page }) => {
  await login(page);
  const made = await page.request.post('/api/v1/designs', { data: { name: 'for others', template } });
  const { id } = await made.json();
  await page.goto('/designs');
  const forms = [
    ['Heat template', 'for-others.hot.yaml', 'OS::Heat::SoftwareDeployment'],
    ['Terraform JSON', 'for-others.tf.json', 'openstack_compute_instance_v2'],
    ['TOSCA', 'for-others.tosca.yaml', 'stackloom.nodes.nginx'],
  ] as const;
  for (const [form, name, holds] of forms) {
    await choose(page, 'for others', `Export as ${form}`);
    // Losses in the exported file are listed before the download.
    const report = page.getByRole('dialog', { name: `Export as ${name}?` });
    await expect(report.getByRole('listitem').first()).toContainText(/left out|changed|needed/);
    const download = page.waitForEvent('download');
    await report.getByRole('button', { name: 'Download' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe(name);
    expect(readFileSync(await file.path(), 'utf8')).toContain(holds);
    await expect(page.getByText(`${name} is exported.`).first()).toBeVisible();
  }

  await page.goto(`/designs/${id}`);
  await canvasReady(page);
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  await page.getByRole('button', { name: 'Export as Picture (SVG)' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
  expect(readFileSync(await (await download).path(), 'utf8')).toContain('<svg');

  await page.getByRole('button', { name: 'Export', exact: true }).click();
  await page.getByRole('button', { name: 'Export as Picture (PNG)' }).click();
  const painting = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
  const picture = await painting;
  expect(picture.suggestedFilename()).toBe('for-others.png');
  const pixels = readFileSync(await picture.path());
  expect(pixels.subarray(1, 4).toString()).toBe('PNG');
  expect(pixels.readUInt32BE(16), 'its width').toBeGreaterThan(400);
});

test('a design of several files leaves as an archive', async ({ page }) => {
  await login(page);
  const head = 'heat_template_version: 2021-04-16\n';
  await page.request.post('/api/v1/designs', {
    data: {
      name: 'with files',
      template: `${head}resources:\n  web: {type: web.yaml}\n`,
      files: { 'web.yaml': `${head}resources:\n  net: {type: OS::Neutron::Net}\n` },
    },
  });
  await page.goto('/designs');
  const download = page.waitForEvent('download');
  await choose(page, 'with files', 'Export as Heat template');
  const file = await download;
  expect(file.suggestedFilename()).toBe('with-files.hot.tar.gz');
  const bytes = readFileSync(await file.path());
  expect([bytes[0], bytes[1]]).toEqual([0x1f, 0x8b]);
});

test('a design is copied, and thrown away after a question', async ({ page }) => {
  await login(page);
  await page.request.post('/api/v1/designs', { data: { name: 'original', template } });
  await page.goto('/designs');
  await choose(page, 'original', 'Duplicate');
  await expect(page).toHaveURL(/\/designs\/[^/]+$/);
  await canvasReady(page);
  await page.goto('/designs');
  await expect(row(page, 'original copy')).toBeVisible();

  const main = page.getByRole('navigation', { name: 'Main' });
  await main.getByRole('link', { name: 'Deployments' }).click();
  await expect(page).toHaveURL(/\/deployments$/);
  await main.getByRole('link', { name: 'Designs' }).click();
  await choose(page, 'original', 'Delete');
  const question = page.getByRole('dialog', { name: 'Delete original?' });
  await expect(question).toContainText('all its versions');
  // The question ends with its page.
  await page.goBack();
  await expect(page).toHaveURL(/\/deployments$/);
  await expect(question).toBeHidden();
  await page.goForward();
  await choose(page, 'original', 'Delete');
  await question.getByRole('button', { name: 'Keep it as it is' }).click();
  await expect(row(page, 'original')).toBeVisible();
  await choose(page, 'original', 'Delete');
  await question.getByRole('button', { name: 'Delete' }).click();
  await expect(row(page, 'original')).toHaveCount(0);
  await expect(row(page, 'original copy')).toBeVisible();
});

/** Opens the dialog with the starters. */
async function starters(page: Page): Promise<Locator> {
  await openDesigns(page);
  await page.getByRole('button', { name: 'New design' }).click();
  const dialog = page.getByRole('dialog', { name: 'New design' });
  await expect(dialog).toBeVisible();
  return dialog;
}

/** Starts with a starter of the dialog, and checks that there is nothing to mend. */
async function startWith(page: Page, dialog: Locator, starter: string): Promise<void> {
  await dialog.getByRole('button', { name: starter }).click();
  await expect(page).toHaveURL(/\/designs\/[^/]+$/);
  await canvasReady(page);
  await expect(await problems(page), starter).toContainText('No problems. This can be deployed.');
}

test('starters have pictures, and one of them opens without a problem', async ({ page }) => {
  await login(page);
  const dialog = await starters(page);
  const pictures = dialog.locator('img.card-picture');
  await expect(pictures).toHaveCount(12);
  const isDrawn = (picture: Element) => (picture as HTMLImageElement).naturalWidth > 0;
  for (const picture of await pictures.all()) {
    await picture.scrollIntoViewIfNeeded();
    await expect.poll(() => picture.evaluate(isDrawn)).toBe(true);
  }
  await shoot(page, 'starters');
  await startWith(page, dialog, 'WordPress with its database');
  await expect(node(page, 'wordpress')).toBeVisible();
  await shoot(page, 'wordpress');
});

test('every starter opens without a problem @full', async ({ page }) => {
  await login(page);
  const dialog = await starters(page);
  const names = await dialog.locator('.card-title').allTextContents();
  expect(names).toEqual(expect.arrayContaining(['Two networks', 'WordPress with its database', 'Queue with workers', 'Monitored servers']));
  for (const name of names.filter((name) => name !== 'Empty')) {
    await startWith(page, dialog, name);
    await starters(page);
  }
});

test('WordPress answers on its page, and its administrator logs in @full', async ({ page, request }) => {
  test.setTimeout(20 * 60_000);
  const password = 'first-secret';
  await login(page);
  await startWith(page, await starters(page), 'WordPress with its database');
  await page.getByRole('link', { name: 'Plan', exact: true }).click();
  await page.getByLabel("Administrator's password").fill(password);
  await page.getByLabel('Deployment name').fill('blog');
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
  const { deployment } = await ended(page, new URL(page.url()).pathname.split('/').pop() ?? '', 15 * 60_000);

  const popup = page.waitForEvent('popup');
  await page.locator('[data-output="url"]').getByRole('link', { name: 'Open' }).click();
  const site = await popup;
  await expect(site).toHaveTitle(/My site/);
  await shoot(site, 'wordpress-page');
  await site.goto(new URL('/wp-login.php', site.url()).href);
  await site.getByLabel('Username or Email Address').fill('admin');
  await site.getByLabel('Password', { exact: true }).fill(password);
  await site.getByRole('button', { name: 'Log In' }).click();
  await expect(site.getByRole('heading', { name: 'Dashboard', level: 1 })).toBeVisible({ timeout: 60_000 });

  const { run } = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, run);
  expect(await leftovers(request)).toEqual({});
});

// Versions of a design, and two people on one design.
import { expect, test, type Page } from '@playwright/test';
import { api, canvasReady, login, node, openDesign, shoot } from './support/app.ts';
import { accessible } from './support/axe.ts';
import { expectCode, readCode, typeCode } from './support/code.ts';
import { inspect, saved } from './support/draw.ts';

const template = `heat_template_version: 2021-04-16

resources:
  front:
    type: OS::Neutron::Net
  # The web server.
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
`;

interface Stored {
  id: string;
  template: string;
  version: number;
}

const stored = (page: Page, id: string): Promise<Stored> => api<Stored>(page, 'GET', `/designs/${id}`);

async function design(page: Page, name: string): Promise<string> {
  const { id } = await api<Stored>(page, 'POST', '/designs', { name, template });
  await openDesign(page, id);
  await canvasReady(page);
  return id;
}

/** Saves a change of somebody else. */
async function change(page: Page, id: string, from: string | RegExp, to: string): Promise<void> {
  const now = await stored(page, id);
  await api(page, 'PUT', `/designs/${id}`, { ...now, template: now.template.replace(from, to), base_version: now.version });
}

/** Types into the template in place of some of its text. */
async function retype(page: Page, from: string, to: string): Promise<void> {
  await typeCode(page, (await readCode(page)).replace(from, to));
}

/** The page is deaf to changes of others until it saves. */
const deaf = (page: Page): Promise<unknown> => page.route('**/api/v1/designs/*/viewers', (route) => route.abort());

test('a version is compared on the canvas and in text, labelled, and restored', async ({ page }) => {
  await login(page);
  const id = await design(page, 'versions');
  await retype(page, 'm1.small', 'm1.large');
  await saved(page);
  await retype(page, 'resources:\n', 'resources:\n  back:\n    type: OS::Neutron::Net\n');
  await saved(page);

  await page.getByRole('button', { name: /^v\d+$/ }).click();
  const history = page.getByRole('tabpanel', { name: 'History' });
  const versions = history.getByRole('list', { name: 'Versions' });
  await expect(versions.getByRole('button').first()).toContainText('(now)');
  await versions.getByRole('button', { name: /^v1\b/ }).click();
  const changes = history.getByRole('list', { name: 'Changes since version 1' });
  await expect(changes.getByRole('listitem')).toContainText([/Added since .*resources\.back/, /Changed since .*resources\.web/]);
  await expect(changes).toContainText('m1.large');
  await expect(node(page, 'back')).toHaveAttribute('data-state', 'plan-create');
  await expect(node(page, 'back')).toHaveAccessibleName(/, New$/);
  await expect(node(page, 'web')).toHaveAttribute('data-state', 'plan-update');
  await expect(node(page, 'front')).toHaveAttribute('data-state', 'idle');
  await changes.getByRole('button', { name: 'Show back on the canvas' }).click();
  await expect(node(page, 'back')).toHaveAttribute('data-selected', 'true');

  // What was removed since is a ghost.
  await changes.getByRole('button', { name: 'Show web on the canvas' }).click();
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Delete');
  await expect(node(page, 'web')).toHaveCount(0);
  const ghost = page.getByTestId('canvas').locator('.node[data-name="web"]');
  await expect(ghost).toHaveAttribute('data-state', 'plan-delete');
  await expect(ghost).toHaveAttribute('data-ghost', 'true');
  await expect(ghost).toContainText('Removed');
  await shoot(page, 'removed');
  await page.keyboard.press('Control+z');
  await expect(node(page, 'web')).toHaveAttribute('data-state', 'plan-update');
  await saved(page);

  await history.getByLabel('Label of the version').fill('before the rush');
  await page.keyboard.press('Enter');
  await expect(versions.getByRole('button', { name: /^v1\b.*before the rush/ })).toBeVisible();

  await shoot(page, 'history');
  await history.getByRole('button', { name: 'Restore' }).click();
  await expect(node(page, 'back')).toHaveCount(0);
  await expect(history).toContainText('The design is the same now');
  await saved(page);
  expect((await stored(page, id)).template).toBe(template);

  await page.getByRole('tab', { name: 'Code' }).click();
  await expect(node(page, 'web')).toHaveAttribute('data-state', 'idle');
  await page.getByRole('button', { name: /^Undo/ }).first().click();
  await expect(node(page, 'back')).toBeVisible();
});

test('a version that differs in files and positions only is compared and restored', async ({ page }) => {
  await login(page);
  const files = { 'setup.sh': '#!/bin/sh\n', 'old.sh': 'true\n' };
  const layout = { nodes: { front: { x: 0, y: 0 } } };
  const { id } = await api<Stored>(page, 'POST', '/designs', { name: 'beside', template, files, layout });
  await openDesign(page, id);
  await page.getByLabel('Files beside the template').setInputFiles([
    { name: 'setup.sh', mimeType: 'text/plain', buffer: Buffer.from('#!/bin/sh\necho hello\n') },
    { name: 'new.sh', mimeType: 'text/plain', buffer: Buffer.from('true\n') },
  ]);
  await page.getByRole('region', { name: 'Files' }).getByRole('button', { name: 'Remove old.sh' }).click();
  await inspect(page, 'front');
  await page.keyboard.press('ArrowRight');
  await saved(page);

  await page.getByRole('button', { name: /^v\d+$/ }).click();
  const history = page.getByRole('tabpanel', { name: 'History' });
  await history.getByRole('list', { name: 'Versions' }).getByRole('button', { name: /^v1\b/ }).click();
  const changes = history.getByRole('list', { name: 'Changes since version 1' });
  await expect(changes).toContainText(/Added since .*new\.sh/);
  await expect(changes).toContainText(/Changed since .*setup\.sh/);
  await expect(changes).toContainText(/Removed since .*old\.sh/);
  await expect(changes).toContainText(/Moved: \d/);
  await history.getByRole('button', { name: 'Restore' }).click();
  await expect(history).toContainText('The design is the same now');
  await saved(page);
  const now = await api<{ files: Record<string, string> }>(page, 'GET', `/designs/${id}`);
  expect(now.files).toEqual(files);
});

test('changes in two windows to different parts are merged, and both show them', async ({ page, context }) => {
  await login(page);
  const id = await design(page, 'two people');
  const other = await context.newPage();
  await openDesign(other, id);
  await canvasReady(other);

  await deaf(page);
  await change(other, id, 'debian-12', 'ubuntu-24.04');
  await retype(page, 'm1.small', 'm1.large');
  await expect(page.getByText(/^Merged with version \d+/)).toBeVisible();
  await saved(page);
  const both = template.replace('debian-12', 'ubuntu-24.04').replace('m1.small', 'm1.large');
  expect((await stored(page, id)).template).toBe(both);
  await expectCode(page, both);
  // The other window has nothing unsaved, and follows.
  await expectCode(other, both);
});

test('people see who else has a design open, and what they have selected', async ({ page, context }) => {
  await login(page);
  const id = await design(page, 'together');
  const here = page.getByRole('group', { name: 'Also here' });
  await expect(here).toHaveCount(0);
  const other = await context.newPage();
  await openDesign(other, id);
  await canvasReady(other);
  await node(other, 'web').click();

  await expect(here.getByRole('button', { name: 'demo (you, on another page) has selected web' })).toBeVisible();
  await expect(node(page, 'web')).toHaveAttribute('data-others', 'demo');
  await expect(node(page, 'front')).not.toHaveAttribute('data-others');
  await shoot(page, 'together');
  await here.getByRole('button').click();
  await expect(node(page, 'web')).toHaveAttribute('data-selected', 'true');

  await other.goto('about:blank');
  await expect(here).toHaveCount(0);
  await expect(node(page, 'web')).not.toHaveAttribute('data-others');
});

test('what both changed is shown side by side, and nothing is saved before the choice', async ({ page }) => {
  await login(page);
  const id = await design(page, 'the same place');
  await deaf(page);
  await change(page, id, 'm1.small', 'm1.tiny');
  await change(page, id, 'debian-12', 'ubuntu-24.04');
  await change(page, id, '# The web server.', '# Serves pages.');
  await retype(page, 'm1.small', 'm1.large');
  const conflict = page.getByTestId('conflict');
  await expect(conflict).toContainText('You, in another tab or browser');
  await expect(conflict).toContainText('both changed one place');
  await expect(conflict).toContainText('resources.web.properties.flavor');
  await expect(conflict.locator('[data-tag="old"]')).toContainText('m1.tiny');
  await expect(conflict.locator('[data-tag="new"]')).toContainText('m1.large');
  await shoot(page, 'conflict');
  await accessible(page);
  const save = conflict.getByRole('button', { name: 'Save as chosen' });
  await expect(save).toBeDisabled();
  expect((await stored(page, id)).template).toContain('m1.tiny');

  await conflict.getByRole('radio', { name: /Mine/ }).focus();
  await page.keyboard.press('Space');
  await save.click();
  await saved(page);
  const text = template.replace('m1.small', 'm1.large').replace('debian-12', 'ubuntu-24.04').replace('# The web server.', '# Serves pages.');
  expect((await stored(page, id)).template).toBe(text);
  await inspect(page, 'web');
  await expectCode(page, text);
});

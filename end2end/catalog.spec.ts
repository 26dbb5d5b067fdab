// A custom catalogue item: packed, uploaded, dropped on a server, deployed; and refusals of invalid archives.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test, type Page } from '@playwright/test';
import { alert, api, login, newDesign, node, shoot } from './support/app.ts';
import { accessible } from './support/axe.ts';
import { add, inspect, saved, tab } from './support/draw.ts';
import { readsGit, serveGit } from './support/git.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const manifest = (version: string, name = 'greeter', title = 'Greeter') => `name: ${name}
title: ${title}
version: ${version}
summary: Writes a word on the server and reads it back.
category: your own
outputs:
  said: "{stats.said}"
tested: [ubuntu-24.04]
`;
const specs = `argument_specs:
  main:
    options:
      word: {type: str, default: hello, description: What it writes.}
`;
const tasks = (version: string) => `- name: Write the word
  ansible.builtin.copy: {content: "{{ word }} of ${version}", dest: /root/word}
- name: Read it
  ansible.builtin.command: cat /root/word
  register: read
  changed_when: false
- ansible.builtin.set_stats: {data: {said: "{{ read.stdout }}"}}
`;
const item = (version: string, name = 'greeter', title = 'Greeter') => ({
  'item.yml': manifest(version, name, title),
  'meta/argument_specs.yml': specs,
  'tasks/main.yml': tasks(version),
  'README.md': '# Greeter\n\nSays a word. <img src=x onerror=alert(1)>\n',
});

const folder = mkdtempSync(join(tmpdir(), 'stackloom-item-'));
test.afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A tar.gz of a folder with these files and symbolic links. */
function pack(name: string, files: Record<string, string>, links: Record<string, string> = {}): string {
  const root = join(folder, name);
  const at = (path: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    return join(root, path);
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(at(path), text);
  for (const [path, target] of Object.entries(links)) symlinkSync(target, at(path));
  execFileSync('tar', ['-czf', `${root}.tar.gz`, '-C', folder, name]);
  return `${root}.tar.gz`;
}

async function upload(page: Page, archive: string): Promise<void> {
  const button = page.getByRole('button', { name: 'Upload an item' });
  await expect(button).toBeEnabled({ timeout: 60_000 });
  const chooser = page.waitForEvent('filechooser');
  await button.click();
  await (await chooser).setFiles(archive);
}

test('an item of one\'s own is uploaded, and its page says what a newer version changes', async ({ page }) => {
  await login(page);
  await page.goto('/catalog');
  await upload(page, pack('speaker', item('1.0.0', 'speaker', 'Speaker')));
  await expect(page.getByText('Speaker 1.0.0 is in the catalogue')).toBeVisible();
  const card = page.locator('[data-item="speaker"]');
  await expect(card).toContainText("this project's");
  await expect(card).toContainText('tested on ubuntu-24.04');
  await shoot(page, 'catalog');
  await upload(page, pack('speaker', { ...item('1.1.0', 'speaker', 'Speaker'), 'meta/argument_specs.yml': specs.replace('hello', 'good day') }));
  await expect(page.getByText('Speaker 1.1.0 is in the catalogue')).toBeVisible();
  await card.getByRole('link', { name: 'Speaker' }).click();
  await expect(page.getByRole('region', { name: 'Inputs' })).toContainText('What it writes.');
  await expect(page.getByText('<img src=x onerror=alert(1)>')).toBeVisible();
  await expect(page.locator('.facts > div').filter({ hasText: 'Tested on' })).toContainText('ubuntu-24.04');
  await shoot(page, 'catalog-item');
  await page.getByRole('link', { name: '1.0.0', exact: true }).click();
  await expect(page).toHaveURL(/version=1\.0\.0$/);
  const newer = page.getByRole('region', { name: 'Newer version' });
  const inputs = newer.getByRole('table', { name: 'Changed inputs' });
  await expect(inputs.getByRole('row').filter({ hasText: 'word' })).toContainText(/default hello.*default good day/);
  await newer.getByText('tasks/main.yml').click();
  await expect(newer).toContainText('{{ word }} of 1.1.0');
  await newer.getByRole('link', { name: 'Show the newest version' }).click();
  await expect(page.getByRole('button', { name: 'Add to design' })).toBeVisible();
});

test('an item of one\'s own is drawn, planned, deployed and changed to its next version @full', async ({ page, request }) => {
  test.setTimeout(5 * 60_000);
  await login(page);

  await test.step('upload', async () => {
    await page.goto('/catalog');
    await upload(page, pack('greeter', item('1.0.0')));
    await expect(page.getByText('Greeter 1.0.0 is in the catalogue')).toBeVisible();
  });

  const greeter = await test.step('draw', async () => {
    await newDesign(page);
    const network = await add(page, 'Network', { x: 0.4, y: 0.35 });
    const edge = await add(page, 'Public server', { on: node(page, network), x: 0.5, y: 0.6 });
    await tab(page, 'Catalogue');
    const greeter = await add(page, 'Greeter', { on: node(page, edge), x: 0.5, y: 0.5 });
    let form = await inspect(page, edge);
    await form.getByLabel('Image', { exact: true }).selectOption('debian-12');
    await form.getByLabel('Flavor', { exact: true }).selectOption('m1.small');
    form = await inspect(page, greeter);
    await form.getByLabel('Word', { exact: true }).fill('good morning');
    await saved(page);
    return greeter;
  });

  const deployment = await test.step('plan and deploy', async () => {
    await page.getByRole('link', { name: 'Plan', exact: true }).click();
    const changes = page.getByRole('region', { name: 'Changes' });
    await expect(changes).toContainText('Stackloom::Catalog::greeter');
    await expect(changes).toContainText(/Its version \S+ was uploaded by \w+\./);
    const warning = page.getByRole('listitem').filter({ hasText: 'the item was tested on ubuntu-24.04 only' });
    await expect(warning).toContainText('on the image debian-12');
    await page.getByLabel('Deployment name').fill('greeting');
    await page.getByRole('button', { name: 'Deploy', exact: true }).click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
    const run = new URL(page.url()).pathname.split('/').pop() ?? '';
    return (await ended(page, run)).deployment;
  });

  await test.step('a newer version changes nothing of what is deployed', async () => {
    await page.goto('/catalog');
    await upload(page, pack('greeter', item('1.1.0')));
    await expect(page.getByText('Greeter 1.1.0 is in the catalogue')).toBeVisible();
    const there = await api<{ name: string; template: string }>(page, 'GET', `/deployments/${deployment}`);
    const said = `\noutputs:\n  said: {value: {get_attr: [${greeter}, said]}}\n`;
    const template = there.template.replace('good morning', 'good evening') + said;
    const { run } = await api<{ run: string }>(page, 'PUT', `/deployments/${deployment}`, { name: there.name, template, parameters: {} });
    await ended(page, run);
    const now = await api<{ outputs: Record<string, { value: unknown }> }>(page, 'GET', `/deployments/${deployment}`);
    expect(now.outputs['said']?.value).toBe('good evening of 1.0.0');
  });

  await test.step('a deployment leads to the page of its version of the item', async () => {
    await page.goto('/catalog/greeter');
    await page.getByRole('region', { name: 'Deployments' }).getByRole('link', { name: '1.0.0', exact: true }).click();
    await expect(page).toHaveURL(/version=1\.0\.0$/);
    await page.getByRole('link', { name: 'Show the newest version' }).click();
    await expect(page.getByRole('button', { name: 'Add to design' })).toBeVisible();
  });

  await test.step('the newer version is compared, planned and rolled out', async () => {
    await page.goto(`/deployments/${deployment}`);
    const items = page.getByRole('region', { name: 'Catalogue items' });
    await expect(items.locator('[data-item="greeter"]')).toContainText('1.1.0 is available');
    await items.scrollIntoViewIfNeeded();
    await items.getByRole('button', { name: 'Change version' }).click();
    const dialog = page.getByRole('dialog', { name: 'Another version of greeter' });
    await dialog.getByText('tasks/main.yml').click();
    await expect(dialog).toContainText('{{ word }} of 1.1.0');
    await expect(dialog).toContainText('The inputs stay the same.');
    await shoot(page, 'item-versions');
    await dialog.getByRole('button', { name: 'Plan the change' }).click();
    const question = page.getByRole('dialog', { name: 'greeter: 1.0.0 → 1.1.0?' });
    await expect(question).toContainText('its item changes from version 1.0.0 to 1.1.0');
    await question.getByRole('button', { name: 'Change version' }).click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
    await ended(page, new URL(page.url()).pathname.split('/').pop() ?? '');
    const now = await api<{ outputs: Record<string, { value: unknown }> }>(page, 'GET', `/deployments/${deployment}`);
    expect(now.outputs['said']?.value).toBe('good evening of 1.1.0');
  });

  await test.step('undeploy', async () => {
    const { run } = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
    await ended(page, run);
    expect(await leftovers(request)).toEqual({});
  });
});

test('an item is taken from a folder of a git repository, for a test and to be published', async ({ page }) => {
  test.skip(!readsGit, 'the server reads no repositories');
  await login(page);
  const [host = ''] = await api<string[]>(page, 'GET', '/git-hosts');
  const root = mkdtempSync(join(folder, 'git-'));
  const git = (...args: string[]) => execFileSync('git', args, { cwd: join(root, 'items'), stdio: 'ignore' });
  for (const [path, text] of Object.entries(item('1.0.0', 'git-greeter', 'Greeter of git'))) {
    mkdirSync(dirname(join(root, 'items/greeter', path)), { recursive: true });
    writeFileSync(join(root, 'items/greeter', path), text);
  }
  git('init', '--initial-branch=main');
  git('add', '--all');
  git('-c', 'user.name=x', '-c', 'user.email=x@example.org', 'commit', '--message=x');
  const server = await serveGit(root, Number(host.split(':')[1]));
  const repository = page.getByRole('dialog', { name: 'Item from a git repository' });
  const take = async (url: string, action: 'Test' | 'Publish') => {
    await page.getByRole('button', { name: 'From git' }).click();
    await repository.getByLabel('Repository', { exact: true }).fill(url);
    await repository.getByLabel('Folder', { exact: true }).fill('greeter');
    await repository.getByRole('button', { name: action }).click();
  };
  try {
    await page.goto('/catalog');
    await page.getByRole('button', { name: 'From git' }).click();
    await expect(repository).toBeVisible();
    await accessible(page);
    await repository.getByRole('button', { name: 'Cancel' }).click();
    await take(`https://${host}/items`, 'Test');
    const dialog = page.getByRole('dialog', { name: 'Test the draft' });
    await expect(dialog.getByRole('article')).toContainText('Greeter of git', { timeout: 30_000 });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const draft = page.getByRole('region', { name: 'Drafts' }).getByRole('row', { name: 'git-greeter' });
    await expect(draft).toBeVisible();
    await take(`https://${host}/items`, 'Publish');
    await expect(page.getByText('Greeter of git 1.0.0 is in the catalogue')).toBeVisible({ timeout: 30_000 });
    await expect(page.locator('[data-item="git-greeter"]')).toBeVisible();
    await expect(draft).toHaveCount(0);
    await take('https://git.example.org/items', 'Publish');
    await expect(alert(page)).toContainText('its host is not among those that this server reads');
  } finally {
    server.close();
  }
});

test('an item is found by what it is connected to, and its page tells when a component of it is healthy, what it is connected to, and where it is used', async ({ page }) => {
  await login(page);
  await page.goto('/catalog');
  const card = (item: string) => page.locator(`[data-item="${item}"]`);
  const search = page.getByRole('searchbox', { name: 'Search the catalogue' });
  await expect(card('nginx')).toBeVisible();
  await search.fill('xyzzy');
  await expect(page.getByRole('status').filter({ hasText: 'Nothing matches.' }), 'screen readers are told').toBeVisible();
  await search.fill('mysql');
  await expect(card('nginx')).toHaveCount(0);
  await expect(card('mariadb')).toBeVisible();
  await page.getByRole('button', { name: 'web', exact: true }).click();
  await expect(card('mariadb')).toHaveCount(0);
  await expect(card('wordpress')).toBeVisible();
  await page.route('**/api/v1/catalog', (route) => route.abort());
  await page.goto('/catalog/wordpress');
  const relations = page.getByRole('region', { name: 'Relations' });
  await expect(relations.getByRole('alert')).toContainText('No connection to the server');
  await page.unroute('**/api/v1/catalog');
  await expect(relations.getByRole('list', { name: 'Needs' }).getByRole('link', { name: 'MariaDB' })).toBeVisible();
  await expect(relations.getByRole('list', { name: 'Offers' }).getByRole('link', { name: 'HAProxy' })).toBeVisible();
  await relations.scrollIntoViewIfNeeded();
  await shoot(page, 'catalog-relations');
  const examples = page.getByRole('region', { name: 'Example designs' });
  await expect(examples.getByRole('button', { name: 'WordPress with its database' })).toBeVisible();
  await relations.getByRole('link', { name: 'MariaDB' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('MariaDB');
  await page.goto('/catalog/haproxy');
  const health = page.getByRole('region', { name: 'Health' });
  await expect(health.getByRole('row')).not.toHaveCount(0);
  await expect(health).toContainText('answers');
  await expect(page.getByRole('region', { name: 'Outputs' })).toContainText('{address}:{listen_port}');
  await expect(relations.getByRole('list', { name: 'Offers' })).toContainText('Only with scheme: http.');
  await health.scrollIntoViewIfNeeded();
  await shoot(page, 'catalog-health');
});

test('an archive that is no item is refused in words, with the place', async ({ page }) => {
  await login(page);
  await page.goto('/catalog');
  await upload(page, pack('broken', { ...item('one'), 'meta/argument_specs.yml': specs.replace('str', 'text') }));
  await expect(alert(page)).toContainText('is no version such as');
  await expect(alert(page)).toContainText('item.yml.version line 3');
  await expect(alert(page)).toContainText('is no type of option');
  await shoot(page, 'catalog-refused');
  await upload(page, pack('linked', item('1.0.0'), { 'files/passwd': '/etc/passwd' }));
  await expect(alert(page)).toContainText('links are not accepted');
  const text = join(folder, 'text.tar.gz');
  writeFileSync(text, 'not packed at all');
  await upload(page, text);
  await expect(alert(page)).toContainText('not a complete tar.gz archive');
});

test('a draft is previewed, checked, and listed until somebody deletes it', async ({ page }) => {
  await login(page);
  await page.goto('/catalog');
  await expect(page.getByRole('button', { name: 'Test a draft' })).toBeEnabled({ timeout: 60_000 });
  await page.getByLabel('Draft of an item (tar.gz or zip)').setInputFiles(pack('passing', item('1.0.0', 'passing', 'Passing')));
  const tested = page.getByRole('dialog', { name: 'Test the draft' });
  await expect(tested.getByRole('article')).toContainText('Passing');
  await accessible(page);
  await tested.getByRole('button', { name: 'Cancel' }).click();
  const drafts = page.getByRole('region', { name: 'Drafts' });
  const row = drafts.getByRole('row', { name: 'passing' });
  await expect(row).toBeVisible();
  await page.route('**/api/v1/drafts', (route) => route.abort());
  await page.reload();
  await expect(drafts.getByRole('alert')).toContainText('No connection to the server');
  await page.unroute('**/api/v1/drafts');
  await expect(row).toContainText('1.0.0-draft.');
  await row.getByRole('link', { name: 'passing' }).click();
  await expect(page.getByText('This version is a draft')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Add to design' })).toHaveCount(0);
  const preview = page.getByRole('region', { name: 'Preview' });
  await expect(preview.getByRole('region', { name: 'Palette' })).toContainText('Passing');
  await page.getByRole('button', { name: 'Check', exact: true }).click();
  const findings = page.getByRole('region', { name: 'Findings of ansible-lint' });
  await expect(findings).toContainText('name[missing]', { timeout: 60_000 });
  await expect(page.getByRole('button', { name: 'Publish' })).toBeEnabled();
  await page.goBack();
  await row.getByRole('button', { name: /^Delete the draft/ }).click();
  await page.getByRole('dialog', { name: 'Delete the draft of passing?' }).getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('The draft of passing is deleted.')).toBeVisible();
  await expect(row).toHaveCount(0);
});

test('a role of Galaxy is described by a form, tested as a draft, and published', async ({ page }) => {
  await login(page);
  await page.goto('/catalog');
  const role = {
    'meta/main.yml': 'galaxy_info:\n  role_name: pager\n  description: Pages for everybody.\n  platforms: [{name: EL}]\n',
    'defaults/main.yml': 'pager_port: 8080\npager_title: Hello\n',
    'tasks/main.yml': '- ansible.builtin.debug: {msg: "{{ pager_title }}"}\n',
  };
  await expect(page.getByRole('button', { name: 'Test a draft' })).toBeEnabled({ timeout: 60_000 });
  await page.getByLabel('Draft of an item (tar.gz or zip)').setInputFiles(pack('pager', role));
  const dialog = page.getByRole('dialog', { name: 'Describe the role' });
  const about = dialog.getByRole('group', { name: 'About' });
  await expect(about.getByLabel('Name', { exact: true })).toHaveValue('pager');
  await expect(dialog).toContainText('The role supports EL.');
  await expect(dialog.getByRole('group', { name: 'port 1' }).getByLabel('Option')).toHaveValue('pager_port');
  await about.getByLabel('Title').fill('');
  await dialog.getByRole('button', { name: 'Publish' }).click();
  await expect(about.getByLabel('Title')).toHaveAttribute('aria-invalid', 'true');
  await about.getByLabel('Title').fill('Pager');
  const preview = dialog.getByRole('region', { name: 'Preview' });
  await expect(preview.getByRole('article')).toContainText('Pager');
  await expect(preview.getByRole('group', { name: 'Inspector' }).getByLabel('Pager title', { exact: true })).toHaveAttribute('placeholder', 'Hello');
  await shoot(page, 'catalog-role');
  await accessible(page);

  await dialog.getByRole('button', { name: 'Test', exact: true }).click();
  const tested = page.getByRole('dialog', { name: 'Test the draft' });
  await expect(tested.getByRole('article')).toContainText('1.0.0-draft.');
  await tested.getByRole('button', { name: 'Cancel' }).click();

  // What was typed is there again for the same role.
  await upload(page, pack('pager', role));
  await expect(about.getByLabel('Title')).toHaveValue('Pager');
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // What was tested is published as it is.
  await page.getByRole('region', { name: 'Drafts' }).getByRole('link', { name: 'pager' }).click();
  await page.getByRole('button', { name: 'Publish' }).click();
  await expect(page.getByText('Pager 1.0.0 is in the catalogue')).toBeVisible();
  await expect(page).toHaveURL(/\/catalog\/pager$/);
  await expect(page.getByRole('button', { name: 'Add to design' })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Inputs' })).toContainText('pager_title');
});

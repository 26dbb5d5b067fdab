// A catalogue item from a form: problems at their fields, preview, test, publishing, deployment, next version.
import { expect, test, type Locator } from '@playwright/test';
import { api, login, node, shoot } from './support/app.ts';
import { pasteOver, textOf } from './support/code.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

test('an item is made from a form, published and deployed', async ({ page, request }) => {
  test.setTimeout(5 * 60_000);
  await login(page);
  await page.goto('/catalog');
  await page.getByRole('link', { name: 'Make an item' }).click();
  const field = (label: string) => page.getByRole('group', { name: 'About' }).getByLabel(label, { exact: true });
  const preview = page.getByRole('complementary', { name: 'Preview' });

  await test.step('problems stand at their fields', async () => {
    await field('Title').fill('Word keeper');
    await expect(field('Name')).toHaveValue('word-keeper');
    await page.getByRole('button', { name: 'Publish' }).click();
    await expect(page.getByText('The item does nothing yet')).toBeVisible();
    await expect(field('Summary')).toHaveAttribute('aria-invalid', 'true');
    await expect(field('Summary')).toBeFocused();
  });

  await test.step('the preview follows what is typed', async () => {
    await field('Summary').fill('Keeps a word in a file.');
    await page.getByRole('button', { name: 'Add a file' }).click();
    const file = page.getByRole('group', { name: 'file 1' });
    await file.getByLabel('Path').fill('/srv/word');
    const content = editorOf(file);
    await expect(content).toBeVisible();
    await file.getByText('Content', { exact: true }).click();
    await expect(content).toBeFocused();
    await page.keyboard.press('Tab');
    await expect(content, 'Tab leaves the editor').not.toBeFocused();
    await pasteOver(content, 'a word\n');
    await pasteOver(content, 'the word is {{ word }}\n');
    await content.press('ControlOrMeta+z');
    expect(await textOf(content), 'the editor has its own undo').toBe('a word\n');
    await pasteOver(content, 'the word is {{ word }}\n');
    await page.getByRole('button', { name: 'Add an option' }).click();
    const option = page.getByRole('group', { name: 'option 1' });
    await option.getByLabel('Name').fill('word');
    await option.getByLabel('Default').fill('hello');
    await option.getByLabel('Description').fill('The word.');
    await expect(preview.getByRole('region', { name: 'Palette' })).toContainText('Keeps a word in a file.');
    const inspector = preview.getByRole('group', { name: 'Inspector' });
    await expect(inspector).toContainText('The word.');
    await expect(inspector.getByLabel('Word', { exact: true })).toHaveAttribute('placeholder', 'hello');
    await expect(inspector.getByLabel('Word', { exact: true })).toBeDisabled();
    await expect(preview.getByLabel('File', { exact: true })).toContainText('dest: "/srv/word"');
    await shoot(page, 'item-form');
  });

  await test.step('Ansible has its say before anything is published', async () => {
    await page.getByRole('button', { name: 'Check' }).click();
    const findings = page.getByRole('region', { name: 'Findings of ansible-lint' });
    await expect(findings).toContainText('ansible-lint found no problems', { timeout: 60_000 });
  });

  await test.step('what was typed outlives a reload', async () => {
    await page.reload();
    await expect(field('Title')).toHaveValue('Word keeper');
    await expect(page.getByRole('group', { name: 'file 1' }).getByLabel('Path')).toHaveValue('/srv/word');
  });

  await test.step('its draft is tested before anybody else sees it', async () => {
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Test the draft' });
    await dialog.getByLabel('Image').selectOption('debian-12');
    await dialog.getByLabel('Flavor').selectOption('m1.tiny');
    await shoot(page, 'item-test');
    await dialog.getByRole('button', { name: 'Deploy the test' }).click();
    await expect(page).toHaveURL(/\/runs\//, { timeout: 60_000 });
    const { deployment } = await ended(page, new URL(page.url()).pathname.split('/').pop() ?? '');
    const items = (await api<{ name: string }[]>(page, 'GET', '/catalog')).map((item) => item.name);
    expect(items).toContain('nginx');
    expect(items).not.toContain('word-keeper');

    // The role runs again and changes nothing.
    const again = await api<{ run: string }>(page, 'POST', `/deployments/${deployment}/command`, { component: 'draft', command: 'again' });
    await ended(page, again.run);
    const { lines } = await api<{ lines: unknown[] }>(page, 'GET', `/runs/${again.run}/search?text=${encodeURIComponent('changed=0')}`);
    expect(lines).not.toHaveLength(0);
    const { run } = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
    await ended(page, run);
    await page.goto('/items/new');
    await expect(field('Title')).toHaveValue('Word keeper');
  });

  await test.step('publish', async () => {
    await page.getByRole('button', { name: 'Publish' }).click();
    await expect(page.getByText('Word keeper 1.0.0 is in the catalogue')).toBeVisible();
    await expect(page).toHaveURL(/\/catalog\/word-keeper$/);
  });

  const deployment = await test.step('deploy', async () => {
    const started = await api<{ run: string }>(page, 'POST', '/deployments', { name: 'word-keeper', template, parameters: {} });
    return (await ended(page, started.run)).deployment;
  });

  await test.step('its page lists the deployment, and puts it into a new design', async () => {
    await page.reload();
    const uses = page.getByRole('region', { name: 'Deployments' });
    await expect(uses.getByRole('link', { name: 'word-keeper' })).toHaveAttribute('href', `/deployments/${deployment}`);
    await expect(uses).toContainText('1.0.0: keeper');
    await shoot(page, 'item');
    await page.getByRole('button', { name: 'Add to design' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add to design' });
    await dialog.getByLabel('Design').selectOption('A new design with a server');
    await expect(dialog.getByLabel('Server')).toHaveText('server');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await expect(page).toHaveURL(/\/designs\/[^/]+$/);
    await expect(node(page, 'server')).toBeVisible();
    await expect(node(page, 'word-keeper')).toBeVisible();
    await page.goto('/catalog/word-keeper');
  });

  await test.step('the next version begins with the values of this one', async () => {
    await page.getByRole('link', { name: 'Next version' }).click();
    await expect(field('Version')).toHaveValue('1.1.0');
    await expect(field('Name')).toBeDisabled();
    await pasteOver(editorOf(page.getByRole('group', { name: 'file 1' })), 'the new word is {{ word }}\n');
    await page.getByRole('button', { name: 'Publish' }).click();
    await expect(page.getByText('Word keeper 1.1.0 is in the catalogue')).toBeVisible();
  });

  await test.step('undeploy', async () => {
    const { run } = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
    await ended(page, run);
    expect(await leftovers(request)).toEqual({});
  });
});

/** The editor that takes the place of a text area, once its script is loaded. */
function editorOf(file: Locator): Locator {
  return file.locator('.cm-content[aria-label="Content"]');
}

const template = `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.49.1.0/24}
  server:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  keeper:
    type: Stackloom::Catalog::word-keeper
    properties: {host: {get_resource: server}, word: good morning}
  reader:
    type: Stackloom::Catalog::script
    depends_on: keeper
    properties:
      host: {get_resource: server}
      script: grep -x 'the word is good morning' /srv/word
`;

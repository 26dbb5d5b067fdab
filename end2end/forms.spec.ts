// Forms of the inspector: tables, sources of values, parameters and outputs, by pointer and by keyboard.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { api, login, newDesign, node, openDesign, shoot } from './support/app.ts';
import { expectCode, pasteOver, readCode, textOf } from './support/code.ts';
import { add, inspect, problems } from './support/draw.ts';
import { enlargeText } from './support/fits.ts';

const wall = `heat_template_version: 2021-04-16
parameters:
  size: {type: string, default: m1.tiny}   # how large
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}}
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: net}}]
      security_groups: [{get_resource: wall}]
  wall:
    type: OS::Neutron::SecurityGroup
    properties:
      rules:
        # the web
        - {protocol: tcp, port_range_min: 80, port_range_max: 80}
        - {get_param: size}
  disk: {type: OS::Cinder::Volume}
`;

async function design(page: Page, template: string): Promise<void> {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'forms', template });
  await openDesign(page, id);
}

async function text(page: Page): Promise<string> {
  return readCode(page);
}

/** Opens a resource's form from the outline, which lists parts too. */
async function open(page: Page, name: string): Promise<Locator> {
  await page.getByRole('tablist', { name: 'Palette' }).getByRole('tab', { name: 'Outline' }).click();
  const outline = page.getByRole('complementary', { name: 'Palette' });
  await outline.getByRole('button', { name: new RegExp(`^${name}\\b`) }).first().click();
  const form = page.getByRole('complementary', { name: 'Inspector' });
  await expect(form.getByRole('heading', { name, exact: true })).toBeVisible();
  return form;
}

/** Chooses an entry of a field's menu of sources with the keyboard. */
async function source(page: Page, form: Locator, field: string, words: string): Promise<void> {
  const button = form.getByRole('button', { name: `Source of ${field}`, exact: true });
  await button.focus();
  await page.keyboard.press('Enter');
  const search = form.getByRole('combobox', { name: `Search: Source of ${field}` });
  await expect(search).toBeFocused();
  await search.fill(words);
  await page.keyboard.press('Enter');
}

test('rules of a security group are rows: added from presets, edited, moved, removed', async ({ page }) => {
  await design(page, wall);
  const form = await open(page, 'wall');
  const rows = form.locator('.row-list > li');
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1), 'an entry that is computed stays').toContainText('get_param');

  await test.step('a preset is a row, and its first cell has the focus', async () => {
    await form.getByLabel('Rules', { exact: true }).selectOption('SSH');
    await expect(rows).toHaveCount(3);
    await expect(rows.nth(2)).toContainText('tcp · 22');
    await rows.nth(2).getByLabel('Remote IP prefix', { exact: true }).fill('192.0.2.0/24');
    await expect(rows.nth(2).locator('summary')).toContainText('192.0.2.0/24');
    await shoot(page, 'rules');
  });
  await test.step('by keyboard: moved up, and removed', async () => {
    await form.getByRole('button', { name: 'Move row 3 up' }).focus();
    await page.keyboard.press('Enter');
    await expect(rows.nth(1)).toContainText('tcp · 22');
    await form.getByRole('button', { name: 'Remove row 3' }).focus();
    await page.keyboard.press('Enter');
    await expect(rows).toHaveCount(2);
    await expect.poll(() => text(page)).toMatch(/# the web\n +- \{protocol: tcp, port_range_min: 80, port_range_max: 80\}\n +- protocol: tcp\n/);
  });
  await test.step('all columns in a dialog', async () => {
    await form.getByRole('button', { name: 'Open rules as a table' }).click();
    const dialog = page.getByRole('dialog', { name: 'Rules of wall' });
    const cell = dialog.getByRole('row').nth(1).getByLabel('Port range max', { exact: true });
    await cell.fill('81');
    await shoot(page, 'rules-wide');
    await dialog.getByRole('button', { name: 'Done' }).click();
    await expect(dialog).toBeHidden();
    await expect.poll(() => text(page)).toContain('- {protocol: tcp, port_range_min: 80, port_range_max: 81}');
  });
  await test.step('each change is one undo', async () => {
    await page.getByTestId('canvas').focus();
    for (let changes = 0; changes < 5; changes += 1) await page.keyboard.press('Control+z');
    await expectCode(page, wall);
  });
});

test('networks of a server are rows too', async ({ page }) => {
  await design(page, wall);
  const form = await inspect(page, 'web');
  const row = form.locator('.row-list > li').first();
  await row.locator('summary').click();
  await row.getByLabel('Fixed IP', { exact: true }).fill('10.9.0.7');
  await expect.poll(() => text(page)).toContain('networks: [{network: {get_resource: net}, fixed_ip: 10.9.0.7}]');
});

test('a value becomes a parameter, an attribute, and a value again', async ({ page }) => {
  await design(page, wall);
  const form = await inspect(page, 'web');
  await test.step('a new parameter takes type and default', async () => {
    await source(page, form, 'flavor', 'new parameter');
    await expect(form.getByLabel('Flavor', { exact: true })).toHaveValue('parameter flavor');
    const now = await text(page);
    expect(now).toContain('flavor: {get_param: flavor}');
    expect(now).toMatch(/ {2}flavor:\n {4}type: string\n/);
    expect(now).toContain('default: m1.small');
    await shoot(page, 'linked');
  });
  await test.step('an existing parameter', async () => {
    await source(page, form, 'flavor', 'size');
    await expect.poll(() => text(page)).toContain('flavor: {get_param: size}');
  });
  await test.step('an attribute of another resource', async () => {
    await form.getByText(/^More properties/).click();
    await source(page, form, 'name in the cloud', 'cidr of subnet');
    await expect(form.getByLabel('Name in the cloud', { exact: true })).toHaveValue('cidr of subnet');
    await expect.poll(() => text(page)).toContain('name: {get_attr: [subnet, cidr]}');
  });
  await test.step('a value again, which is the default', async () => {
    await source(page, form, 'flavor', 'value');
    await expect.poll(() => text(page)).toContain('flavor: m1.tiny');
  });
});

test('servers that are edited together take a value from one new parameter, and get it back', async ({ page }) => {
  const server = (name: string) => `  ${name}: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12}}\n`;
  await design(page, `heat_template_version: 2021-04-16\nresources:\n${server('one')}${server('two')}`);
  const form = await inspect(page, 'one');
  await node(page, 'two').click({ modifiers: ['Shift'], position: { x: 12, y: 12 } });
  await expect(form.getByRole('heading', { name: '2 resources' })).toBeVisible();
  await source(page, form, 'flavor', 'new parameter');
  await expect(form.getByLabel('Flavor', { exact: true })).toHaveValue('parameter flavor');
  const both = (flavor: string) => new RegExp(`one: .*flavor: ${flavor}.*\\n.*two: .*flavor: ${flavor}`);
  await expect.poll(() => text(page)).toMatch(both('\\{get_param: flavor\\}'));
  await source(page, form, 'flavor', 'value');
  await expect.poll(() => text(page)).toMatch(both('m1.small'));
});

test('parameters, conditions and outputs are added, renamed with their uses, and deleted', async ({ page }) => {
  await design(page, wall.replace('flavor: m1.small', 'flavor: {get_param: size}'));
  const inspector = page.getByRole('complementary', { name: 'Inspector' });
  const parameters = inspector.getByRole('region', { name: 'Parameters' });
  await test.step('renamed with all uses', async () => {
    await parameters.getByText('size', { exact: true }).click();
    const name = parameters.getByLabel('Name', { exact: true });
    await name.fill('flavor size');
    await expect(parameters).toContainText('cannot be a name');
    await name.press('Escape');
    await expect(name).toHaveValue('size');
    await name.fill('flavor_size');
    await name.press('Enter');
    await expect(parameters.getByText('flavor_size', { exact: true })).toBeVisible();
    const now = await text(page);
    expect(now).toContain('flavor_size: {type: string, default: m1.tiny}   # how large');
    expect(now).toContain('flavor: {get_param: flavor_size}');
  });
  await test.step('constraints are rows', async () => {
    await parameters.getByLabel('Constraints', { exact: true }).selectOption('Allowed values');
    await parameters.getByLabel('Allowed values', { exact: true }).fill('m1.tiny\nm1.small');
    await expect.poll(() => text(page)).toMatch(/allowed_values: \[m1\.tiny, m1\.small\]/);
    const isWide = await inspector.evaluate((element) => element.scrollWidth > element.clientWidth);
    expect(isWide, 'a long value does not widen the form').toBe(false);
    await shoot(page, 'parameters');
  });
  await test.step('a condition and an output', async () => {
    await inspector.getByRole('button', { name: 'Add a condition' }).click();
    const conditions = inspector.getByRole('region', { name: 'Conditions' });
    const kind = conditions.getByLabel('Holds', { exact: true });
    await kind.selectOption('never');
    await expect.poll(() => text(page)).toContain('condition: false');
    await kind.selectOption('if a parameter has a value');
    await conditions.getByLabel('Equals', { exact: true }).fill('m1.tiny');
    await inspector.getByRole('button', { name: 'Add an output' }).click();
    const outputs = inspector.getByRole('region', { name: 'Outputs' });
    await source(page, outputs, 'value', 'first_address of web');
    const now = await text(page);
    expect(now).toMatch(/condition:\s+equals:/);
    expect(now).toMatch(/value: \{get_attr: \[web, first_address\]\}/);
  });
  await test.step('a deleted parameter leaves its default', async () => {
    await parameters.getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('dialog', { name: 'Delete flavor_size?' });
    await expect(question).toContainText('resources.web.properties.flavor takes its default');
    await question.getByRole('button', { name: 'Delete' }).click();
    await expect(parameters.locator('.row-list > li')).toHaveCount(0);
    await expect.poll(() => text(page)).toContain('flavor: m1.tiny');
  });
});

test('a problem opens its row and focuses its field', async ({ page }) => {
  await design(page, wall.replace('port_range_min: 80,', 'port_range_min: 99999,'));
  const list = await problems(page);
  await list.getByRole('button').filter({ hasText: '99999' }).click();
  const form = page.getByRole('complementary', { name: 'Inspector' });
  await expect(form.getByLabel('Port range min', { exact: true })).toBeFocused();
  await expect(form.getByLabel('Port range min', { exact: true })).toHaveAttribute('aria-invalid', 'true');
});

test('a required property is in front, and a bad name is told beside it', async ({ page }) => {
  await design(page, wall);
  const form = await open(page, 'disk');
  await expect(form.getByLabel('Size', { exact: true })).toBeVisible();
  const name = form.getByLabel('Name', { exact: true });
  await name.fill('web');
  await expect(name).toHaveAttribute('aria-invalid', 'true');
  await expect(name).toHaveAccessibleDescription(/`?web`? exists already/);
  await shoot(page, 'bad-name');
  await name.press('Escape');
  await expect(name).toHaveValue('disk');
  await name.fill('store');
  await name.press('Enter');
  await expect(node(page, 'store')).toBeVisible();
});

test('problems are solved with one key, beside the field and in the list', async ({ page }) => {
  await design(page, wall.replace('flavor: m1.small', 'flavor: m1.smal').replace('      networks: [{network: {get_resource: net}}]\n', ''));
  const form = await inspect(page, 'web');
  await test.step('beside the field', async () => {
    await form.getByRole('button', { name: 'Use m1.small' }).click();
    await expect(form.getByLabel('Flavor', { exact: true })).toHaveValue('m1.small');
    await expect.poll(() => text(page)).toContain('flavor: m1.small');
  });
  await test.step('in the list, by keyboard, as one change', async () => {
    const list = await problems(page);
    await list.getByRole('button', { name: 'Attach to net' }).first().focus();
    await shoot(page, 'quick-fixes');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('button', { name: 'Undo', exact: true })).toHaveAttribute('title', /^Undo: Attach to net \(/);
    await expect.poll(() => text(page)).toMatch(/networks:\n +- network: \{get_resource: net\}|networks: \[\{network: \{get_resource: net\}\}\]/);
    await page.getByTestId('canvas').focus();
    await page.keyboard.press('Control+z');
    await expect.poll(() => text(page)).not.toContain('networks:');
  });
});

test('choices are searched with their facts, and a new server takes the last image and flavor', async ({ page }) => {
  await design(page, wall.replace('      flavor: m1.small\n', ''));
  const form = await inspect(page, 'web');
  await form.getByRole('button', { name: 'Search image' }).click();
  await expect(form.getByRole('listbox', { name: 'Search image' }).getByRole('option', { name: /debian-12.*debian 12.*328 MiB/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await form.getByRole('button', { name: 'Search flavor' }).click();
  const search = form.getByRole('combobox', { name: 'Search: Search flavor' });
  await expect(search).toBeFocused();
  await expect(form.getByRole('listbox', { name: 'Search flavor' }).getByRole('option', { name: /m1\.medium.*vCPU.*RAM.*disk/ })).toBeVisible();
  await search.fill('xyzzy');
  await expect(form.getByRole('status').filter({ hasText: 'Nothing matches.' }), 'screen readers are told').toBeVisible();
  await search.fill('medium');
  await shoot(page, 'choices');
  await page.keyboard.press('Enter');
  await expect(form.getByLabel('Flavor', { exact: true })).toHaveValue('m1.medium');

  await newDesign(page);
  const server = await add(page, 'Private server', { x: 0.5, y: 0.5 });
  const fresh = await inspect(page, server);
  await expect(fresh.getByLabel('Flavor', { exact: true })).toHaveValue('m1.medium');
});

test('a new subnet proposes free ranges, and secret variables are masked', async ({ page }) => {
  await design(page, `${wall}  spare: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}}}
  run:
    type: Stackloom::Catalog::script
    properties: {host: {get_resource: web}, script: echo, secret_variables: {TOKEN: abc}}
`);
  const subnet = await open(page, 'spare');
  const proposals = subnet.getByLabel('CIDR', { exact: true }).locator('xpath=..').locator('datalist option');
  await expect(proposals.first()).toHaveAttribute('value', '10.0.1.0/24');
  const script = await open(page, 'run');
  const token = script.getByLabel('TOKEN', { exact: true });
  await expect(token).toHaveAttribute('type', 'password');
  await script.getByLabel('Secret variables', { exact: true }).fill('KEY');
  await script.getByLabel('Secret variables', { exact: true }).press('Enter');
  await expect(script.getByLabel('KEY', { exact: true })).toBeFocused();
  await page.keyboard.type('xyz');
  await expect.poll(() => text(page)).toContain('secret_variables: {TOKEN: abc, KEY: xyz}');
});

test('wrong attributes, conditions, types and values have fixes', async ({ page }) => {
  await design(page, `heat_template_version: 2021-04-16
conditions:
  big: {equals: [a, a]}
resources:
  net: {type: OS::Neutron::Nte, condition: bigg}
  disk: {type: OS::Cinder::Volume, properties: {size: 0}}
outputs:
  status: {value: {get_attr: [disk, statsu]}}
`);
  const list = await problems(page);
  for (const label of ['Change to OS::Neutron::Net', 'Use condition big', 'Use 1', 'Use status']) {
    await list.getByRole('button', { name: label, exact: true }).click();
    await expect(list.getByRole('button', { name: label, exact: true })).toHaveCount(0);
  }
  await expect.poll(() => text(page)).toContain('{type: "OS::Neutron::Net", condition: big}');
  expect(await text(page)).toContain('size: 1}');
  expect(await text(page)).toContain('[disk, status]');
});

test('pools, routes and disks have presets, and a gateway is proposed from the range', async ({ page }) => {
  await design(page, `${wall}  check: {type: OS::Octavia::HealthMonitor}\n`);
  const subnet = await open(page, 'subnet');
  const more = subnet.getByText(/^More properties/);
  if (await more.isVisible()) await more.click();
  const gateway = subnet.getByLabel('Gateway IP', { exact: true }).locator('xpath=..').locator('datalist option');
  await expect(gateway.first()).toHaveAttribute('value', '10.9.0.1');
  await subnet.getByLabel('Allocation pools', { exact: true }).selectOption('Upper half: 10.9.0.128 to 10.9.0.254');
  await expect.poll(() => text(page)).toMatch(/start: 10\.9\.0\.128/);
  await subnet.getByLabel('Host routes', { exact: true }).selectOption('Default route');
  await expect.poll(() => text(page)).toContain('destination: 0.0.0.0/0');
  const server = await open(page, 'web');
  await server.getByLabel('Block device mapping v2', { exact: true }).selectOption('Boot volume from an image');
  await expect.poll(() => text(page)).toContain('boot_index: 0');
  const check = await open(page, 'check');
  await check.getByLabel('Preset', { exact: true }).selectOption('HTTP');
  await expect.poll(() => text(page)).toMatch(/url_path: \//);
  await check.getByLabel('Preset', { exact: true }).selectOption('Ping');
  await expect.poll(() => text(page)).not.toContain('url_path');
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+z');
  await expect.poll(() => text(page), 'a preset is one change').toMatch(/url_path: \//);
});

test('a script is edited in a large editor, from its file, and with replaced words', async ({ page }) => {
  const server = (name: string, script: string) => `  ${name}:\n    type: OS::Nova::Server\n    properties:\n      flavor: m1.small\n      user_data: ${script}\n`;
  await design(page, `heat_template_version: 2021-04-16
resources:
${server('web', '"#!/bin/sh"')}${server('filed', '{get_file: setup.sh}')}${server('replaced', '{str_replace: {template: "echo WORD", params: {WORD: hello}}}')}`);

  await test.step('the editor opens from the field', async () => {
    const form = await open(page, 'web');
    const area = form.getByLabel('User data', { exact: true });
    const before = (await area.boundingBox())!.height;
    await form.getByRole('button', { name: 'Edit in a larger window' }).click();
    const dialog = page.getByRole('dialog', { name: 'User data of web' });
    const editor = dialog.getByRole('textbox', { name: 'Text' });
    await expect.poll(() => textOf(editor)).toBe('#!/bin/sh');
    await pasteOver(editor, `#!/bin/sh\n${'echo line\n'.repeat(9)}`);
    await shoot(page, 'script');
    await dialog.getByRole('button', { name: 'Done' }).click();
    await expect(area).toHaveValue(`#!/bin/sh\n${'echo line\n'.repeat(9)}`);
    expect((await area.boundingBox())!.height, 'the field grows with its text').toBeGreaterThan(before);
    await expect.poll(() => text(page)).toContain('        echo line\n');
  });
  await test.step('a file that is missing is created and opened', async () => {
    const form = await open(page, 'filed');
    await expect(form.getByLabel('User data', { exact: true })).toHaveValue('setup.sh');
    await form.getByRole('button', { name: 'Create', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'File' });
    await expect(dialog.getByLabel('Path')).toHaveValue('setup.sh');
    await pasteOver(dialog.getByRole('textbox', { name: 'Content' }), '#!/bin/sh\ntrue\n');
    await dialog.getByRole('button', { name: 'Done' }).click();
    await expect(form.getByRole('button', { name: 'Open', exact: true })).toBeVisible();
  });
  await test.step('the text and the words of str_replace are fields', async () => {
    const form = await open(page, 'replaced');
    await form.getByLabel('Template', { exact: true }).fill('echo WORD NAME');
    await form.getByLabel('WORD', { exact: true }).fill('good day');
    await form.getByLabel('Params', { exact: true }).fill('NAME');
    await page.keyboard.press('Enter');
    await expect(form.getByLabel('NAME', { exact: true })).toBeFocused();
    await page.keyboard.type('ada');
    await expect.poll(() => text(page)).toMatch(/WORD: good day, NAME: ada/);
    await source(page, form, 'word', 'new parameter');
    await expect.poll(() => text(page)).toMatch(/parameters:\s+WORD:/);
  });
});

test('text at 125 % cuts nothing off in the designer', async ({ page }) => {
  await enlargeText(page);
  await design(page, wall);
  const form = await inspect(page, 'web');
  const size = await form.getByLabel('Name', { exact: true }).evaluate((input) => parseFloat(getComputedStyle(input).fontSize));
  expect(size).toBeGreaterThan(16);
  for (const list of ['Palette', 'Drawer']) {
    const tabs = page.getByRole('tablist', { name: list });
    const fits = await tabs.evaluate((element) => element.scrollWidth <= element.clientWidth);
    expect(fits, `tabs of ${list}`).toBe(true);
  }
  await shoot(page, 'large-text');
});

test('condition, order and deletion policy of a resource are set and undone one by one', async ({ page }) => {
  const template = `heat_template_version: 2021-04-16
conditions:
  full: true
resources:
  net: {type: OS::Neutron::Net}
  disk:   # for pictures
    type: OS::Cinder::Volume
    properties: {size: 1}
`;
  await design(page, template);
  const form = await inspect(page, 'disk');
  const more = form.getByText(/^More($| (?!properties))/);
  await more.focus();
  await page.keyboard.press('Enter');
  await form.getByLabel('Condition', { exact: true }).selectOption('full');
  await form.getByLabel('Depends on', { exact: true }).selectOption('net');
  await form.getByLabel('Deletion policy', { exact: true }).selectOption('Snapshot');
  await expect(more).toContainText('condition: full · depends on 1 · deletion policy: Snapshot');
  const changed = await text(page);
  expect(changed).toContain('disk:   # for pictures');
  expect(changed).toMatch(/condition: full\n/);
  expect(changed).toMatch(/deletion_policy: Snapshot\n/);
  await form.getByRole('button', { name: 'Remove net' }).click();
  await expect(more).not.toContainText('depends on');
  await page.getByTestId('canvas').focus();
  for (let change = 0; change < 4; change += 1) await page.keyboard.press('Control+z');
  await expect.poll(() => text(page)).toBe(template);
});

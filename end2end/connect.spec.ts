// Connecting resources: by drop, by a drawn line, by a tag, and by keyboard. The template's text has the effect.
import { expect, test, type Locator, type Page } from '@playwright/test';
import { api, canvasReady, centre, dragFromPalette, drag, login, node, openDesign, shoot, watchConsole, type Point } from './support/app.ts';

const TEMPLATE = `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  web:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, image: debian-12, networks: [{network: {get_resource: net}}]}
  db:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, image: debian-12, networks: [{port: {get_resource: db_port}}]}
  db_port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}}
  data: {type: OS::Cinder::Volume, properties: {size: 10}}
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
  spare: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  group: {type: OS::Neutron::SecurityGroup}
  key: {type: OS::Nova::KeyPair, properties: {name: mine}}
  balancer: {type: OS::Octavia::LoadBalancer, properties: {vip_subnet: {get_resource: subnet}}}
`;

async function open(page: Page, template = TEMPLATE): Promise<() => Promise<string>> {
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'connect', template });
  await openDesign(page, id);
  return async () => (await api<{ template: string }>(page, 'GET', `/designs/${id}`)).template;
}

/** Draws a line from the handle of a node to another node. */
async function connect(page: Page, from: string, to: string): Promise<void> {
  await node(page, from).hover({ position: { x: 30, y: 20 } });
  await drag(page, await centre(node(page, from).locator('.handle')), await centre(node(page, to)));
}

/** The middle of a line, on the page. */
async function middleOf(line: Locator): Promise<Point> {
  return line.locator('.line-ink').evaluate((path: SVGPathElement) => {
    const point = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM()!);
    return { x: point.x, y: point.y };
  });
}

/** The structure of a resource in the stored text, without spaces. */
function compact(text: string): string {
  return text.replace(/\s+/g, ' ');
}

/** Two servers in a network. One of them is in another network, too. */
const twoServers = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
  side: {type: OS::Neutron::Net}
  one:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{network: {get_resource: front}}, {network: {get_resource: back}, fixed_ip: 10.0.0.7}]
  two: {type: OS::Nova::Server, properties: {flavor: m1.tiny, networks: [{network: {get_resource: front}}]}}
`;

test('every pair with an attachment is joined by a drawn line', async ({ page }) => {
  const complaints = watchConsole(page);
  await login(page);
  const stored = await open(page);
  await connect(page, 'data', 'web');
  await expect(node(page, 'data')).toHaveAttribute('data-kind', 'chip');
  await connect(page, 'key', 'web');
  await connect(page, 'group', 'db');
  await connect(page, 'address', 'db');
  await connect(page, 'balancer', 'web');
  await expect(page.getByTestId('canvas').locator('[data-node="web_balancer_pool"]')).toHaveCount(1);
  await expect.poll(stored).toContain('OS::Octavia::PoolMember');
  const text = compact(await stored());
  expect(text).toContain('type: OS::Cinder::VolumeAttachment');
  expect(text).toMatch(/key_name: ?\{? ?get_resource: key/);
  expect(text).toMatch(/security_groups:.*get_resource: group/);
  expect(text).toMatch(/port_id: ?\{? ?get_resource: db_port/);
  await shoot(page, 'connected');
  expect(complaints).toEqual([]);
});

test('a tag is drawn to a server, and a volume is dropped on it and dragged out again', async ({ page }) => {
  await login(page);
  const stored = await open(page);
  await drag(page, await centre(page.getByTestId('canvas').locator('.tag[data-node="spare"]')), await centre(node(page, 'web')));
  await expect.poll(async () => compact(await stored())).toMatch(/port: ?\{? ?get_resource: spare/);
  await dragFromPalette(page, 'Volume', { on: node(page, 'web'), x: 0.5, y: 0.3 });
  await expect(node(page, 'volume')).toHaveAttribute('data-kind', 'chip');
  const canvas = (await page.getByTestId('canvas').boundingBox())!;
  await drag(page, await centre(node(page, 'volume')), { x: canvas.x + canvas.width * 0.6, y: canvas.y + 40 });
  await expect(node(page, 'volume')).toHaveAttribute('data-kind', 'card');
  await expect.poll(stored).not.toContain('VolumeAttachment');
});

test('a card dropped on a server is connected, and a volume that was dragged out is dragged in again', async ({ page }) => {
  await login(page);
  const stored = await open(page);
  const dropOn = async (name: string, target: string) => drag(page, await centre(node(page, name)), await centre(node(page, target)));
  await dropOn('key', 'web');
  await expect.poll(async () => compact(await stored())).toMatch(/key_name: ?\{? ?get_resource: key/);
  await dropOn('data', 'web');
  await expect(node(page, 'data')).toHaveAttribute('data-kind', 'chip');
  const canvas = (await page.getByTestId('canvas').boundingBox())!;
  await drag(page, await centre(node(page, 'data')), { x: canvas.x + canvas.width * 0.6, y: canvas.y + 40 });
  await expect(node(page, 'data')).toHaveAttribute('data-kind', 'card');
  // The server shows during the drag that it takes the volume.
  const start = await centre(node(page, 'data'));
  const end = await centre(node(page, 'web'));
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2, { steps: 8 });
  await page.mouse.move(end.x, end.y, { steps: 8 });
  await expect(node(page, 'web')).toHaveAttribute('data-aim', 'accepted');
  await expect(page.getByText(/^Connect data to web/)).toBeVisible();
  await page.mouse.up();
  await expect(node(page, 'data')).toHaveAttribute('data-kind', 'chip');
  await expect.poll(stored).toContain('OS::Cinder::VolumeAttachment');
});

test('a network dropped on a server takes it in', async ({ page }) => {
  await login(page);
  const stored = await open(page);
  await dragFromPalette(page, 'Network', { on: node(page, 'web'), x: 0.5, y: 0.3 });
  await expect.poll(async () => compact(await stored())).toMatch(/web:.*networks:.*get_resource: network\b.*db:/);
});

test('the keyboard connects and adds', async ({ page }) => {
  await login(page);
  const stored = await open(page);
  await node(page, 'data').focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('complementary', { name: 'Inspector' }).getByLabel('Name', { exact: true })).toBeFocused();
  await node(page, 'data').focus();
  await page.keyboard.press('c');
  const picker = page.getByRole('dialog', { name: 'Connect data' });
  await expect(picker.getByRole('option', { name: /^web/ })).toBeVisible();
  await page.keyboard.type('web');
  await page.keyboard.press('Enter');
  await expect(node(page, 'data')).toHaveAttribute('data-kind', 'chip');
  await expect.poll(stored).toContain('OS::Cinder::VolumeAttachment');
  await page.keyboard.press('a');
  const add = page.getByRole('dialog', { name: 'Add' });
  await expect(add.getByRole('option').first()).toBeVisible();
  for (let step = 0; step < 20; step += 1) await page.keyboard.press('ArrowDown');
  await expect(add.getByRole('option', { selected: true }), 'the list scrolls to the choice').toBeInViewport();
  await page.keyboard.type('zone');
  await page.keyboard.press('Enter');
  await expect(node(page, 'zone')).toBeVisible();
});

test('a new resource is connected to the selected one, by keyboard and by the context menu', async ({ page }) => {
  await login(page);
  const stored = await open(page);
  await node(page, 'web').focus();
  await page.keyboard.press(' ');
  await page.keyboard.press('Shift+c');
  const offer = page.getByRole('dialog', { name: 'Add and connect to web' });
  await expect(offer.getByRole('option', { name: /^Volume/ }).first()).toBeVisible();
  await expect(offer.getByRole('option', { name: /^Quota/ })).toHaveCount(0);
  await offer.getByRole('combobox').fill('key pair');
  await page.keyboard.press('Enter');
  await expect.poll(async () => compact(await stored())).toMatch(/key_name: ?\{? ?get_resource: key_pair/);

  await node(page, 'db').click({ position: { x: 12, y: 12 }, button: 'right' });
  await page.getByRole('menu', { name: 'Actions' }).getByRole('menuitem', { name: 'Add and connect' }).click();
  await page.getByRole('dialog', { name: 'Add and connect to db' }).getByRole('option', { name: /^Volume/ }).first().click();
  await expect(node(page, 'volume')).toHaveAttribute('data-kind', 'chip');
  await expect.poll(stored).toContain('OS::Cinder::VolumeAttachment');
});

test('a double click in a network adds a server to it', async ({ page }) => {
  await login(page);
  const stored = await open(page, 'heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n');
  const inside = await centre(node(page, 'front'));
  await page.mouse.dblclick(inside.x, inside.y);
  await page.getByRole('dialog', { name: 'Add' }).getByRole('combobox').fill('private server');
  await page.keyboard.press('Enter');
  await expect.poll(async () => compact(await stored())).toMatch(/OS::Nova::Server.*networks:.*get_resource: front/);
});

test('a double click adds there, and a line dropped on an empty place offers what fits', async ({ page }) => {
  await login(page);
  const stored = await open(page);
  const canvas = (await page.getByTestId('canvas').boundingBox())!;
  const empty = { x: canvas.x + canvas.width * 0.7, y: canvas.y + 60 };
  await page.mouse.dblclick(empty.x, empty.y);
  const add = page.getByRole('dialog', { name: 'Add' });
  await add.getByRole('combobox').fill('random');
  await page.keyboard.press('Enter');
  await expect(node(page, 'random_string')).toBeVisible();
  const place = await centre(node(page, 'random_string'));
  expect(Math.hypot(place.x - empty.x, place.y - empty.y)).toBeLessThan(60);
  await page.keyboard.press('Control+z');

  await node(page, 'web').hover({ position: { x: 30, y: 20 } });
  await drag(page, await centre(node(page, 'web').locator('.handle')), empty);
  const offer = page.getByRole('dialog', { name: 'Add and connect to web' });
  await expect(offer.getByRole('option', { name: /^Volume/ }).first()).toBeVisible();
  await expect(offer.getByRole('option', { name: /^Quota/ })).toHaveCount(0);
  await shoot(page, 'offer');
  await offer.getByRole('combobox').fill('key pair');
  await page.keyboard.press('Enter');
  await expect.poll(async () => compact(await stored())).toMatch(/key_name: ?\{? ?get_resource: key_pair/);
});

test('a line of a reference is selected, shown and deleted, by pointer and by keyboard', async ({ page }) => {
  await login(page);
  const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
  edge:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{network: {get_resource: front}}, {network: {get_resource: back}}]
  word:
    type: OS::Heat::RandomString
    depends_on: edge
`;
  const stored = await open(page, template);
  const inspector = page.getByRole('complementary', { name: 'Inspector' });
  const line = page.locator('.line[data-from="edge"][data-to="back"]');
  const middle = await middleOf(line);
  await page.mouse.click(middle.x, middle.y);
  await expect(line).toHaveAttribute('data-selected', 'true');
  await expect(inspector.getByRole('heading', { name: 'Connection: edge to back' })).toBeVisible();
  await shoot(page, 'connection');
  await inspector.getByRole('button', { name: 'Open in the form of edge' }).click();
  await expect(inspector.getByRole('heading', { name: 'edge', exact: true })).toBeVisible();

  await page.mouse.click(middle.x, middle.y);
  await page.keyboard.press('Delete');
  await expect(line).toHaveCount(0);
  await expect.poll(stored).not.toContain('get_resource: back');
  await expect(node(page, 'edge')).toBeVisible();
  await page.keyboard.press('Control+z');
  await expect(line).toHaveCount(1);

  await page.getByRole('tab', { name: 'Outline' }).click();
  await page.getByRole('complementary', { name: 'Palette' }).getByRole('button', { name: 'to edge (depends on)' }).focus();
  await page.keyboard.press('Enter');
  await expect(inspector.getByRole('heading', { name: 'Connection: word to edge' })).toBeVisible();
  await inspector.getByRole('button', { name: 'Open in the form of word' }).click();
  await expect(inspector.getByLabel('Depends on', { exact: true })).toBeFocused();
  await page.getByRole('complementary', { name: 'Palette' }).getByRole('button', { name: 'to edge (depends on)' }).click();
  await expect(inspector.getByRole('heading', { name: 'Connection: word to edge' })).toBeVisible();
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Delete');
  await expect.poll(stored).not.toContain('depends_on');
  await expect(node(page, 'word')).toBeVisible();
});

test('both ends of a line and its values are changed in its form by keyboard', async ({ page }) => {
  await login(page);
  const stored = await open(page, twoServers);
  const inspector = page.getByRole('complementary', { name: 'Inspector' });
  const select = async (name: string) => {
    await page.getByRole('complementary', { name: 'Palette' }).getByRole('button', { name }).focus();
    await page.keyboard.press('Enter');
  };
  await page.getByRole('tab', { name: 'Outline' }).click();
  await select('to back');
  await expect(inspector.getByRole('heading', { name: 'Connection: one to back' })).toBeVisible();
  await inspector.getByLabel('To', { exact: true }).selectOption('side');
  await expect(page.locator('.line[data-from="one"][data-to="side"]')).toHaveCount(1);

  await select('to side');
  await inspector.getByLabel('From', { exact: true }).selectOption('two');
  await expect(page.locator('.line[data-from="two"][data-to="side"]')).toHaveCount(1);
  await expect(page.locator('.line[data-from="one"]')).toHaveCount(0);
  await expect.poll(async () => compact(await stored())).toMatch(/two:.*get_resource: side/);

  // One undo for each change.
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('Control+z');
  await expect(page.locator('.line[data-from="one"][data-to="side"]')).toHaveCount(1);
  await page.keyboard.press('Control+z');
  const line = page.locator('.line[data-from="one"][data-to="back"]');
  await expect(line).toHaveCount(1);

  // The label of the line follows each letter, and the field keeps the focus.
  await select('to back');
  const address = inspector.getByLabel('Fixed IP', { exact: true });
  await expect(address).toHaveValue('10.0.0.7');
  await address.focus();
  await page.keyboard.press('End');
  await page.keyboard.type('42');
  await expect(address).toBeFocused();
  await expect(address).toHaveValue('10.0.0.742');
  await page.keyboard.press('Backspace');
  await expect.poll(async () => compact(await stored())).toContain('fixed_ip: 10.0.0.74}');
});

test('what was added last is offered first, also after a reload', async ({ page }) => {
  await login(page);
  const stored = await open(page);
  const addBox = page.getByRole('dialog', { name: 'Add' });
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('a');
  await addBox.getByRole('combobox').fill('random');
  await page.keyboard.press('Enter');
  await expect(node(page, 'random_string')).toBeVisible();
  await expect.poll(stored).toContain('OS::Heat::RandomString');
  await page.reload();
  await canvasReady(page);
  await page.getByTestId('canvas').focus();
  await page.keyboard.press('a');
  await expect(addBox.getByRole('option').first()).toContainText('Random string');
});

test('lines go around the cards between their ends', async ({ page }) => {
  await login(page);
  const card = (name: string) => `  ${name}: {type: OS::Nova::Server, properties: {flavor: m1.tiny}}\n`;
  const template = `heat_template_version: 2021-04-16\nresources:\n${card('left')}${card('between')}  right:\n    type: OS::Nova::Server\n    depends_on: left\n    properties: {flavor: m1.tiny}\n`;
  await open(page, template);
  const line = page.locator('.line[data-from="right"][data-to="left"] .line-ink');
  const crossed = async () => {
    const between = (await node(page, 'between').boundingBox())!;
    return line.evaluate((path: SVGPathElement, box) => {
      const matrix = path.getScreenCTM()!;
      const inside = (length: number) => {
        const point = path.getPointAtLength(length).matrixTransform(matrix);
        return point.x > box.x + 1 && point.x < box.x + box.width - 1 && point.y > box.y + 1 && point.y < box.y + box.height - 1;
      };
      return Array.from({ length: 200 }, (_, step) => inside((path.getTotalLength() * step) / 199)).some(Boolean);
    }, between);
  };
  await expect(line).toBeAttached();
  expect(await crossed()).toBe(false);
  const start = await centre(node(page, 'right'));
  await drag(page, start, { x: start.x, y: start.y + 90 });
  await expect.poll(crossed).toBe(false);
  await shoot(page, 'around');
});

test('the end of a line moves to another network, and the twin of a backend is offered to its proxy', async ({ page }) => {
  await login(page);
  const template = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
  side: {type: OS::Neutron::Net}
  edge:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      networks: [{network: {get_resource: front}}, {network: {get_resource: back}}]
  web: {type: OS::Nova::Server, properties: {flavor: m1.tiny, networks: [{network: {get_resource: back}}]}}
  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}}}
  proxy: {type: Stackloom::Catalog::haproxy, properties: {host: {get_resource: edge}, backends: [{get_resource: nginx}]}}
`;
  const stored = await open(page, template);
  const end = page.locator('.line[data-from="edge"][data-to="back"] .line-end');
  const side = (await node(page, 'side').boundingBox())!;
  await drag(page, await centre(end), { x: side.x + side.width / 2, y: side.y + side.height - 30 });
  await expect.poll(async () => compact(await stored())).toMatch(/network: ?\{? ?get_resource: side/);

  await node(page, 'web').click({ position: { x: 12, y: 12 } });
  await page.keyboard.press('Control+d');
  await page.getByRole('status').getByRole('button', { name: 'Connect' }).click();
  await expect.poll(async () => compact(await stored())).toMatch(/get_resource: nginx_2/);
});

test('the start of a selected line moves to another server with its address, and only there', async ({ page }) => {
  await login(page);
  const template = `${twoServers}  word: {type: OS::Heat::RandomString, depends_on: two}\n`;
  const stored = await open(page, template);
  const canvas = page.getByTestId('canvas');
  const line = page.locator('.line[data-from="one"][data-to="back"]');
  const grip = canvas.locator('[data-start]');
  const dragStartTo = async (target: Locator) => {
    const start = await centre(grip);
    const end = await centre(target);
    await page.mouse.move(start.x, start.y);
    await page.mouse.down();
    await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2, { steps: 8 });
    await page.mouse.move(end.x, end.y, { steps: 8 });
    await expect(canvas).toHaveAttribute('data-doing', 'connecting');
  };
  await expect(line).toHaveCount(1);
  await expect(grip, 'without a selected line, the start has the connection handle of the server').toHaveCount(0);
  const middle = await middleOf(line);
  await page.mouse.click(middle.x, middle.y);
  await expect(grip).toHaveCount(1);

  // The drag shows where the line can start, and Escape ends it.
  await dragStartTo(node(page, 'two'));
  await expect(node(page, 'two')).toHaveAttribute('data-aim', 'accepted');
  await expect(canvas.locator('.hint')).toHaveText('Connect two to back instead of one');
  await expect(canvas.locator('.thread')).toHaveCount(1);
  await expect(node(page, 'two')).not.toHaveAttribute('data-dim');
  await expect(node(page, 'back')).not.toHaveAttribute('data-dim');
  await expect(node(page, 'side')).toHaveAttribute('data-dim', 'true');
  await shoot(page, 'start');
  await page.keyboard.press('Escape');
  await expect(canvas).toHaveAttribute('data-doing', 'idle');
  await page.mouse.up();
  await expect(line).toHaveAttribute('data-selected', 'true');

  // Another network refuses it, with the reason.
  await dragStartTo(node(page, 'side'));
  await expect(node(page, 'side')).toHaveAttribute('data-aim', 'refused');
  await expect(canvas.locator('.hint[data-refused]')).toContainText('Networks are joined by a router');
  await page.mouse.up();
  await expect(canvas).toHaveAttribute('data-doing', 'idle');
  await expect(line).toHaveAttribute('data-selected', 'true');

  await dragStartTo(node(page, 'two'));
  await page.mouse.up();
  await expect(page.locator('.line[data-from="two"][data-to="back"]')).toHaveCount(1);
  await expect(line).toHaveCount(0);
  await expect(node(page, 'two')).toHaveAttribute('data-selected', 'true');
  await expect(grip).toHaveCount(0);
  await expect.poll(async () => compact(await stored())).toMatch(/two:.*get_resource: back/);
  expect(compact(await stored())).toMatch(/two:.*fixed_ip: ?10\.0\.0\.7/);

  // One undo takes back the one change.
  await page.keyboard.press('Control+z');
  await expect(line).toHaveCount(1);
  await expect.poll(stored).toBe(template);

  // The order of creation has no start that could move.
  await page.getByRole('tab', { name: 'Outline' }).click();
  await page.getByRole('complementary', { name: 'Palette' }).getByRole('button', { name: 'to two (depends on)' }).click();
  await expect(page.locator('.line[data-from="word"][data-to="two"]')).toHaveAttribute('data-selected', 'true');
  await expect(grip).toHaveCount(0);
});

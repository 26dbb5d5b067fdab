// Real servers after their boot: software, commands, a rolling update, a lost server, a closed gate, a signal, a group behind its
// proxy.
import { expect, test, type APIRequestContext, type Page } from '@playwright/test';
import { api, login, shoot } from './support/app.ts';
import { remove } from './support/lab.ts';
import { ended } from './support/runs.ts';
import { leftovers } from './support/tidy.ts';

const MINUTES = 60_000;

interface Started {
  deployment: string;
  run: string;
}

interface Run {
  state: string;
  steps: { id: string; started?: string; ended?: string }[];
}

interface Event {
  seq: number;
  type: string;
  text?: string;
}

/** A bastion whose software reads other software's output, and six servers that are updated two at a time. */
const six = (word: string) => `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.36.0.0/24}}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, user_data_format: SOFTWARE_CONFIG, networks: [{network: {get_resource: front}}]}
  say:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, outputs: [{name: word}], config: 'printf hello > $heat_outputs_path.word'}
  hear:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, inputs: [{name: heard}], config: 'echo "heard $heard"'}
  said: {type: OS::Heat::SoftwareDeployment, properties: {config: {get_resource: say}, server: {get_resource: gate}}}
  heard:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: hear}, server: {get_resource: gate}, input_values: {heard: {get_attr: [said, word]}}}
  web:
    type: OS::Heat::AutoScalingGroup
    depends_on: front_subnet
    properties:
      min_size: 6
      max_size: 6
      rolling_updates: {max_batch_size: 2, min_in_service: 4}
      resource:
        type: OS::Nova::Server
        properties:
          image: debian-12
          flavor: m1.tiny
          user_data_format: SOFTWARE_CONFIG
          user_data: '#!/bin/true ${word}'
          networks: [{network: {get_resource: front}}]
  greet: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: echo hello}}
  greeted: {type: OS::Heat::SoftwareDeploymentGroup, properties: {config: {get_resource: greet}, servers: {get_attr: [web, refs_map]}}}
outputs:
  heard: {value: {get_attr: [heard, deploy_stdout]}}
`;

const MEMBERS = [0, 1, 2, 3, 4, 5].map((number) => `web/${number}`);

test('six servers get software, a command, an update in batches, and a successor for a lost one @full', async ({ page, request }) => {
  test.setTimeout(30 * MINUTES);
  await login(page);
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'life', template: six('first') });
  await ended(page, run, 10 * MINUTES);
  await page.goto(`/deployments/${deployment}`);
  await expect(page.locator('[data-output="heard"]'), 'software reads the output of other software').toContainText('heard hello');

  await test.step('a command runs on the six servers', async () => {
    await page.getByRole('button', { name: 'Run a command' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run a command' });
    await dialog.getByLabel('Script', { exact: true }).fill('echo "one of six"');
    await dialog.getByRole('checkbox', { name: 'All servers' }).uncheck();
    for (const member of MEMBERS) await dialog.getByRole('checkbox', { name: member, exact: true }).check();
    await dialog.getByLabel('Title').fill('Six');
    await dialog.getByRole('button', { name: 'Run', exact: true }).click();
    await expect(page).toHaveURL(/\/runs\//);
    const command = new URL(page.url()).pathname.split('/').pop() ?? '';
    await ended(page, command, 5 * MINUTES);
    await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');
    const events = await api<Event[]>(page, 'GET', `/runs/${command}/events?after=0&limit=1000`);
    expect(events.filter(({ type, text }) => type === 'log' && text === 'one of six')).toHaveLength(6);
    await shoot(page, 'command-on-six');
  });

  await test.step('the servers are replaced two at a time', async () => {
    const update = await api<Started>(page, 'PUT', `/deployments/${deployment}`, { name: 'life', template: six('second') });
    await page.goto(`/runs/${update.run}`);
    await ended(page, update.run, 10 * MINUTES);
    await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');
    const { steps } = await api<Run>(page, 'GET', `/runs/${update.run}`);
    const created = steps.filter(({ id }) => /^web\/\d:create$/.test(id));
    expect(created).toHaveLength(6);
    const spans = created.map((step) => ({ from: Date.parse(step.started ?? ''), to: Date.parse(step.ended ?? '') }));
    const atOnce = spans.map(({ from }) => spans.filter((other) => other.from <= from && from < other.to).length);
    expect(Math.max(...atOnce), JSON.stringify(created)).toBeLessThanOrEqual(2);
  });

  await test.step('a server that somebody deleted is found, shown and made again', async () => {
    const lost = await idOf(page, deployment, 'web/3');
    await remove(request, `/compute/v2.1/servers/${lost}`);
    await page.goto(`/deployments/${deployment}`);
    const section = page.getByRole('region', { name: 'Check' });
    const finding = section.locator('[data-finding="web/3"]');
    // Nova deletes a server after its answer.
    await expect(async () => {
      await section.getByRole('button', { name: 'Check now' }).click();
      await expect(finding).toContainText('Gone', { timeout: 30_000 });
    }).toPass({ timeout: 3 * MINUTES });
    await shoot(page, 'check-lost-server');
    await section.getByRole('button', { name: 'Repair' }).click();
    const question = page.getByRole('dialog', { name: 'Repair life?' });
    await expect(question).toContainText('web/3: it is gone from the cloud: it is created again');
    await question.getByRole('button', { name: 'Repair' }).click();
    await expect(page).toHaveURL(/\/runs\//);
    await expect(page.getByTestId('success')).toContainText('succeeded', { timeout: 5 * MINUTES });
    expect(await idOf(page, deployment, 'web/3')).not.toBe(lost);
    await page.goto(`/deployments/${deployment}`);
    await section.getByRole('button', { name: 'Check now' }).click();
    await expect(section).toContainText('All compared resources are as deployed.', { timeout: 2 * MINUTES });
  });

  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run, 5 * MINUTES);
  expect(await leftovers(request)).toEqual({});
});

/** A service that gets healthy when a script creates a file. The script comes after the work on another server, and after its signal. */
const gated = `heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.38.0.0/24}}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      image: debian-12
      flavor: m1.tiny
      user_data_format: SOFTWARE_CONFIG
      user_data: |
        #!/bin/sh
        nohup python3 -m http.server 8080 > /dev/null 2>&1 &
      networks: [{network: {get_resource: front}}]
  shop:
    type: Stackloom::Catalog::service
    properties: {host: {get_resource: gate}, listen_port: 8080, command: test -e /tmp/open}
  find: {type: OS::Heat::SoftwareConfig, properties: {group: script, inputs: [{name: where}], config: 'echo "found $where"'}}
  found:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: find}, server: {get_resource: gate}, input_values: {where: {get_attr: [shop, address]}}}
  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 900}}
  other:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.tiny
      user_data_format: SOFTWARE_CONFIG
      user_data:
        str_replace:
          template: |
            #!/bin/sh
            notify --data-binary '{"status": "SUCCESS", "id": "other", "data": "it is up"}'
          params: {notify: {get_attr: [handle, curl_cli]}}
      networks: [{network: {get_resource: front}}]
  work: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: echo done}}
  worked: {type: OS::Heat::SoftwareDeployment, properties: {config: {get_resource: work}, server: {get_resource: other}}}
  open: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: touch /tmp/open}}
  opened:
    type: OS::Heat::SoftwareDeployment
    depends_on: [worked, wait]
    properties: {config: {get_resource: open}, server: {get_resource: gate}}
outputs:
  found: {value: {get_attr: [found, deploy_stdout]}}
  signalled: {value: {get_attr: [wait, data]}}
`;

test('one closed gate delays only what needs it, and a server signals from its user data @full', async ({ page, request }) => {
  test.setTimeout(20 * MINUTES);
  await login(page);
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'gated', template: gated });
  await page.goto(`/runs/${run}`);
  const step = (id: string) => page.getByRole('list', { name: 'Steps' }).locator(`[data-step="${id}"]`);
  await step('found:configure').click();
  await expect(page.locator('.step-detail')).toContainText(/Waits for.*shop:configure.*Health check of .* failed/s, { timeout: 10 * MINUTES });
  // If anything else waited for the gate, it would never open.
  await ended(page, run, 15 * MINUTES);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');
  await page.getByRole('button', { name: 'Timeline' }).click();
  await shoot(page, 'closed-gate');
  const { steps } = await api<Run>(page, 'GET', `/runs/${run}`);
  const at = (id: string, what: 'started' | 'ended') => Date.parse(steps.find((one) => one.id === id)?.[what] ?? '');
  for (const id of ['wait:create', 'worked:configure']) {
    expect(at(id, 'ended'), `${id} ends while the gate is closed`).toBeLessThan(at('shop:configure', 'ended'));
  }
  expect(at('found:configure', 'started')).toBeGreaterThanOrEqual(at('shop:configure', 'ended'));

  await page.goto(`/deployments/${deployment}`);
  await expect(page.locator('[data-output="found"]')).toContainText(/found \d+\.\d+\.\d+\.\d+:8080/);
  await expect(page.locator('[data-output="signalled"]')).toContainText('it is up');
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run, 5 * MINUTES);
  expect(await leftovers(request)).toEqual({});
});

const site = `heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.37.0.0/24}}
  gate:
    type: OS::Nova::Server
    depends_on: subnet
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  web:
    type: OS::Heat::AutoScalingGroup
    depends_on: subnet
    properties:
      min_size: 1
      max_size: 5
      desired_capacity: 2
      resource: {type: web.yaml, properties: {net: {get_resource: net}}}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties: {host: {get_resource: gate}, backends: {get_attr: [web, outputs_list, site]}}
outputs:
  url: {value: {get_attr: [proxy, url]}}
`;

/** A member of the group. Its page is its address. */
const member = `heat_template_version: 2021-04-16
parameters:
  net: {type: string}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_param: net}}]}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: server}, page_text: {get_attr: [server, first_address]}}
outputs:
  site: {value: {get_resource: nginx}}
`;

test('a group is scaled from 2 to 5 to 1 behind its proxy, and no request fails @full', async ({ page, request }) => {
  test.setTimeout(30 * MINUTES);
  await login(page);
  const template = { name: 'busy', template: site, files: { 'web.yaml': member } };
  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', template);
  await ended(page, run, 10 * MINUTES);
  const { outputs } = await api<{ outputs: { url: { value: string } } }>(page, 'GET', `/deployments/${deployment}`);
  const client = new Client(request, outputs.url.value);
  try {
    expect(await client.members()).toBe(2);
    await scale(page, deployment, 2, 5);
    expect(await client.members()).toBe(5);
    await scale(page, deployment, 5, 1);
    expect(await client.members()).toBe(1);
  } finally {
    await client.stop();
  }
  expect(client.failures).toEqual([]);

  await test.step('a check has the proxy configured without a member that somebody deleted', async () => {
    await scale(page, deployment, 1, 2);
    const { resources } = await api<{ resources: { name: string }[] }>(page, 'GET', `/deployments/${deployment}`);
    const member = resources.map(({ name }) => name).find((name) => /^web\/\d+\/server$/.test(name)) ?? '';
    await remove(request, `/compute/v2.1/servers/${await idOf(page, deployment, member)}`);
    await page.goto(`/deployments/${deployment}`);
    const section = page.getByRole('region', { name: 'Check' });
    await expect(async () => {
      await section.getByRole('button', { name: 'Check now' }).click();
      await expect(section.locator(`[data-finding="${member}"]`)).toContainText('Gone', { timeout: 30_000 });
    }).toPass({ timeout: 3 * MINUTES });
    const service = member.replace('server', 'nginx');
    await expect(section).toContainText(`Software is configured without servers that are gone: proxy without ${service}.`);
    await shoot(page, 'check-lost-member');
    await section.getByRole('link', { name: 'See the run' }).click();
    await expect(page.getByRole('heading', { name: `Configure proxy without ${service}` })).toBeVisible();
    await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded', { timeout: 3 * MINUTES });
  });
  const gone = await api<Started>(page, 'DELETE', `/deployments/${deployment}`);
  await ended(page, gone.run, 5 * MINUTES);
  expect(await leftovers(request)).toEqual({});
});

/** Asks a proxy all the time, over a new connection for each request. */
class Client {
  readonly failures: string[] = [];
  private readonly request: APIRequestContext;
  private readonly url: string;
  private readonly task: Promise<void>;
  private pages: string[] = [];
  private isAsking = true;

  constructor(request: APIRequestContext, url: string) {
    this.request = request;
    this.url = url;
    this.task = this.ask();
  }

  /** Number of members that answer the next 50 requests. */
  async members(): Promise<number> {
    this.pages = [];
    await expect.poll(() => this.pages.length, { timeout: MINUTES }).toBeGreaterThanOrEqual(50);
    return new Set(this.pages).size;
  }

  async stop(): Promise<void> {
    this.isAsking = false;
    await this.task;
  }

  private async ask(): Promise<void> {
    while (this.isAsking) {
      try {
        const answer = await this.request.get(this.url, { headers: { Connection: 'close' }, timeout: 10_000 });
        const text = await answer.text();
        const page = /<p>(.*?)<\/p>/.exec(text)?.[1];
        if (answer.ok() && page) this.pages.push(page);
        else this.failures.push(`${answer.status()}: ${text}`);
      } catch (error) {
        this.failures.push(String(error));
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Scales the group `web` on the deployment's page, and waits for the run's end. */
async function scale(page: Page, deployment: string, from: number, to: number): Promise<void> {
  await page.goto(`/deployments/${deployment}`);
  const row = page.locator('[data-group="web"]');
  const start = row.getByRole('button', { name: 'Scale' });
  await expect(row.locator('[data-size-now]')).toHaveText(String(from));
  await expect(start).toBeDisabled();
  await row.getByRole('spinbutton', { name: 'Size of web' }).fill(String(to));
  await start.click();
  const question = page.getByRole('dialog', { name: `Scale web: ${from} → ${to}?` });
  await question.getByRole('button', { name: 'Scale' }).click();
  await expect(page).toHaveURL(/\/runs\//);
  const success = page.getByTestId('success');
  await expect(success).toContainText(`Scale web: ${from} → ${to} succeeded`, { timeout: 10 * MINUTES });
}

/** Id of a resource in the cloud. */
async function idOf(page: Page, deployment: string, name: string): Promise<string> {
  const { resources } = await api<{ resources: { name: string; physical_id: string }[] }>(page, 'GET', `/deployments/${deployment}`);
  return resources.find((one) => one.name === name)?.physical_id ?? '';
}

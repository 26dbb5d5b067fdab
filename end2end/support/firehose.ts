// A server with an item that prints lines at given rates, for benchmarks of the log.
import { expect, type Page } from '@playwright/test';
import { api } from './app.ts';

/** The template, with more properties of the item: `, seconds: 100`. */
export function firehose(properties: string): string {
  return `heat_template_version: 2021-04-16
resources:
  net: {type: "OS::Neutron::Net"}
  net_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.40.0.0/24}
  server:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: net}}]
  firehose:
    type: Stackloom::Catalog::firehose
    properties: {host: {get_resource: server}${properties}}
`;
}

/** Waits until the run has succeeded. */
export async function ended(page: Page, run: string): Promise<void> {
  const state = async () => (await api<{ state: string }>(page, 'GET', `/runs/${run}`)).state;
  await expect.poll(state, { timeout: 8 * 60_000 }).toMatch(/succeeded|failed|cancelled/);
  expect(await state()).toBe('succeeded');
}

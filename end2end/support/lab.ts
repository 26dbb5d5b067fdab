// The lab cloud, asked directly: what the cloud says counts, not what our pages say about it.
import { expect, type APIRequestContext } from '@playwright/test';

const lab = process.env.STACKLOOM_LAB ?? 'http://127.0.0.1:9500';

/** Things by project, as the lab lists them. */
export type Things = Record<string, string[]>;

/** All that exists in the lab and was made by somebody. */
export async function thingsInLab(request: APIRequestContext): Promise<Things> {
  const response = await request.get(`${lab}/lab/leftovers`);
  expect(response.ok(), `the lab answered ${response.status()}`).toBeTruthy();
  return (await response.json()) as Things;
}

/** A token of the demo user, got as `openstack token issue` would. */
export async function token(request: APIRequestContext): Promise<string> {
  const user = { name: 'demo', password: 'demo', domain: { name: 'Default' } };
  const scope = { project: { name: 'demo', domain: { name: 'Default' } } };
  const response = await request.post(`${lab}/identity/v3/auth/tokens`, {
    data: { auth: { identity: { methods: ['password'], password: { user } }, scope } },
  });
  expect(response.status()).toBe(201);
  return response.headers()['x-subject-token'] ?? '';
}

/** One rule of a security group. */
export interface Rule {
  direction: string;
  protocol: string | null;
  port_range_min: number | null;
  remote_ip_prefix: string | null;
}

/** The rules that let SSH in from one address: what an open bastion looks like. */
export async function openBastionRules(request: APIRequestContext): Promise<Rule[]> {
  const response = await request.get(`${lab}/network/v2.0/security-group-rules`, {
    headers: { 'X-Auth-Token': await token(request) },
  });
  expect(response.ok()).toBeTruthy();
  const { security_group_rules: rules } = (await response.json()) as { security_group_rules: Rule[] };
  return rules.filter((rule) => rule.direction === 'ingress' && rule.port_range_min === 22 && rule.remote_ip_prefix !== null);
}

/** Makes the lab misbehave until `clearFaults`; the form is that of `crates/lab/src/faults.rs`. */
export async function fault(request: APIRequestContext, what: unknown): Promise<void> {
  const response = await request.post(`${lab}/lab/faults`, { data: what });
  expect(response.status(), await response.text()).toBe(201);
}

/** The lab behaves again. */
export async function clearFaults(request: APIRequestContext): Promise<void> {
  expect((await request.delete(`${lab}/lab/faults`)).ok()).toBeTruthy();
}

/** Removes something as the demo user, past our own program. */
export async function remove(request: APIRequestContext, path: string): Promise<void> {
  const response = await request.delete(`${lab}${path}`, { headers: { 'X-Auth-Token': await token(request) } });
  expect(response.status()).toBe(204);
}

/** A network as the cloud has it. */
interface Network {
  id: string;
  description: string;
}

/** A network of the demo user's project. */
export async function network(request: APIRequestContext, id: string): Promise<Network> {
  const response = await request.get(`${lab}/network/v2.0/networks/${id}`, { headers: { 'X-Auth-Token': await token(request) } });
  expect(response.ok()).toBeTruthy();
  return ((await response.json()) as { network: Network }).network;
}

/** Creates a network as the demo user, past our own program. */
export async function createNetwork(request: APIRequestContext, fields: { name: string; description: string }): Promise<Network> {
  const headers = { 'X-Auth-Token': await token(request) };
  const response = await request.post(`${lab}/network/v2.0/networks`, { headers, data: { network: fields } });
  expect(response.status(), await response.text()).toBe(201);
  return ((await response.json()) as { network: Network }).network;
}

/** An application credential of the demo user. */
export async function applicationCredential(request: APIRequestContext): Promise<{ id: string; secret: string }> {
  const headers = { 'X-Auth-Token': await token(request) };
  const me = await request.get(`${lab}/identity/v3/auth/tokens`, { headers: { ...headers, 'X-Subject-Token': headers['X-Auth-Token'] } });
  const { token: { user } } = (await me.json()) as { token: { user: { id: string } } };
  const data = { application_credential: { name: `e2e ${Date.now()}` } };
  const made = await request.post(`${lab}/identity/v3/users/${user.id}/application_credentials`, { headers, data });
  expect(made.status(), await made.text()).toBe(201);
  const { application_credential: credential } = (await made.json()) as { application_credential: { id: string; secret: string } };
  return credential;
}

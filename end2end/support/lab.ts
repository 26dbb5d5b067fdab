// Direct requests to the lab cloud, to check its state independently of the pages.
import { expect, type APIRequestContext } from '@playwright/test';
import { LAB as lab } from './addresses.ts';

/** Resources by project, as the lab lists them. */
export type Things = Record<string, string[]>;

/** All resources in the lab, without built-in ones. */
export async function thingsInLab(request: APIRequestContext): Promise<Things> {
  const response = await request.get(`${lab}/lab/leftovers`);
  expect(response.ok(), `the lab answered ${response.status()}`).toBeTruthy();
  return (await response.json()) as Things;
}

/** A token of the demo user. */
export async function token(request: APIRequestContext): Promise<string> {
  const user = { name: 'demo', password: 'demo', domain: { name: 'Default' } };
  const scope = { project: { name: 'demo', domain: { name: 'Default' } } };
  const response = await request.post(`${lab}/identity/v3/auth/tokens`, {
    data: { auth: { identity: { methods: ['password'], password: { user } }, scope } },
  });
  expect(response.status()).toBe(201);
  return response.headers()['x-subject-token'] ?? '';
}

/** A rule of a security group. */
export interface Rule {
  direction: string;
  protocol: string | null;
  port_range_min: number | null;
  remote_ip_prefix: string | null;
}

/** The rules that allow SSH from one address: present while the bastion is open. */
export async function openBastionRules(request: APIRequestContext): Promise<Rule[]> {
  const response = await request.get(`${lab}/network/v2.0/security-group-rules`, {
    headers: { 'X-Auth-Token': await token(request) },
  });
  expect(response.ok()).toBeTruthy();
  const { security_group_rules: rules } = (await response.json()) as { security_group_rules: Rule[] };
  return rules.filter((rule) => rule.direction === 'ingress' && rule.port_range_min === 22 && rule.remote_ip_prefix !== null);
}

/** Arms faults in the lab until `clearFaults`. The format is defined in `crates/lab/src/kit/faults.rs`. */
export async function fault(request: APIRequestContext, what: unknown): Promise<void> {
  const response = await request.post(`${lab}/lab/faults`, { data: what });
  expect(response.status(), await response.text()).toBe(201);
}

/** Disarms all faults. */
export async function clearFaults(request: APIRequestContext): Promise<void> {
  expect((await request.delete(`${lab}/lab/faults`)).ok()).toBeTruthy();
}

/** Deletes a resource directly in the cloud, as the demo user. */
export async function remove(request: APIRequestContext, path: string): Promise<void> {
  const response = await request.delete(`${lab}${path}`, { headers: { 'X-Auth-Token': await token(request) } });
  expect(response.status()).toBe(204);
}

/** A network in the cloud. */
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

/** Creates a network directly in the cloud, as the demo user. */
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

/** Changes a network directly in the cloud, as the demo user. */
export async function changeNetwork(request: APIRequestContext, id: string, fields: { name: string }): Promise<void> {
  const headers = { 'X-Auth-Token': await token(request) };
  const response = await request.put(`${lab}/network/v2.0/networks/${id}`, { headers, data: { network: fields } });
  expect(response.ok(), await response.text()).toBeTruthy();
}

// The pages from the login to an update of a deployment, with real servers. README shows some of the screenshots.
import { expect, test, type Page } from '@playwright/test';
import { api, canvasReady, login, openDesign, openDesigns } from '../support/app.ts';
import { typeCode } from '../support/code.ts';
import { inspect, problems, saved } from '../support/draw.ts';
import { leftovers } from '../support/tidy.ts';
import { shop } from '../support/shop.ts';
import { glance, picture } from './camera.ts';

interface Made {
  id: string;
}

interface Started {
  deployment: string;
  run: string;
}

/** A CloudFormation template with a resource that has no counterpart in OpenStack. */
const afar = `AWSTemplateFormatVersion: '2010-09-09'
Parameters:
  Size: {Type: String, Default: m1.small}
Resources:
  Net: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.40.0.0/16}}
  Front: {Type: AWS::EC2::Subnet, Properties: {VpcId: {Ref: Net}, CidrBlock: 10.40.1.0/24}}
  Web:
    Type: AWS::EC2::Instance
    Properties: {ImageId: debian-12, InstanceType: {Ref: Size}, SubnetId: {Ref: Front}}
  Role: {Type: AWS::IAM::Role}
  Alarm: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: CPUUtilization}}
`;

test('from the login to a change', async ({ page, request }) => {
  await page.goto('/login');
  await expect(page.getByRole('button', { name: 'Log in', exact: true })).toBeEnabled({ timeout: 30_000 });
  await expect(page.getByLabel('Cloud', { exact: true }).locator('option[value="lab"]')).toBeAttached();
  await page.getByLabel('Cloud', { exact: true }).selectOption('lab');
  await glance(page, 'login');
  await login(page);
  await openDesigns(page);
  await glance(page, 'first');

  const design = (name: string, template: string) => api<Made>(page, 'POST', '/designs', { name, template });
  for (const name of ['Wiki', 'Build farm', 'Measuring station']) await design(name, shop({ volume: name !== 'Wiki' }));
  const { id } = await design('Shop', shop({ flavor: 'm1.smal' }));
  await page.reload();
  await expect(page.getByRole('link', { name: 'Shop', exact: true })).toBeVisible();
  await glance(page, 'designs');

  await test.step('a template from elsewhere', async () => {
    await expect(page.getByRole('button', { name: 'Open', exact: true })).toBeEnabled({ timeout: 30_000 });
    await page.getByLabel('HOT files').setInputFiles({ name: 'afar.yaml', mimeType: 'text/yaml', buffer: Buffer.from(afar) });
    await expect(page.getByRole('dialog').getByRole('listitem').first()).toBeVisible();
    await glance(page, 'import');
    await page.keyboard.press('Escape');
  });

  await test.step('a design with a slip of the pen', async () => {
    await openDesign(page, id);
    await problems(page);
    await inspect(page, 'web1');
    await page.keyboard.press('f');
    await glance(page, 'design-problems', () => fit(page));
    await typeCode(page, shop());
    await saved(page);
    await inspect(page, 'shop1');
    await picture(page, 'design', () => fit(page));
  });

  const { deployment, run } = await api<Started>(page, 'POST', '/deployments', { name: 'shop', design: id });
  await test.step('a run, while it goes on', async () => {
    await page.goto(`/runs/${run}`);
    await expect(page.getByRole('log')).toContainText(/Install nginx/, { timeout: 5 * 60_000 });
    await picture(page, 'run');
    await ended(page, run);
  });

  await test.step('what is there', async () => {
    await page.goto(`/deployments/${deployment}`);
    await expect(page.locator('[data-output="url"]').getByRole('link').first()).toBeVisible();
    await canvasReady(page);
    await glance(page, 'deployment');
    await page.goto('/deployments');
    await expect(page.getByRole('link', { name: 'shop', exact: true })).toBeVisible();
    await glance(page, 'deployments');
    await page.goto('/catalog');
    await expect(page.getByText('HAProxy').first()).toBeVisible();
    await glance(page, 'catalogue');
  });

  await test.step('a change of it', async () => {
    const { name, version } = await api<{ name: string; version: number }>(page, 'GET', `/designs/${id}`);
    const template = shop({ userData: '#!/bin/sh\napt-get -y upgrade', network: 'shop-front', volume: false });
    await api(page, 'PUT', `/designs/${id}`, { name, template, base_version: version });
    await page.goto(`/designs/${id}/plan?deployment=${deployment}`);
    await expect(page.getByRole('region', { name: 'Changes' }).locator('[data-action="replace"]')).toBeVisible({ timeout: 30_000 });
    await picture(page, 'plan');
    await page.getByRole('group', { name: 'Show' }).getByRole('button', { name: 'Drawing' }).click();
    await canvasReady(page);
    await glance(page, 'plan-drawing');
  });

  await test.step('nothing stays', async () => {
    const gone = await api<{ run: string }>(page, 'DELETE', `/deployments/${deployment}`);
    await ended(page, gone.run);
    expect(await leftovers(request)).toEqual({});
  });
});

/** Fits the whole drawing into the viewport. */
async function fit(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Fit to screen' }).click();
}

async function ended(page: Page, run: string): Promise<void> {
  await expect
    .poll(async () => (await api<{ state: string }>(page, 'GET', `/runs/${run}`)).state, { timeout: 6 * 60_000 })
    .toMatch(/succeeded|failed|cancelled/);
  expect((await api<{ state: string }>(page, 'GET', `/runs/${run}`)).state).toBe('succeeded');
}

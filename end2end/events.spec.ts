// The events of a deployment, and who may change it.
import { expect, test } from '@playwright/test';
import { api, demo, login, shoot } from './support/app.ts';
import { ended } from './support/runs.ts';

const template = 'heat_template_version: 2021-04-16\nresources: {word: {type: OS::Heat::RandomString}}\n';

interface Started {
  deployment: string;
  run: string;
}

test('a deployment lists its last events and who may change it', async ({ page }) => {
  await login(page);
  const started = await api<Started>(page, 'POST', '/deployments', { name: 'watched', template });
  await ended(page, started.run);
  await page.goto(`/deployments/${started.deployment}`);
  const events = page.getByRole('region', { name: 'Events' });
  await expect(events.getByRole('row').filter({ hasText: 'Deploy' })).toContainText('demo');
  await expect(events.getByRole('row').filter({ hasText: 'Deploy' }), 'the run tells how it ended').toContainText('Accepted');
  await expect(events.locator('[data-who]')).toContainText('You may change it.');

  await test.step('a check is an event', async () => {
    await page.getByRole('button', { name: 'Check now' }).click();
    await expect(events.getByRole('row').filter({ hasText: 'Check' })).toContainText('Done');
    await shoot(page, 'deployment-events');
  });

  await test.step('the audit log shows these events, and all again', async () => {
    await events.getByRole('link', { name: 'All events' }).click();
    await expect(page).toHaveURL(`/audit?deployment=${started.deployment}`);
    const rows = page.locator('tbody tr');
    await expect(rows).toHaveCount(2);
    await page.getByRole('link', { name: 'Show all events' }).click();
    await expect(page).toHaveURL('/audit');
    await expect(rows.filter({ hasText: 'Log in' }).first()).toBeVisible();
  });

  await test.step('the address of a terminal on no server says so', async () => {
    await page.goto(`/deployments/${started.deployment}/terminal/nowhere`);
    await expect(page.getByText('The deployment has no server nowhere.')).toBeVisible();
    await expect(page.getByRole('tab')).toHaveCount(0);
  });

  await test.step('a reader sees who may change it, and gets no terminal', async () => {
    await login(page, { ...demo, user: 'reader', password: 'reader' });
    await page.goto(`/deployments/${started.deployment}`);
    await expect(events.locator('[data-who]')).toContainText('Users with the role member, ');
    await expect(events.locator('[data-who]')).toContainText('You have read access only');
    await expect(events.getByRole('table')).toHaveCount(0);
    await page.goto(`/deployments/${started.deployment}/terminal/nowhere`);
    await expect(page.getByRole('heading', { name: 'No terminal with read access' })).toBeVisible();
  });

  await login(page);
  const gone = await api<Started>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, gone.run);
});

// Login, and the message for each failure.
import { expect, test } from '@playwright/test';
import { alert, demo, fillLogin, login, loginByForm, openDesigns, shoot, watchConsole } from './support/app.ts';
import { applicationCredential } from './support/lab.ts';

test('the demo account gets in, and out again', async ({ page }) => {
  const complaints = watchConsole(page);
  await loginByForm(page);
  await page.getByRole('button', { name: 'User and settings' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await expect(page).toHaveURL(/\/login/);
  await page.goto('/designs');
  await expect(page).toHaveURL(/\/login/);
  expect(complaints).toEqual([]);
});

test('a logout ends the reads that are under way', async ({ page }) => {
  const complaints = watchConsole(page);
  await login(page);
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => { release = resolve; });
  await page.route('**/api/v1/deployments?*', async (route) => {
    await released;
    await route.continue();
  });
  const reading = page.waitForRequest('**/api/v1/deployments?*');
  await page.goto('/deployments');
  const read = await reading;
  // The server has ended the session, and the page is still there when the read goes on.
  await page.route('**/api/v1/logout', async (route) => {
    const response = await route.fetch();
    release();
    await read.response();
    await route.fulfill({ response });
  });
  await page.getByRole('button', { name: 'User and settings' }).click();
  await page.getByRole('button', { name: 'Log out' }).click();
  await expect(page).toHaveURL(/\/login/);
  expect(await read.response(), 'the read has no answer').toBeNull();
  expect(complaints).toEqual([]);
});

test('the page of the login', async ({ page }) => {
  await page.goto('/login');
  await expect(page.getByLabel('Cloud', { exact: true }).locator('option')).not.toHaveCount(0);
  await shoot(page, 'login');
});

test('what is typed stays when the connection comes back', async ({ page, context }) => {
  await page.goto('/login');
  await expect(page.getByRole('button', { name: 'Log in', exact: true })).toBeEnabled({ timeout: 60_000 });
  const user = page.getByLabel('User', { exact: true });
  await user.fill('somebody');
  const asked = page.waitForResponse('**/api/v1/me');
  await context.setOffline(true);
  await context.setOffline(false);
  expect((await asked).status()).toBe(401);
  // A navigation would have begun before these frames.
  await page.evaluate(() => new Promise((drawn) => void requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await expect(user).toHaveValue('somebody');
  await expect(page).toHaveURL('/login');
});

test('an application credential gets in, a wrong secret does not', async ({ page, request }) => {
  const { id, secret } = await applicationCredential(request);
  await page.goto('/login');
  const button = page.getByRole('button', { name: 'Log in', exact: true });
  await expect(button).toBeEnabled({ timeout: 60_000 });
  await page.getByLabel('Cloud', { exact: true }).selectOption('lab');
  await page.getByRole('button', { name: 'Application credential' }).click();
  await page.getByLabel('Credential id').fill(id);
  await page.getByLabel('Credential secret').fill(`${secret}x`);
  await button.click();
  await expect(alert(page)).toContainText(/credential/i);
  await page.getByLabel('Credential secret').fill(secret);
  await button.click();
  await expect(page).toHaveURL(/\/designs$/);
});

const refusals = [
  { what: 'a wrong password', account: { ...demo, password: 'wrong' }, says: /password/i },
  { what: 'a user that nobody knows', account: { ...demo, user: 'nobody' }, says: /user|password/i },
  { what: 'an unknown project', account: { ...demo, project: 'nothing' }, says: /project/i },
  { what: 'a project of somebody else', account: { ...demo, project: 'other' }, says: /project/i },
  { what: 'a cloud that does not answer', account: { ...demo, cloud: 'nowhere' }, says: /cannot be reached|not reach|unreachable|does not answer/i },
];

for (const { what, account, says } of refusals) {
  test(`${what} is told as such`, async ({ page }) => {
    await fillLogin(page, account);
    await expect(alert(page)).toContainText(says);
    await expect(page).toHaveURL(/\/login/);
    // All fields except the password keep their values.
    await expect(page.getByLabel('User', { exact: true })).toHaveValue(account.user);
    await expect(page.getByLabel('Project', { exact: true })).toHaveValue(account.project);
  });
}

test('the messages differ', async ({ page }) => {
  const said = new Set<string>();
  for (const { account } of [refusals[0]!, refusals[2]!, refusals[4]!]) {
    await fillLogin(page, account);
    said.add((await alert(page).innerText()).trim());
  }
  expect(said.size).toBe(3);
});

test('a session elsewhere is seen and ended, and the audit log tells of it', async ({ page, browser }) => {
  const elsewhere = await browser.newPage();
  await login(elsewhere);
  await openDesigns(elsewhere);
  await login(page);
  await openDesigns(page);
  await page.getByRole('button', { name: 'User and settings' }).click();
  await page.getByRole('link', { name: 'Your sessions' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'This browser' })).toHaveCount(1);
  await shoot(page, 'sessions');
  // The last used one comes first. This browser's cannot be ended here.
  const others = page.getByRole('row').filter({ has: page.getByRole('button', { name: 'End' }) });
  await others.first().getByRole('button', { name: 'End' }).click();
  await elsewhere.waitForLoadState();
  await expect(async () => {
    await elsewhere.goto('/designs');
    await expect(elsewhere).toHaveURL(/\/login/);
  }).toPass();
  await elsewhere.close();

  await page.getByRole('button', { name: 'User and settings' }).click();
  await page.getByRole('link', { name: 'Audit log' }).click();
  const rows = page.getByRole('row');
  await expect(rows.nth(1)).toContainText('demo');
  await expect(rows.filter({ hasText: 'End a session' })).toHaveCount(1);
  await expect(rows.filter({ hasText: 'Log in' }).first()).toContainText('Done');
  await shoot(page, 'audit');
});

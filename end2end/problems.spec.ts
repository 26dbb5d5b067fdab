// Problems are reported immediately, beside the resource, and no text is lost.
import { expect, test } from '@playwright/test';
import { alert, api, login, node, openDesign, shoot } from './support/app.ts';
import { expectCode, typeCode } from './support/code.ts';
import { code, inspect, problems } from './support/draw.ts';
import { broken } from './support/templates.ts';

interface Diagnostic {
  severity: string;
  message: string;
  path: string;
  line: number | null;
}

test('problems stand beside what is at fault', async ({ page }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'broken', template: broken });
  await openDesign(page, id);
  const list = await problems(page);
  await expect(list).toContainText('m1.enormous');
  await expect(list).toContainText('nowhere');
  await expect(list).toContainText(/lonely/);
  for (const name of ['lonely', 'astray']) await expect(node(page, name)).toHaveAttribute('data-problem', 'error');
  await shoot(page, 'problems');

  const form = await inspect(page, 'lonely');
  await expect(form.getByLabel('Flavor', { exact: true })).toHaveAttribute('aria-invalid', 'true');
  await expect(form.getByLabel('Flavor', { exact: true })).toHaveAccessibleDescription(/m1\.enormous/);
  await code(page);
  const marked = page.locator('.cm-line', { has: page.locator('.cm-lintRange-error') });
  await expect(marked).toContainText([/m1\.enormous/, /nowhere/]);
});

test('text that is no template stays as it was typed', async ({ page }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'typing', template: broken });
  await openDesign(page, id);
  const torn = 'heat_template_version: 2021-04-16\nresources:\n  web: {type: [\n';
  await typeCode(page, torn);
  await expect(await problems(page)).toContainText(/not YAML.*line [34]/);
  await expectCode(page, torn);
});

test('a name with HTML in it is a name', async ({ page }) => {
  await login(page);
  const name = '<img src=x onerror=alert(1)>';
  let asked = false;
  page.on('dialog', (dialog) => {
    asked = true;
    void dialog.dismiss();
  });
  await api(page, 'POST', '/designs', { name, template: broken });
  await page.goto('/designs');
  await expect(page.getByRole('link', { name })).toBeVisible();
  expect(asked).toBe(false);
});

for (const { what, template } of [
  { what: 'ten megabytes of YAML', template: `heat_template_version: 2021-04-16\n${'# all work and no play\n'.repeat(460_000)}` },
  {
    what: 'an alias bomb',
    template: ['a: &a [x, x, x, x, x, x, x, x, x]']
      .concat('bcdefghi'.split('').map((key, i) => `${key}: &${key} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(', ')}]`))
      .join('\n'),
  },
]) {
  test(`${what} is an error, not a crash`, async ({ page }) => {
    await login(page);
    const response = await page.request.post('/api/v1/validate', { data: { template } });
    expect([200, 400, 413, 422]).toContain(response.status());
    if (response.status() === 200) {
      const { diagnostics } = (await response.json()) as { diagnostics: Diagnostic[] };
      expect(diagnostics.some((diagnostic) => diagnostic.severity === 'error')).toBe(true);
    } else {
      expect(response.headers()['content-type']).toContain('application/problem+json');
    }
    expect((await page.request.get('/healthz')).ok()).toBe(true);
  });
}

test('a cycle and an unknown type are told with path and line', async ({ page }) => {
  await login(page);
  const template = `heat_template_version: 2021-04-16
resources:
  a: {type: OS::Heat::Value, properties: {value: {get_attr: [b, value]}}}
  b: {type: OS::Heat::Value, properties: {value: {get_attr: [a, value]}}}
  c: {type: "OS::Nova::Sever"}
`;
  const { diagnostics } = await api<{ diagnostics: Diagnostic[] }>(page, 'POST', '/validate', { template });
  const about = (path: string) => diagnostics.find((diagnostic) => diagnostic.path.startsWith(path));
  expect(diagnostics.some((diagnostic) => /circ|cycle|loop/i.test(diagnostic.message))).toBe(true);
  expect(about('resources.c')?.line).toBe(5);
});

test('another project sees nothing of it', async ({ page }) => {
  await login(page);
  const { id } = await api<{ id: string }>(page, 'POST', '/designs', { name: 'mine', template: broken });
  await page.context().clearCookies();
  await login(page, { cloud: 'lab', user: 'other', password: 'other', domain: 'Default', project: 'other' });
  expect((await page.request.get(`/api/v1/designs/${id}`)).status()).toBe(404);
  await page.goto(`/designs/${id}`);
  await expect(alert(page)).toContainText(/not found|no design|does not exist|unknown/i);
});

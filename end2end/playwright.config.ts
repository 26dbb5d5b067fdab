// A real browser against a real server and a lab cloud. `cargo xtask test e2e` starts both and tells their addresses:
// STACKLOOM_URL and STACKLOOM_LAB. To work on one test, start both by `cargo xtask run` and then
//   STACKLOOM_URL=http://127.0.0.1:8080 STACKLOOM_LAB=http://127.0.0.1:9500 npx playwright test login
import { defineConfig } from '@playwright/test';

export default defineConfig({
  testDir: '.',
  // One lab, one project: tests that run at the same time would see each other's things.
  workers: 1,
  fullyParallel: false,
  forbidOnly: !!process.env.CI,
  retries: 0,
  // Bounds for what never comes; a slow machine with cold caches must come nowhere near them.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  outputDir: 'test-results/traces',
  reporter: [['list']],
  use: {
    baseURL: process.env.STACKLOOM_URL ?? 'http://127.0.0.1:8080',
    viewport: { width: 1440, height: 900 },
    actionTimeout: 30_000,
    screenshot: 'only-on-failure',
    // The pages of each step without a film of them: filming takes a core of a machine that draws in software.
    trace: { mode: 'retain-on-failure', screenshots: false },
    launchOptions: {
      executablePath: '/usr/bin/chromium',
      args: [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
});

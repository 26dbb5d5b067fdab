// A real browser with a real server and a lab cloud. `cargo xtask test e2e` starts two of each and passes their
// addresses: STACKLOOM_URL and STACKLOOM_LAB. To work on one test, start both with `cargo xtask run` and then
// (tests that restart the server are skipped then)
//   STACKLOOM_URL=http://127.0.0.1:8080 STACKLOOM_LAB=http://127.0.0.1:9500 npx playwright test login
import { defineConfig } from '@playwright/test';
import { SERVER, WORKERS } from './support/addresses.ts';

export default defineConfig({
  testDir: '.',
  // Tests on the same lab share a project and would see each other's resources, so each worker has its own.
  workers: WORKERS,
  fullyParallel: false,
  forbidOnly: !!process.env.CI,
  // `cargo xtask test --full` sets it: the long tests run too.
  grepInvert: process.env.STACKLOOM_FULL ? undefined : /@full/,
  // A test that passes only now is reported as flaky, with its first failure: it has to be looked at.
  retries: 1,
  // Upper limits for hanging tests, far above the times of a slow machine with cold caches.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  outputDir: 'test-results/traces',
  reporter: [['list']],
  use: {
    baseURL: SERVER,
    viewport: { width: 1440, height: 900 },
    actionTimeout: 30_000,
    screenshot: 'only-on-failure',
    // Snapshots of each step without screenshots: with software rendering, these need a whole core. CI records them in repetitions
    // only, since each costs time; a failure has a screenshot and a description of the page in any case.
    trace: { mode: process.env.CI ? 'on-first-retry' : 'retain-on-failure', screenshots: false },
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

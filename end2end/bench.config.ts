// Benchmarks that need a browser, run by `cargo xtask bench`. The same browser as for the tests, without a trace: its
// snapshots of the page after each action cost more than most gestures.
import config from './playwright.config.ts';

const use = { ...config.use, trace: 'off', screenshot: 'off' } as const;

export default { ...config, use, retries: 0, testDir: 'bench', testMatch: '*.bench.ts', timeout: 10 * 60_000 };

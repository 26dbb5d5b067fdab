// Benchmarks that need a browser, run by `cargo xtask bench`. The same browser as for the tests.
import config from './playwright.config.ts';

export default { ...config, testDir: 'bench', testMatch: '*.bench.ts', timeout: 10 * 60_000 };

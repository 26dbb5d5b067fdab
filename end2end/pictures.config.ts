// Screenshots of the pages, taken by `cargo xtask pictures`. The same browser as for the tests.
import config from './playwright.config.ts';

export default { ...config, testDir: 'pictures', testMatch: '*.pictures.ts', timeout: 10 * 60_000 };

// The servers and lab clouds under test: one of each for every worker.
const servers = (process.env.STACKLOOM_URL ?? 'http://127.0.0.1:8080').split(' ');
const labs = (process.env.STACKLOOM_LAB ?? 'http://127.0.0.1:9500').split(' ');

const restarts = (process.env.STACKLOOM_RESTART ?? '').split(':');

// Playwright sets it in each worker.
const worker = Number(process.env.TEST_PARALLEL_INDEX ?? '0');

/** Tests that run at the same time. */
export const WORKERS = servers.length;

/** The server of this worker. */
export const SERVER = servers[worker];

/** The lab cloud of this worker. */
export const LAB = labs[worker];

/** The file that restarts the server of this worker. Nothing without `cargo xtask test`. */
export const RESTART = restarts[worker];

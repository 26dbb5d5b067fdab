// Answers the pages' questions in their order.
import start, { answer } from './planner.js';

const started = start({ module_or_path: new URL('planner_bg.wasm', import.meta.url) });

onmessage = ({ data }) => {
  // A rejected promise reaches nobody; `reportError` raises the error event that the page listens to.
  started.then(() => postMessage(answer(data))).catch(reportError);
};

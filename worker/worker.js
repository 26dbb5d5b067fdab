// Answers the pages' requests. A message is a number and a request, its answer the same number and the answer.
import start, { answer } from './planner.js';

const started = start({ module_or_path: new URL('planner_bg.wasm', import.meta.url) });

onmessage = ({ data: [number, request] }) => {
  // A rejected promise reaches nobody; `reportError` raises the error event that the page listens to.
  started.then(() => postMessage([number, answer(request)])).catch(reportError);
};

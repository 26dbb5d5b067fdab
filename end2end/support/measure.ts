// Frames and memory of a page, for benchmarks.
import { expect, type Locator, type Page } from '@playwright/test';

declare global {
  interface Window {
    /** The program's memory. */
    memory?: WebAssembly.Memory;
    /** Durations of frames in ms. */
    frameTimes: number[];
  }
}

/** Starts the measurement in all documents that the page opens from now on. */
export async function measure(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const plain = WebAssembly.instantiateStreaming;
    WebAssembly.instantiateStreaming = async (...args) => {
      const found = await plain(...args);
      // Pieces that are loaded later share the memory of the first one, and export none.
      window.memory = (found.instance.exports['memory'] as WebAssembly.Memory | undefined) ?? window.memory;
      return found;
    };
    window.frameTimes = [];
    let last = performance.now();
    const tick = (now: number) => {
      window.frameTimes.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
}

/** Time from the request of the page to the frame with an element. */
export async function timeOfFirst(page: Page, selector: string): Promise<number> {
  return page.evaluate(async (selector) => {
    const frame = () => new Promise(requestAnimationFrame);
    while (!document.querySelector(selector)) await frame();
    await frame();
    return performance.now();
  }, selector);
}

/** The 95th percentile of the frames while the wheel is turned above an element, in ms. */
export async function frameWhileScrolling(page: Page, element: Locator, step: number): Promise<number> {
  await element.hover();
  await page.evaluate(() => void window.frameTimes.splice(0));
  for (let turn = 0; turn < 200; turn += 1) await page.mouse.wheel(0, step);
  const frames = await page.evaluate(() => window.frameTimes.toSorted((a, b) => a - b));
  return frames[Math.floor(frames.length * 0.95)]!;
}

/** Memory of the page: JavaScript's heap and the program's memory, in MiB. */
export async function memory(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  await client.detach();
  const program = await page.evaluate(() => window.memory?.buffer.byteLength ?? 0);
  expect(program).toBeGreaterThan(0);
  return (usedSize + program) / 1024 / 1024;
}

/** Lines of a benchmark's result file. */
export class Figures {
  readonly lines: string[] = [];

  /** Adds a figure. The aim is the highest good value. */
  note(name: string, value: number, unit: string, aim?: number): void {
    this.lines.push(`${[name, value.toFixed(1), unit, ...(aim === undefined ? [] : [aim])].join('\t')}\n`);
  }
}

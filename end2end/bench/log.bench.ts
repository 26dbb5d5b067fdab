// Latency of a log line from the sandbox to the browser. A catalogue item prints lines with timestamps. The page of the
// run is open, and the arrival of each line is recorded when the page's WebSocket receives it.
import { writeFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { api, login } from '../support/app.ts';
import { ended, firehose } from '../support/firehose.ts';


declare global {
  interface Window {
    arrivals: Map<string, number[]>;
  }
}

test('a log line on its way', async ({ page }) => {
  await page.addInitScript(() => {
    window.arrivals = new Map();
    const line = /firehose (\d+) \d+ (\d+\.\d+)/g;
    const Plain = window.WebSocket;
    window.WebSocket = class extends Plain {
      constructor(...args: ConstructorParameters<typeof WebSocket>) {
        super(...args);
        this.addEventListener('message', (message) => {
          const now = performance.timeOrigin + performance.now();
          for (const [, rate, sent] of String(message.data).matchAll(line)) {
            const list = window.arrivals.get(rate!) ?? [];
            list.push(now - Number(sent));
            window.arrivals.set(rate!, list);
          }
        });
      }
    };
  });
  await login(page);
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'firehose', template: firehose('') });
  await page.goto(`/runs/${started.run}`);
  await ended(page, started.run);
  const arrivals = await page.evaluate(() => [...window.arrivals.entries()]);
  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, removal.run);

  const rows = arrivals.map(([rate, times]) => {
    const sorted = times.toSorted((a, b) => a - b);
    const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(1);
    return `${rate} ${sorted.length} ${at(0.5)} ${at(0.99)}\n`;
  });
  expect(rows.length).toBe(3);
  writeFileSync('test-results/log-latency.txt', rows.join(''));
});

// Latency of a log line from the sandbox to the page. A catalogue item prints lines with timestamps, and the page of the run is
// open. A line counts as shown at the first change of the page after which the page has this line or a later one: at high rates
// most lines are beyond the visible part at once. A line counts as lost if the page's WebSocket never received it, or if it
// was not shown at the end. A lost line is a failure.
import { writeFileSync } from 'node:fs';
import { expect, test } from '@playwright/test';
import { api, login, openDesigns } from '../support/app.ts';
import { ended, firehose } from '../support/firehose.ts';

const RATES = [10, 1000, 10_000];
const SECONDS = 5;

declare global {
  interface Window {
    /** Times at which lines were written, by rate and number. */
    written: Map<string, number[]>;
    /** Delays of shown lines in ms, by rate and number. Lines that were not received have none. */
    delays: Map<string, (number | undefined)[]>;
  }
}

test('a log line on its way', async ({ page }) => {
  await page.addInitScript(() => {
    window.written = new Map();
    window.delays = new Map();
    const Plain = window.WebSocket;
    window.WebSocket = class extends Plain {
      constructor(...args: ConstructorParameters<typeof WebSocket>) {
        super(...args);
        this.addEventListener('message', (message) => {
          for (const [, rate, number, time] of String(message.data).matchAll(/firehose (\d+) (\d+) (\d+\.\d+)/g)) {
            const times = window.written.get(rate!) ?? [];
            times[Number(number)] = Number(time);
            window.written.set(rate!, times);
          }
        });
      }
    };
    const look = () => {
      const now = performance.timeOrigin + performance.now();
      for (const line of [...document.querySelectorAll('.log-line')].reverse()) {
        const found = line.textContent?.match(/firehose (\d+) (\d+) /);
        if (!found) continue;
        const [, shown, newest] = found;
        for (const [rate, times] of window.written) {
          // The lines of the rates before are above this one.
          const to = rate === shown ? Number(newest) : Number(rate) < Number(shown) ? times.length - 1 : -1;
          const delays = window.delays.get(rate) ?? [];
          window.delays.set(rate, delays);
          for (let number = delays.length; number <= to; number += 1) {
            const time = times[number];
            delays.push(time === undefined ? undefined : now - time);
          }
        }
        return;
      }
    };
    document.addEventListener('DOMContentLoaded', () => {
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    });
  });
  await login(page);
  await openDesigns(page);
  const template = firehose(`, rates: [${RATES.join(', ')}], seconds: ${SECONDS}`);
  const started = await api<{ deployment: string; run: string }>(page, 'POST', '/deployments', { name: 'firehose', template });
  await page.goto(`/runs/${started.run}`);
  await ended(page, started.run);
  await expect(page.getByTestId('run-state')).toHaveAttribute('data-state', 'succeeded');
  const all = new Map(await page.evaluate(() => [...window.delays.entries()]));
  const removal = await api<{ run: string }>(page, 'DELETE', `/deployments/${started.deployment}`);
  await ended(page, removal.run);

  const lost = new Map<number, number>();
  const rows = RATES.flatMap((rate) => {
    const shown = (all.get(String(rate)) ?? []).filter((delay): delay is number => typeof delay === 'number');
    const sorted = shown.toSorted((a, b) => a - b);
    const at = (part: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN).toFixed(1);
    lost.set(rate, rate * SECONDS - shown.length);
    const [p50, p99] = rate > 1000 ? [100, 400] : [50, 200];
    return [
      ['log line to the page, ' + rate + '/s, p50', at(0.5), 'ms', p50],
      ['log line to the page, ' + rate + '/s, p99', at(0.99), 'ms', p99],
      ['log lines lost, ' + rate + '/s', lost.get(rate), 'lines', 0],
    ];
  });
  writeFileSync('test-results/log-latency.txt', rows.map((row) => `${row.join('\t')}\n`).join(''));
  for (const [rate, lines] of lost) expect.soft(lines, `lost lines of ${rate * SECONDS} at ${rate}/s`).toBe(0);
});

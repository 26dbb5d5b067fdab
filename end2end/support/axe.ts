// axe checks of a page: contrast in both themes; names, roles and sizes of targets, which the themes share, in one.
import AxeBuilder from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';
import { SCHEMES, showScheme } from './fits.ts';

/** Rules that axe leaves out unless they are asked for. */
const MORE_RULES = { 'target-size': { enabled: true } };

/** Rules about colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/** Fails softly with the violations that axe reports, one line each: page, theme, rule, element, remedy. */
export async function accessible(page: Page): Promise<void> {
  const found: string[] = [];
  for (const colorScheme of SCHEMES) {
    await showScheme(page, colorScheme);
    const isSmall = await page.evaluate(isZoomedOut);
    // The pages have no frames, whose results would be collected in a page of their own.
    const axe = new AxeBuilder({ page }).setLegacyMode();
    // The themes differ in colours only.
    const checks = colorScheme === 'light' ? axe.options({ rules: MORE_RULES }) : axe.withRules(COLOUR_RULES);
    const { violations } = await checks.analyze();
    for (const { id, nodes } of violations) {
      for (const { target, html, failureSummary } of nodes) {
        if (isExcepted(id, html) || (isSmall && id === 'target-size' && isDrawn(html))) continue;
        found.push(`${new URL(page.url()).pathname} ${colorScheme} ${id} ${target.join(' ')}: ${failureSummary?.split('\n').at(-1)?.trim()}`);
      }
    }
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: null });
  expect.soft(found).toEqual([]);
}

/** True if a drawing is zoomed out. Its parts have their full size at 100 %. */
function isZoomedOut(): boolean {
  const drawings = [...document.querySelectorAll('.viewport')];
  return drawings.some((drawing) => new DOMMatrix(getComputedStyle(drawing).transform).a < 1);
}

/** True for a part of a drawing. */
function isDrawn(html: string): boolean {
  return /class="(tag|node-fold|node-count)"/.test(html);
}

function isExcepted(rule: string, html: string): boolean {
  switch (rule) {
    case 'target-size':
      // The button is as high as its row, 20 px; higher rows would show fewer lines. The menu of the log folds and unfolds
      // with larger controls, which WCAG 2.5.8 accepts as an equivalent.
      return /class="log-fold"/.test(html);
    default:
      return false;
  }
}

// Colour schemes, windows of the sizes of a desktop, a tablet and a phone, and large text: what does not fit into them.
import type { Page } from '@playwright/test';

export const SCHEMES = ['light', 'dark'] as const;

const SIZES = [{ width: 1440, height: 900 }, { width: 1024, height: 768 }, { width: 390, height: 844 }];

/** Changes the colour scheme, and ends the transitions between the themes. */
export async function showScheme(page: Page, colorScheme: (typeof SCHEMES)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  // Not awaited: infinite animations never finish, nor do those of elements that are not drawn.
  await page.evaluate(() => {
    for (const animation of document.getAnimations()) {
      if (animation.effect?.getComputedTiming().endTime !== Infinity) animation.finish();
    }
  });
}

/**
 * What does not fit into the windows, one line each: the page, or a button that is cut off. Buttons in something that
 * scrolls are reached there. Takes a picture of each size in each scheme, in `test-results/pages`.
 */
export async function misfits(page: Page, name: string): Promise<string[]> {
  const found: string[] = [];
  for (const size of SIZES) {
    await page.setViewportSize(size);
    for (const scheme of SCHEMES) {
      await showScheme(page, scheme);
      await page.screenshot({ path: `test-results/pages/${name}-${size.width}x${size.height}-${scheme}.png` });
    }
    // The themes differ in colours only.
    found.push(...(await page.evaluate(cutOff)).map((what) => `${name} ${size.width}x${size.height}: ${what}`));
  }
  await page.setViewportSize(SIZES[0]!);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: null });
  return found;
}

/** Makes the text of all pages as large as a reader's browser does at 125 %. */
export async function enlargeText(page: Page): Promise<void> {
  await page.addInitScript(() => {
    document.addEventListener('DOMContentLoaded', () => {
      document.documentElement.style.fontSize = '125%';
    });
  });
}

/** What large text does not leave room for in the present window, one line each. */
export async function crowded(page: Page): Promise<string[]> {
  return [...(await page.evaluate(cutOff)), ...(await page.evaluate(overfull))];
}

/** Boxes that are smaller than their content. Runs in the page. */
function overfull(): string[] {
  const found: string[] = [];
  for (const box of document.querySelectorAll<HTMLElement>('.frame-main, .table, .pill')) {
    if (box.scrollWidth > box.clientWidth + 1) found.push(`.${box.className} is ${box.clientWidth} pixels wide, its content ${box.scrollWidth}`);
  }
  for (const box of document.querySelectorAll<HTMLElement>('.pill, .button, .segments > button')) {
    if (box.scrollHeight > box.clientHeight + 1) found.push(`"${box.textContent?.trim()}" is ${box.clientHeight} pixels high, its text ${box.scrollHeight}`);
  }
  return found;
}

/** Runs in the page. */
function cutOff(): string[] {
  const found: string[] = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth + 1) found.push(`the page is ${root.scrollWidth} pixels wide`);
  const clips = (overflow: string) => overflow === 'hidden' || overflow === 'clip';
  const scrolls = (overflow: string) => overflow === 'auto' || overflow === 'scroll';
  for (const button of document.querySelectorAll<HTMLElement>('button, a.button')) {
    // The canvas shows a part of the drawing.
    if (button.closest('[data-testid="viewport"], [inert], [aria-hidden="true"], .sr-only')) continue;
    if (!button.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    const label = button.getAttribute('aria-label') ?? button.textContent?.trim() ?? '';
    const own = getComputedStyle(button);
    if (button.scrollWidth > button.clientWidth + 2 && own.textOverflow !== 'ellipsis' && own.display !== 'inline') {
      found.push(`the text of "${label}" is wider than the button`);
    }
    const box = button.getBoundingClientRect();
    let [across, down] = [true, true];
    for (let around = button.parentElement; around && (across || down); around = around.parentElement) {
      const style = getComputedStyle(around);
      const edge = around.getBoundingClientRect();
      const isCut =
        (across && clips(style.overflowX) && (box.left < edge.left - 1 || box.right > edge.right + 1)) ||
        (down && clips(style.overflowY) && (box.top < edge.top - 1 || box.bottom > edge.bottom + 1));
      if (isCut) {
        found.push(`"${label}" is cut off by .${around.className || around.tagName}`);
        break;
      }
      across &&= !scrolls(style.overflowX);
      down &&= !scrolls(style.overflowY);
      // Dialogs and popovers are above everything else.
      if (around.matches('dialog, [popover]')) break;
    }
    if (across && (box.left < -1 || box.right > root.clientWidth + 1)) found.push(`"${label}" is outside the window`);
  }
  return found;
}

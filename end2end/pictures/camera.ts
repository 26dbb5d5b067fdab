// Screenshots in light and dark. `STACKLOOM_PICTURES` is the folder, `STACKLOOM_SIZES` contains window sizes
// (`1440x900,1024x768`); with several sizes, file names contain the size. `STACKLOOM_ALL` adds screenshots that are in
// no document.
import type { Page } from '@playwright/test';

const folder = process.env.STACKLOOM_PICTURES ?? 'test-results/pictures';
const sizes = (process.env.STACKLOOM_SIZES ?? '1440x900').split(',').map((size) => {
  const [width, height] = size.split('x').map(Number) as [number, number];
  return { width, height };
});

/** A screenshot of the page in each size and colour scheme. `prepare` restores the view after a change of size. */
export async function picture(page: Page, name: string, prepare: () => Promise<void> = async () => {}): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size);
    await prepare();
    // Move the pointer to a place without hover effects.
    await page.mouse.move(2, size.height - 2);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const words = sizes.length > 1 ? [name, `${size.width}x${size.height}`, colorScheme] : [name, colorScheme];
      await page.screenshot({ path: `${folder}/${words.join('-')}.png` });
    }
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: null });
  await page.setViewportSize(sizes[0]!);
}

/** A screenshot that is in no document, for review. */
export async function glance(...what: Parameters<typeof picture>): Promise<void> {
  if (process.env.STACKLOOM_ALL) await picture(...what);
}

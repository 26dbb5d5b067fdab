// Takes each picture in light and in dark. `STACKLOOM_PICTURES` is the folder, `STACKLOOM_SIZES` are the sizes of the window
// (`1440x900,1024x768`); of several sizes each picture has its size in its name. With `STACKLOOM_ALL` those are taken too that
// no document shows.
import type { Page } from '@playwright/test';

const folder = process.env.STACKLOOM_PICTURES ?? 'test-results/pictures';
const sizes = (process.env.STACKLOOM_SIZES ?? '1440x900').split(',').map((size) => {
  const [width, height] = size.split('x').map(Number) as [number, number];
  return { width, height };
});

/** A picture of the page in each size and scheme. `prepare` puts in place what a change of the size moves. */
export async function picture(page: Page, name: string, prepare: () => Promise<void> = async () => {}): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size);
    await prepare();
    // The pointer rests where it lights nothing up.
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

/** A picture that no document shows: for a critical look. */
export async function glance(...what: Parameters<typeof picture>): Promise<void> {
  if (process.env.STACKLOOM_ALL) await picture(...what);
}

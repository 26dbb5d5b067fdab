// The code editor. Only its lines in view are elements, so that its text is asked of the editor's script.
import { expect, type Locator, type Page } from '@playwright/test';
import { code, type Patience } from './draw.ts';

interface Script {
  textOf(element: HTMLElement): string | undefined;
}

/** The text of an editor, with LF line ends. */
export async function textOf(editor: Locator): Promise<string> {
  return editor.evaluate(async (element: HTMLElement) => {
    const address = '/pkg/editor.js';
    const script = (await import(address)) as Script;
    const text = script.textOf(element);
    if (text === undefined) throw new Error('This element is in no editor.');
    return text;
  });
}

/** Opens the code view and reads the template. */
export async function readCode(page: Page): Promise<string> {
  return textOf(await code(page));
}

/** Waits until the template in the code view is this text. */
export async function expectCode(page: Page, text: string, message?: string): Promise<void> {
  await expect.poll(() => readCode(page), message).toBe(text);
}

/** Puts a text in place of an editor's text, as a paste does. */
export async function pasteOver(editor: Locator, text: string): Promise<void> {
  await editor.press('ControlOrMeta+a');
  await paste(editor, text);
}

/** Pastes a text at the caret. */
export async function paste(editor: Locator, text: string): Promise<void> {
  await editor.evaluate((element, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', text);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}

/** Opens the code view and replaces the template. */
export async function typeCode(page: Page, text: string, patience: Patience = {}): Promise<void> {
  await pasteOver(await code(page, patience), text);
}

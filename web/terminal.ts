// A terminal: xterm.js and the websocket of one shell, behind an interface of a few functions.
//
// The page owns tabs, states and words. This script shows output, sends input and size, and reports what happens.
import { FitAddon } from '@xterm/addon-fit';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { Terminal, type ITheme } from '@xterm/xterm';
import css from '@xterm/xterm/css/xterm.css';

/** What the terminal reports to the page. */
export interface Page {
  opened(): void;
  /** The shell has ended, or was not opened. The screen stays. */
  ended(reason: string): void;
  /** The keys for leaving the terminal were pressed. */
  leave(): void;
}

export interface Options {
  /** Path of the websocket. */
  path: string;
  /** Name for screen readers. */
  label: string;
}

/** A mounted terminal. */
export interface Mounted {
  /** Connects, again if a connection has ended. */
  connect(): void;
  focus(): void;
  destroy(): void;
}

/** Bytes of one message of input: less than the server's limit. */
const INPUT_BYTES = 32 * 1024;
/** Output on the screen after which the server is told. */
const REPORT_BYTES = 128 * 1024;
const SCROLLBACK_LINES = 10_000;

/** Shows a terminal in an element. */
export function mount(parent: HTMLElement, options: Options, page: Page): Mounted {
  addStyles();
  const style = getComputedStyle(parent);
  const terminal = new Terminal({
    fontFamily: style.fontFamily,
    fontSize: 13,
    scrollback: SCROLLBACK_LINES,
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    screenReaderMode: false,
    macOptionIsMeta: true,
    minimumContrastRatio: 4.5,
    theme: theme(parent),
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.loadAddon(new WebLinksAddon((_event, address) => void window.open(address, '_blank', 'noopener,noreferrer')));
  open(terminal, parent);
  terminal.textarea?.setAttribute('aria-label', options.label);
  terminal.attachCustomKeyEventHandler((event) => isForProgram(event, terminal, page));

  let socket: WebSocket | undefined;
  const send = (message: string | Uint8Array<ArrayBuffer>) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(message);
  };
  terminal.onData((text) => pieces(new TextEncoder().encode(text)).forEach(send));
  terminal.onBinary((text) => send(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
  terminal.onResize(({ cols, rows }) => send(JSON.stringify({ type: 'resize', columns: cols, rows })));

  // A hidden element has no size to fit.
  const fitting = new ResizeObserver(() => parent.offsetWidth > 0 && fit.fit());
  fitting.observe(parent);
  const recolour = () => {
    terminal.options.theme = theme(parent);
  };
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  scheme.addEventListener('change', recolour);
  const chosen = new MutationObserver(recolour);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });

  const disconnect = () => {
    if (!socket) return;
    socket.onmessage = socket.onclose = null;
    socket.close();
    socket = undefined;
  };
  const connect = () => {
    disconnect();
    terminal.reset();
    fit.fit();
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    const size = `columns=${terminal.cols}&rows=${terminal.rows}`;
    const opening = new WebSocket(`${scheme}//${location.host}${options.path}?${size}`);
    opening.binaryType = 'arraybuffer';
    let reason = '';
    let shown = 0;
    opening.onmessage = ({ data }) => {
      if (typeof data !== 'string') {
        const bytes = new Uint8Array(data as ArrayBuffer);
        terminal.write(bytes, () => {
          shown += bytes.length;
          if (shown < REPORT_BYTES || socket !== opening) return;
          send(JSON.stringify({ type: 'shown', bytes: shown }));
          shown = 0;
        });
        return;
      }
      const message = JSON.parse(data) as { type: string; reason?: string };
      if (message.type === 'ended') reason = message.reason ?? '';
      if (message.type === 'opened') {
        page.opened();
        // The size can have changed since the request.
        send(JSON.stringify({ type: 'resize', columns: terminal.cols, rows: terminal.rows }));
      }
    };
    opening.onclose = () => {
      socket = undefined;
      // The last output comes first.
      terminal.write('', () => page.ended(reason));
    };
    socket = opening;
  };

  return {
    connect,
    focus: () => terminal.focus(),
    destroy: () => {
      disconnect();
      fitting.disconnect();
      chosen.disconnect();
      scheme.removeEventListener('change', recolour);
      terminal.dispose();
    },
  };
}

/** False for the keys of the page: leaving, and copying a selection. Everything else is input. */
function isForProgram(event: KeyboardEvent, terminal: Terminal, page: Page): boolean {
  if (event.key === 'F6' && event.shiftKey) {
    if (event.type === 'keydown') page.leave();
    return false;
  }
  const copies = event.ctrlKey && (event.key === 'Insert' || (event.shiftKey && event.code === 'KeyC'));
  if (copies && terminal.hasSelection()) {
    if (event.type === 'keydown') void navigator.clipboard?.writeText(terminal.getSelection());
    event.preventDefault();
    return false;
  }
  // The browser pastes, and xterm sends what was pasted.
  return !(event.ctrlKey && event.shiftKey && event.code === 'KeyV');
}

function pieces(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const all = [];
  for (let start = 0; start < bytes.length; start += INPUT_BYTES) all.push(bytes.slice(start, start + INPUT_BYTES));
  return all;
}

/** The policy of the page allows style elements with its nonce only. */
function nonce(): string {
  return document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
}

function addStyles() {
  if (document.getElementById('xterm-styles')) return;
  const style = document.createElement('style');
  style.id = 'xterm-styles';
  style.nonce = nonce();
  style.textContent = css;
  document.head.append(style);
}

/**
 * Opens xterm in an element. It makes its style elements during this call, through the document, and knows no nonces.
 */
function open(terminal: Terminal, parent: HTMLElement) {
  const create = document.createElement;
  document.createElement = (name: string, options?: ElementCreationOptions) => {
    const element = create.call(document, name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce();
    return element;
  };
  try {
    terminal.open(parent);
  } finally {
    // The method of the prototype is visible again.
    Reflect.deleteProperty(document, 'createElement');
  }
}

/** The page's colours. The tokens are resolved by an element, since they depend on light and dark. */
function theme(parent: HTMLElement): ITheme {
  const probe = document.createElement('span');
  parent.append(probe);
  const colour = (token: string) => {
    probe.style.color = `var(--${token})`;
    return getComputedStyle(probe).color;
  };
  const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
  const colours: Record<string, string> = {};
  for (const name of names) {
    colours[name] = colour(`terminal-${name}`);
    colours[`bright${name[0]!.toUpperCase()}${name.slice(1)}`] = colour(`terminal-bright-${name}`);
  }
  const all: ITheme = {
    ...colours,
    background: colour('surface-sunken'),
    foreground: colour('text'),
    cursor: colour('text'),
    cursorAccent: colour('surface-sunken'),
    selectionBackground: colour('terminal-selection'),
  };
  probe.remove();
  return all;
}

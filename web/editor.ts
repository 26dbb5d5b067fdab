// The code editor: CodeMirror behind an interface of a few functions.
//
// The page owns the text, its history and all knowledge of templates. The editor shows the text and reports what the
// user does. It has no history of its own: undo and redo are those of the design, so that one list of changes holds
// for canvas, forms and code. Positions are UTF-16 offsets in the text with LF line ends. Forms of other pages have
// plain editors, with a history each.
import { closeCompletion } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from '@codemirror/commands';
import { bracketMatching, foldGutter, foldKeymap } from '@codemirror/language';
import { search, searchKeymap } from '@codemirror/search';
import { Annotation, Compartment, EditorSelection, EditorState, Prec, StateEffect, StateField, Transaction, type Extension, type Text } from '@codemirror/state';
import {
  crosshairCursor,
  Decoration,
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
  rectangularSelection,
  type Command,
  type DecorationSet,
  type ViewUpdate,
} from '@codemirror/view';
import { assistance, type Assistant } from './assistance.ts';
import { language } from './languages.ts';
import { problems, showProblems, type Problem } from './problems.ts';
import { theme } from './theme.ts';

/** What the editor asks of the page, and reports to it. */
export interface Page extends Assistant {
  /** The user changed the text. */
  changed(text: string): void;
  /** An insertion was refused, because the text would have this size in bytes. */
  refused(bytes: number): void;
  /** The user put the caret on this line. */
  followed?(line: number): void;
  /** The next change is a new entry of the history. */
  seal(): void;
  undo(): void;
  redo(): void;
}

export interface Options {
  /** Name for screen readers. */
  label: string;
  /** Id of the element that describes how to leave the editor. */
  describedBy: string;
  /** Name of the file, which decides the language. */
  file: string;
  text: string;
  /** Longest text in bytes. A longer one can only be shortened. */
  bytesMax: number;
  /** Words of the template language to highlight: functions and sections. */
  words: string[];
}

/** A mounted editor. */
export interface Editor {
  /** Shows a text that was changed elsewhere, by the smallest change. With `follow`, the caret goes to that change. */
  setText(text: string, follow: boolean): void;
  /** Shows problems, given as JSON: a list of `Problem`. */
  setProblems(json: string): void;
  /** Marks lines from `first` to `last`, 0 for none, and scrolls to them unless the user is at work in the editor. */
  setMarked(first: number, last: number): void;
  focus(): void;
  destroy(): void;
}

/** Changes that the page made. */
const external = Annotation.define<boolean>();

/** A pause in milliseconds after which typing is a new entry of the history. */
const PAUSE_MS = 700;

/** Shows an editor in an element. */
export function mount(parent: HTMLElement, options: Options, page: Page): Editor {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        basics(),
        marked,
        language(options.file, options.text, options.words),
        problems(page),
        assistance(page),
        EditorView.contentAttributes.of({ 'aria-label': options.label, tabindex: '0', 'aria-describedby': options.describedBy, spellcheck: 'false', autocapitalize: 'off' }),
        limit(options.bytesMax, page),
        EditorView.updateListener.of(reports(page)),
        Prec.lowest(keymap.of([{ key: 'Escape', run: releaseTab }])),
        keymap.of([
          { any: (_, event) => undoOrRedo(event, page) },
          { key: 'Tab', run: insertIndent, shift: indentLess },
          { key: 'Enter', run: breakLine },
          ...searchKeymap,
          ...foldKeymap,
          ...defaultKeymap,
        ]),
        EditorView.domEventHandlers({
          blur: (_, view) => {
            closeCompletion(view);
            page.seal();
          },
          // The browser's own undo, from its menu.
          beforeinput: (event) => {
            const is = { historyUndo: page.undo, historyRedo: page.redo }[event.inputType];
            is?.();
            if (is) event.preventDefault();
            return !!is;
          },
        }),
      ],
    }),
  });
  return {
    setText: (text, follow) => setText(view, text, follow),
    setProblems: (json) => showProblems(view, JSON.parse(json) as Problem[]),
    setMarked: (first, last) => setMarked(view, first, last),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

/** What a plain editor reports to the page. */
export interface PlainPage {
  /** The user changed the text. */
  changed(text: string): void;
  /** The focus left the editor. */
  left(): void;
}

export interface PlainOptions {
  /** Name for screen readers. */
  label: string;
  /** Name of the file, which decides the language. */
  file: string;
}

/** A mounted plain editor. */
export interface PlainEditor {
  /** Shows another text, with a new history. */
  setText(text: string): void;
  /** Highlights the language of a file with another name. */
  setFile(file: string): void;
  /** Marks the text as wrong. `describedBy` is the id of the message, empty for none. */
  setFault(describedBy: string): void;
  destroy(): void;
}

/**
 * Shows a plain editor in place of a text area, with its id, placeholder, text and caret. The editor has its own history
 * and knows nothing of templates. As in a text area, Tab leaves it.
 */
export function mountPlain(parent: HTMLElement, area: HTMLTextAreaElement, options: PlainOptions, page: PlainPage): PlainEditor {
  const { id, placeholder: example } = area;
  const [named, fault] = [new Compartment(), new Compartment()];
  let { file } = options;
  let describedBy = '';
  const faulty = () => {
    const attributes: Record<string, string> = describedBy ? { 'aria-invalid': 'true', 'aria-describedby': describedBy } : {};
    return EditorView.contentAttributes.of(attributes);
  };
  const start = (text: string, caret: number) =>
    EditorState.create({
      doc: text,
      selection: { anchor: caret },
      extensions: [
        basics(),
        placeholder(example),
        named.of(language(file, text, [])),
        history(),
        EditorView.contentAttributes.of({ id, 'aria-label': options.label, spellcheck: 'false', autocapitalize: 'off' }),
        fault.of(faulty()),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) page.changed(update.state.doc.toString());
        }),
        EditorView.domEventHandlers({ blur: () => page.left() }),
        keymap.of([{ key: 'Enter', run: breakLine }, ...historyKeymap, ...searchKeymap, ...foldKeymap, ...defaultKeymap]),
      ],
    });
  const view = new EditorView({ parent, state: start(area.value, area.selectionStart) });
  if (document.activeElement === area) view.focus();
  // By itself, a label gives the focus to form controls only.
  for (const label of area.labels) label.addEventListener('click', () => view.focus());
  return {
    setText: (text) => view.setState(start(text, 0)),
    setFile: (name) => {
      if (name === file) return;
      file = name;
      view.dispatch({ effects: named.reconfigure(language(file, view.state.doc.toString(), [])) });
    },
    setFault: (id) => {
      describedBy = id;
      view.dispatch({ effects: fault.reconfigure(faulty()) });
    },
    destroy: () => view.destroy(),
  };
}

/** The text of the editor around an element. For tests: only the lines in view are elements. */
export function textOf(element: HTMLElement): string | undefined {
  return EditorView.findFromDOM(element)?.state.doc.toString();
}

/** What all editors have: numbered lines, folds, selections, search, the look. */
function basics(): Extension {
  return [
    nonce(),
    lineNumbers(),
    foldGutter({ markerDOM: foldMarker }),
    highlightSpecialChars(),
    drawSelection(),
    dropCursor(),
    EditorState.allowMultipleSelections.of(true),
    rectangularSelection(),
    crosshairCursor(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    bracketMatching(),
    search({ top: true }),
    EditorState.tabSize.of(2),
    theme,
  ];
}

/** The policy of the page allows style elements with its nonce only. */
function nonce(): Extension {
  return EditorView.cspNonce.of(document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '');
}

/** The keys are compared without case, so that Caps Lock does not make an undo of a redo. */
function undoOrRedo(event: KeyboardEvent, page: Page): boolean {
  const key = event.key.toLowerCase();
  if (!(event.ctrlKey || event.metaKey) || event.altKey || !['z', 'y'].includes(key)) return false;
  if (key === 'y' || event.shiftKey) page.redo();
  else page.undo();
  return true;
}

function setText(view: EditorView, text: string, follow: boolean): void {
  const now = view.state.doc.toString();
  text = text.replace(/\r\n?/g, '\n');
  if (text === now) return;
  let from = 0;
  const shorter = Math.min(now.length, text.length);
  while (from < shorter && now.charCodeAt(from) === text.charCodeAt(from)) from++;
  let end = 0;
  while (end < shorter - from && now.charCodeAt(now.length - 1 - end) === text.charCodeAt(text.length - 1 - end)) end++;
  const insert = text.slice(from, text.length - end);
  view.dispatch({
    changes: { from, to: now.length - end, insert },
    selection: follow ? { anchor: from + insert.length } : undefined,
    scrollIntoView: follow,
    annotations: [external.of(true), Transaction.addToHistory.of(false)],
  });
}

/** Refuses changes that make the text longer than the limit. */
function limit(bytesMax: number, page: Page): Extension {
  const size = (text: Text) => new TextEncoder().encode(text.toString()).length;
  return EditorState.changeFilter.of((transaction) => {
    if (!transaction.docChanged || transaction.annotation(external)) return true;
    const [before, after] = [transaction.startState.doc, transaction.newDoc];
    // No character has more than three bytes for each of its UTF-16 units.
    if (after.length <= before.length || after.length * 3 <= bytesMax) return true;
    const bytes = size(after);
    if (bytes <= bytesMax) return true;
    page.refused(bytes);
    return false;
  });
}

/** Reports changes and the caret. Typing without a pause at one place is one entry of the history. */
function reports(page: Page): (update: ViewUpdate) => void {
  let last = { kind: '', at: 0 };
  return (update) => {
    const own = update.transactions.filter((one) => !one.annotation(external));
    if (own.some((one) => one.docChanged)) {
      const kind = ['input.type', 'delete'].find((kind) => own.some((one) => one.isUserEvent(kind))) ?? '';
      const at = performance.now();
      if (!kind || kind !== last.kind || at - last.at > PAUSE_MS) page.seal();
      last = { kind, at };
      page.changed(update.state.doc.toString());
    } else if (own.some((one) => one.isUserEvent('select'))) {
      last.kind = '';
      const { head, empty } = update.state.selection.main;
      if (empty) page.followed?.(update.state.doc.lineAt(head).number);
    }
  };
}

const INDENT = '  ';

const insertIndent: Command = (view) => {
  if (!view.state.selection.main.empty) return indentMore(view);
  view.dispatch(view.state.replaceSelection(INDENT), { userEvent: 'input.type', scrollIntoView: true });
  return true;
};

/** After Escape, Tab leaves the editor, until another key is pressed. In a dialog, Escape closes the dialog. */
const releaseTab: Command = (view) => {
  if (view.dom.closest('dialog')) return false;
  view.setTabFocusMode(Infinity);
  return true;
};

/** A new line with the indent of this one, and one step more after a key without a value. */
const breakLine: Command = (view) => {
  const { state } = view;
  const change = state.changeByRange(({ from, to }) => {
    const line = state.doc.lineAt(from);
    const before = line.text.slice(0, from - line.from);
    const indent = /^ */.exec(before)![0];
    const opens = /(^|[^#])(:|: *[|>][-+0-9]*) *$/.test(before);
    const insert = `${state.lineBreak}${indent}${opens ? INDENT : ''}`;
    const at = from + insert.length;
    return { changes: { from, to, insert }, range: EditorSelection.cursor(at) };
  });
  view.dispatch(change, { userEvent: 'input.type', scrollIntoView: true });
  return true;
};

function foldMarker(open: boolean): HTMLElement {
  const marker = document.createElement('span');
  marker.className = 'cm-fold-marker';
  marker.title = open ? 'Fold' : 'Unfold';
  marker.textContent = open ? '▾' : '▸';
  return marker;
}

const setMarkedLines = StateEffect.define<DecorationSet>();
const markedLine = Decoration.line({ class: 'cm-marked' });

/** The lines of the selected resource. */
const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (lines, transaction) =>
    transaction.effects.find((effect) => effect.is(setMarkedLines))?.value ?? lines.map(transaction.changes),
  provide: (field) => EditorView.decorations.from(field),
});

function setMarked(view: EditorView, first: number, last: number): void {
  const { doc } = view.state;
  const before = view.state.field(marked).iter();
  const isAsBefore = before.value !== null && doc.lineAt(before.from).number === first;
  const lines = [];
  for (let line = Math.max(first, 1); first > 0 && line <= Math.min(last, doc.lines); line++) {
    lines.push(markedLine.range(doc.line(line).from));
  }
  const effects: StateEffect<unknown>[] = [setMarkedLines.of(Decoration.set(lines))];
  if (lines.length && !isAsBefore && !view.hasFocus) {
    const [start, end] = [lines[0]!.from, lines.at(-1)!.from];
    // The end first, so that the start is in view if not all of it fits.
    effects.push(EditorView.scrollIntoView(end), EditorView.scrollIntoView(start, { yMargin: 40 }));
  }
  view.dispatch({ effects });
}

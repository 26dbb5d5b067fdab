// Completion, and help under the pointer. The page knows the answers; this shows them.
import {
  acceptCompletion,
  autocompletion,
  completionKeymap,
  startCompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { forEachDiagnostic } from '@codemirror/lint';
import { Prec, StateEffect, StateField, type Extension } from '@codemirror/state';
import { EditorView, hoverTooltip, keymap, type Command } from '@codemirror/view';
import type { Fixable, Fixer } from './problems.ts';
import { prose } from './prose.ts';

export interface Assistant extends Fixer {
  /** What can be inserted at an offset, as JSON: `Proposals`. Empty for nothing. */
  complete?(text: string, offset: number, asked: boolean): string;
  /** Help about the word at an offset, as JSON: `Help`. Empty for nothing. */
  explain?(text: string, offset: number): string;
}

interface Proposals {
  /** Start of the text that a proposal replaces. It ends at the caret. */
  from: number;
  options: Proposal[];
}

interface Proposal {
  label: string;
  /** A few words beside the label. */
  detail: string;
  /** Help, in lines. */
  help: string[];
  /** The text to insert. */
  insert: string;
  /** Where the caret goes in it. */
  caret: number;
  /** True if what was inserted calls for a further proposal. */
  again: boolean;
}

interface Help {
  from: number;
  to: number;
  title: string;
  lines: string[];
}

export function assistance(page: Assistant): Extension {
  if (!page.complete) return [];
  const source = (context: CompletionContext) =>
    context.state.field(fixing) ? fixesAt(context) : proposals(context, page);
  return [
    fixing,
    autocompletion({ override: [source], icons: false, defaultKeymap: false }),
    Prec.highest(keymap.of([...completionKeymap, { key: 'Tab', run: acceptCompletion }, { key: 'Mod-.', run: listFixes }])),
    hoverTooltip((view, at) => help(view, at, page)),
  ];
}

function proposals(context: CompletionContext, page: Assistant): CompletionResult | null {
  const answer = page.complete?.(context.state.doc.toString(), context.pos, context.explicit);
  if (!answer) return null;
  const { from, options } = JSON.parse(answer) as Proposals;
  return {
    from,
    options: options.map((one, index) => ({
      label: one.label,
      // The space keeps label and detail apart for screen readers.
      detail: one.detail && ` ${one.detail}`,
      info: one.help.length ? () => paragraphs(one.help) : undefined,
      // In the order of the page, where nothing else tells them apart.
      boost: -Math.min(index, 98),
      apply: (view, _, from, to) => insert(view, one, from, to),
    })),
  };
}

function insert(view: EditorView, one: Proposal, from: number, to: number): void {
  view.dispatch({
    changes: { from, to, insert: one.insert },
    selection: { anchor: from + one.caret },
    userEvent: 'input.complete',
    scrollIntoView: true,
  });
  if (one.again) startCompletion(view);
}

const setFixing = StateEffect.define<boolean>();

/** True while the list at the caret has quick fixes instead of proposals. */
const fixing = StateField.define<boolean>({
  create: () => false,
  update: (is, transaction) => {
    const set = transaction.effects.find((effect) => effect.is(setFixing));
    return set ? set.value : is && !transaction.docChanged && !transaction.selection;
  },
});

/** Lists the quick fixes of the problems on the caret's line. */
const listFixes: Command = (view) => {
  view.dispatch({ effects: setFixing.of(true) });
  return startCompletion(view);
};

function fixesAt(context: CompletionContext): CompletionResult | null {
  const line = context.state.doc.lineAt(context.pos);
  const options: Completion[] = [];
  forEachDiagnostic(context.state, (diagnostic, from, to) => {
    if (to < line.from || from > line.to) return;
    for (const { label, apply } of (diagnostic as Fixable).fixes()) {
      options.push({ label: label.replaceAll('`', ''), info: () => prose(diagnostic.message), apply });
    }
  });
  return options.length ? { from: context.pos, options, filter: false } : null;
}

function help(view: EditorView, at: number, page: Assistant) {
  const answer = page.explain?.(view.state.doc.toString(), at);
  if (!answer) return null;
  const { from, to, title, lines } = JSON.parse(answer) as Help;
  return {
    pos: from,
    end: to,
    create: () => {
      const dom = paragraphs(lines);
      const head = document.createElement('strong');
      head.textContent = title;
      dom.prepend(head);
      return { dom };
    },
  };
}

function paragraphs(lines: string[]): HTMLElement {
  const dom = document.createElement('div');
  dom.className = 'cm-help';
  for (const line of lines) {
    const paragraph = document.createElement('p');
    paragraph.append(prose(line));
    dom.append(paragraph);
  }
  return dom;
}

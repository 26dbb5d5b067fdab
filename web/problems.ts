// Problems in the text: underlines, marks beside the line numbers, messages, and quick fixes.
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { Facet, type Extension, type Text } from '@codemirror/state';
import { keymap, type EditorView } from '@codemirror/view';
import { prose } from './prose.ts';

export interface Problem {
  /** 1-based. */
  line: number;
  /** 1-based, in characters. 0 for the whole line. */
  column: number;
  severity: 'error' | 'warning' | 'info';
  message: string;
}

/** Quick fixes. A problem is an index in the list of problems. */
export interface Fixer {
  /** Labels of the fixes of a problem, as JSON. */
  fixes?(problem: number): string;
  /** Applies a fix. */
  fix?(problem: number, label: string): void;
}

const fixer = Facet.define<Fixer, Fixer>({ combine: (all) => all[0] ?? {} });

export function problems(page: Fixer): Extension {
  return [fixer.of(page), lintGutter(), keymap.of(lintKeymap)];
}

/** A diagnostic that knows its fixes when it is shown. */
export interface Fixable extends Diagnostic {
  fixes(): { label: string; apply(): void }[];
}

export function showProblems(view: EditorView, list: Problem[]): void {
  const { doc } = view.state;
  const page = view.state.facet(fixer);
  const found = list.map((problem, index): Fixable => {
    const fixes = () => {
      const labels = JSON.parse(page.fixes?.(index) || '[]') as string[];
      return labels.map((label) => ({ label, apply: () => page.fix?.(index, label) }));
    };
    const { severity, message } = problem;
    return { ...place(doc, problem), severity, message, fixes, renderMessage: () => described(message, fixes()) };
  });
  view.dispatch(setDiagnostics(view.state, found));
}

function described(message: string, fixes: ReturnType<Fixable['fixes']>): HTMLElement {
  const dom = document.createElement('div');
  dom.append(prose(message));
  for (const { label, apply } of fixes) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'cm-diagnosticAction';
    button.append(prose(label));
    button.addEventListener('click', apply);
    dom.append(button);
  }
  return dom;
}

/** The value or word at the problem, or the text of its line. */
function place(doc: Text, { line, column }: Problem): { from: number; to: number } {
  const { from, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const start = column > 0 ? [...text].slice(0, column - 1).join('').length : text.search(/\S|$/);
  const word = /^(?:"[^"]*"|'[^']*'|[\w.-]+: +[^\s,{}[\]#&*|>][^,{}[\]#]*|[^\s,{}[\]#]+)/.exec(text.slice(start))?.[0];
  const end = column > 0 && word ? start + word.trimEnd().length : text.trimEnd().length;
  return { from: from + start, to: from + Math.max(start, end) };
}

// The languages of templates and of the files beside them.
import { yaml } from '@codemirror/lang-yaml';
import { StreamLanguage, syntaxTree } from '@codemirror/language';
import { json } from '@codemirror/legacy-modes/mode/javascript';
import { powerShell } from '@codemirror/legacy-modes/mode/powershell';
import { properties } from '@codemirror/legacy-modes/mode/properties';
import { python } from '@codemirror/legacy-modes/mode/python';
import { shell } from '@codemirror/legacy-modes/mode/shell';
import type { Extension } from '@codemirror/state';
import { Decoration, MatchDecorator, ViewPlugin, type DecorationSet, type EditorView, type ViewUpdate } from '@codemirror/view';

/** The language of a file, by the end of its name, or else by its first line. */
export function language(file: string, text: string, words: string[]): Extension {
  const end = /\.([^./]+)$/.exec(file)?.[1]?.toLowerCase() ?? '';
  if (['yaml', 'yml', 'template', 'env'].includes(end)) return [yaml(), words.length ? template(words) : []];
  if (['sh', 'bash'].includes(end)) return StreamLanguage.define(shell);
  if (end === 'py') return StreamLanguage.define(python);
  if (end === 'ps1') return StreamLanguage.define(powerShell);
  if (end === 'json') return StreamLanguage.define(json);
  if (['conf', 'cfg', 'ini', 'properties'].includes(end)) return StreamLanguage.define(properties);
  if (/^#!.*python/.test(text)) return StreamLanguage.define(python);
  if (text.startsWith('#!')) return StreamLanguage.define(shell);
  return text.startsWith('#cloud-config') ? yaml() : [];
}

/** Functions and sections of templates, and types of resources. */
function template(words: string[]): Extension {
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const matcher = new MatchDecorator({
    regexp: new RegExp(`\\b(?:${escaped.join('|')})(?=["']?\\s*:)|\\bOS::[\\w:]*\\w`, 'g'),
    decorate: (add, from, to, match, view) => {
      if (/Comment|BlockLiteral/.test(syntaxTree(view.state).resolveInner(from, 1).name)) return;
      add(from, to, match[0].startsWith('OS::') ? resourceType : word);
    },
  });
  return ViewPlugin.fromClass(
    class {
      found: DecorationSet;
      constructor(view: EditorView) {
        this.found = matcher.createDeco(view);
      }
      update(update: ViewUpdate) {
        const isReadAnew = syntaxTree(update.state) !== syntaxTree(update.startState);
        this.found = isReadAnew ? matcher.createDeco(update.view) : matcher.updateDeco(update, this.found);
      }
    },
    { decorations: (plugin) => plugin.found },
  );
}

const word = Decoration.mark({ class: 'cm-hot-word' });
const resourceType = Decoration.mark({ class: 'cm-hot-type' });

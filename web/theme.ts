// Colours and sizes of the editor, by the page's tokens. They follow the page's light and dark.
//
// CodeMirror's styles stand in no cascade layer, so rules of the page's style sheet could not change them.
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** A colour of the page, nearer to that of the text: it must be read on a marked line too. */
const ink = (name: string) => `color-mix(in oklab, var(--${name}) 72%, var(--text))`;

const words = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.attributeName], color: ink('compute') },
  { tag: [tags.string, tags.special(tags.string)], color: ink('state-succeeded') },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: ink('state-retrying') },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: ink('security') },
  { tag: [tags.comment, tags.lineComment], color: 'var(--text-quiet)', fontStyle: 'italic' },
  { tag: [tags.meta, tags.typeName, tags.labelName, tags.standard(tags.variableName)], color: ink('network') },
  { tag: [tags.separator, tags.punctuation, tags.brace, tags.squareBracket], color: 'var(--text-quiet)' },
]);

const MONO = 'var(--font-mono)';
const FLOATS = {
  border: '0',
  borderRadius: 'var(--radius)',
  background: 'var(--surface-raised)',
  color: 'var(--text)',
  boxShadow: 'var(--shadow-float)',
  fontFamily: 'var(--font)',
  fontSize: 'var(--size-meta)',
  lineHeight: '1.125rem',
};
const BUTTON = {
  border: '1px solid var(--border-strong)',
  borderRadius: 'var(--radius-small)',
  background: 'var(--surface)',
  color: 'var(--text)',
  font: 'inherit',
  padding: '1px 8px',
  cursor: 'pointer',
};

const look = EditorView.theme({
  '&': { height: '100%', background: 'var(--surface-sunken)', color: 'var(--text)', fontSize: '0.7812rem' },
  '&.cm-focused': { outline: 'none', boxShadow: 'inset 0 0 0 1px var(--accent-border)' },
  '.cm-scroller': { fontFamily: MONO, lineHeight: '1.25rem', scrollbarWidth: 'thin' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 12px 0 10px' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--text)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
    background: 'color-mix(in oklab, var(--accent) 24%, transparent)',
  },
  '.cm-activeLine': { background: 'color-mix(in oklab, var(--text) 4%, transparent)' },
  '.cm-marked': { background: 'color-mix(in oklab, var(--accent) 8%, transparent)', boxShadow: 'inset 2px 0 var(--accent)' },
  '.cm-gutters': {
    border: '0',
    borderRight: '1px solid var(--border)',
    background: 'var(--surface)',
    color: 'var(--text-faint)',
    fontSize: '0.75rem',
  },
  '.cm-activeLineGutter': { background: 'transparent', color: 'var(--text)' },
  '.cm-foldGutter .cm-gutterElement': { color: 'var(--text-faint)', cursor: 'pointer' },
  '.cm-foldPlaceholder': { border: '0', background: 'var(--surface-press)', color: 'var(--text-quiet)', padding: '0 6px' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { background: 'var(--accent-quiet)', outline: '1px solid var(--accent-border)' },
  '.cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket': { background: 'var(--danger-quiet)' },
  '.cm-searchMatch': { background: 'var(--highlight)', outline: 'none' },
  '.cm-searchMatch-selected': { outline: '1px solid var(--accent)' },
  '.cm-selectionMatch': { background: 'var(--accent-quiet)' },
  '.cm-hot-word, .cm-hot-word *': { color: ink('security') },
  '.cm-hot-type, .cm-hot-type *': { color: ink('network') },

  '.cm-tooltip': FLOATS,
  '.cm-tooltip .cm-tooltip-section:not(:first-child)': { borderTop: '1px solid var(--border)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: MONO, maxHeight: '15rem', borderRadius: 'var(--radius)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 8px', lineHeight: '1.125rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { background: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionDetail': { marginLeft: '12px', color: 'var(--text-faint)', fontFamily: 'var(--font)', fontStyle: 'normal' },
  'li[aria-selected] .cm-completionDetail': { color: 'inherit' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionInfo': { padding: '6px 10px', maxWidth: '22rem' },
  '.cm-help': { maxWidth: '30rem', padding: '2px 0' },
  '.cm-tooltip-hover .cm-help': { padding: '6px 10px' },
  '.cm-help strong': { display: 'block', fontFamily: MONO, fontWeight: '600' },
  '.cm-help p': { margin: '2px 0 0' },
  '.cm-help code': { fontFamily: MONO, fontSize: '0.95em' },

  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--danger) 1px', textUnderlineOffset: '3px' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--state-retrying) 1px', textUnderlineOffset: '3px' },
  '.cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline dotted var(--text-faint) 1px', textUnderlineOffset: '3px' },
  '.cm-lintPoint::after': { borderBottomColor: 'var(--danger)' },
  '.cm-gutter-lint': { width: '1rem' },
  '.cm-gutter-lint .cm-gutterElement': { padding: '0 2px' },
  '.cm-lint-marker': { content: 'normal', width: '8px', height: '8px', margin: '6px 2px', borderRadius: '50%', background: 'var(--text-faint)' },
  '.cm-lint-marker-error': { content: 'normal', background: 'var(--danger)' },
  '.cm-lint-marker-warning': { content: 'normal', borderRadius: '1px', background: 'var(--state-retrying)', rotate: '45deg' },
  '.cm-diagnostic': { borderLeft: '0', padding: '6px 10px', maxWidth: '34rem', whiteSpace: 'normal' },
  '.cm-diagnosticAction': { ...BUTTON, marginTop: '6px' },
  '.cm-diagnosticAction:hover': { background: 'var(--surface-hover)' },

  '.cm-panels': { background: 'var(--surface)', color: 'var(--text)', fontFamily: 'var(--font)' },
  '.cm-panels.cm-panels-top': { borderBottom: '1px solid var(--border)' },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--border)' },
  '.cm-panel.cm-search': { padding: '6px 32px 6px 8px', fontSize: 'var(--size-meta)' },
  '.cm-panel.cm-search label': { fontSize: 'var(--size-meta)' },
  '.cm-panel.cm-search [name=close]': { ...BUTTON, border: '0', top: '6px', right: '8px', fontSize: 'var(--size-title)' },
  '.cm-textfield': {
    border: '1px solid var(--border-strong)',
    borderRadius: 'var(--radius-small)',
    background: 'var(--surface)',
    color: 'var(--text)',
    font: 'inherit',
    padding: '1px 6px',
  },
  '.cm-button': { ...BUTTON, backgroundImage: 'none' },
  '.cm-button:hover': { background: 'var(--surface-hover)' },
  '.cm-panel.cm-panel-lint ul [aria-selected]': { background: 'var(--accent-quiet)' },
});

export const theme: Extension = [look, syntaxHighlighting(words)];

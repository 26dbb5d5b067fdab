// Sentences with names in backquotes, as the page writes them.

/** A sentence as elements. */
export function prose(text: string): HTMLElement {
  const dom = document.createElement('span');
  for (const [index, part] of text.split('`').entries()) {
    const node = document.createElement(index % 2 ? 'code' : 'span');
    node.textContent = part;
    dom.append(node);
  }
  return dom;
}

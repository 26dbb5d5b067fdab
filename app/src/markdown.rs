//! Renders a README as elements. Supports a subset of Markdown and never the author's HTML.
//!
//! Supported: headings, paragraphs, lists, tables, code, links to `http(s)`, emphasis. Other syntax is displayed as
//! plain text. The text is first parsed to a tree ([`parse`], pure), then rendered as elements. No text is inserted
//! into the page as markup.

use leptos::prelude::*;

/// A block of text.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A heading with its level, 1 to 6.
    Heading(usize, Vec<Span>),
    /// Lines of text.
    Paragraph(Vec<Span>),
    /// A list with `-`, `*` or numbers.
    List {
        /// True for a numbered list.
        ordered: bool,
        /// The spans of each item.
        items: Vec<Vec<Span>>,
    },
    /// A fenced code block.
    Code(String),
    /// A table: the header row, then the body rows, each a list of cells.
    Table(Vec<Vec<Vec<Span>>>),
}

/// Part of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Span {
    /// Plain text.
    Text(String),
    /// Between backticks.
    Code(String),
    /// Between `**`.
    Strong(String),
    /// Between `*` or `_`.
    Emphasis(String),
    /// Text and address.
    Link(String, String),
}

/// Parses Markdown into blocks.
pub fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        if let Some(fence) = ["```", "~~~"]
            .into_iter()
            .find(|fence| trimmed.starts_with(fence))
        {
            let code: Vec<&str> = lines
                .by_ref()
                .take_while(|line| !line.trim().starts_with(fence))
                .collect();
            blocks.push(Block::Code(code.join("\n")));
        } else if let Some((level, title)) = heading(trimmed) {
            blocks.push(Block::Heading(level, spans(title)));
        } else if let Some((ordered, first)) = item(trimmed) {
            let mut items = vec![first.to_owned()];
            while let Some(next) =
                lines.next_if(|line| !line.trim().is_empty() && heading(line.trim()).is_none())
            {
                match item(next.trim()) {
                    Some((_, text)) => items.push(text.to_owned()),
                    // Continuation of the previous item.
                    None => {
                        if let Some(last) = items.last_mut() {
                            last.push(' ');
                            last.push_str(next.trim());
                        }
                    }
                }
            }
            blocks.push(Block::List {
                ordered,
                items: items.iter().map(|item| spans(item)).collect(),
            });
        } else if trimmed.starts_with('|') {
            let mut rows = vec![cells(trimmed)];
            while let Some(next) = lines.next_if(|line| line.trim().starts_with('|')) {
                let is_rule = next
                    .trim()
                    .chars()
                    .all(|letter| matches!(letter, '|' | '-' | ':' | ' '));
                if !is_rule {
                    rows.push(cells(next.trim()));
                }
            }
            blocks.push(Block::Table(rows));
        } else {
            let mut paragraph = trimmed.to_owned();
            while let Some(next) = lines.next_if(|line| {
                let line = line.trim();
                !line.is_empty()
                    && heading(line).is_none()
                    && item(line).is_none()
                    && !line.starts_with("```")
                    && !line.starts_with('|')
            }) {
                paragraph.push(' ');
                paragraph.push_str(next.trim());
            }
            blocks.push(Block::Paragraph(spans(&paragraph)));
        }
    }
    blocks
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(level..)?;
    ((1..=6).contains(&level) && title.starts_with(' '))
        .then(|| (level, title.trim().trim_end_matches('#').trim()))
}

fn item(line: &str) -> Option<(bool, &str)> {
    if let Some(text) = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("* "))
        .or_else(|| line.strip_prefix("+ "))
    {
        return Some((false, text.trim()));
    }
    let (number, text) = line.split_once(". ")?;
    (!number.is_empty() && number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| (true, text.trim()))
}

fn cells(line: &str) -> Vec<Vec<Span>> {
    line.trim_matches('|')
        .split('|')
        .map(|cell| spans(cell.trim()))
        .collect()
}

fn spans(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if let Some((span, after)) = special(rest) {
            if !plain.is_empty() {
                found.push(Span::Text(std::mem::take(&mut plain)));
            }
            found.push(span);
            rest = after;
        } else {
            plain.push(letter);
            rest = &rest[letter.len_utf8()..];
            // Inside a word, `_` and `*` are ordinary characters.
            while let Some(next) = rest
                .chars()
                .next()
                .filter(|next| letter.is_alphanumeric() && *next == '_')
            {
                plain.push(next);
                rest = &rest[1..];
            }
        }
    }
    if !plain.is_empty() {
        found.push(Span::Text(plain));
    }
    found
}

/// Span at the start of the text, and the rest.
fn special(text: &str) -> Option<(Span, &str)> {
    let between = |mark: &str| {
        let (inside, after) = text.strip_prefix(mark)?.split_once(mark)?;
        (!inside.is_empty() && !inside.starts_with(' ') && !inside.ends_with(' '))
            .then(|| (inside.to_owned(), after))
    };
    if let Some((inside, after)) = between("`") {
        return Some((Span::Code(inside), after));
    }
    if let Some((inside, after)) = between("**") {
        return Some((Span::Strong(inside), after));
    }
    if let Some((inside, after)) = between("*").or_else(|| between("_")) {
        return Some((Span::Emphasis(inside), after));
    }
    let (title, rest) = text.strip_prefix('[')?.split_once("](")?;
    let (address, after) = rest.split_once(')')?;
    // Only these schemes become links. Others, such as `javascript:`, stay text.
    let leads = address.starts_with("https://") || address.starts_with("http://");
    (leads && !title.contains('['))
        .then(|| (Span::Link(title.to_owned(), address.to_owned()), after))
}

/// Renders Markdown.
#[component]
pub fn Markdown(
    /// The text.
    #[prop(into)]
    text: String,
) -> impl IntoView {
    let blocks = parse(&text);
    let levels = blocks.iter().filter_map(|block| match block {
        Block::Heading(level, _) => Some(*level),
        _ => None,
    });
    // The page has its own first heading, so the highest level of the text is one level below it.
    let top = levels.min().unwrap_or(1);
    let blocks = blocks.into_iter().map(|block| block_view(block, top));
    view! { <div class="markdown">{blocks.collect_view()}</div> }
}

fn block_view(block: Block, top: usize) -> AnyView {
    match block {
        Block::Heading(level, spans) if level == top => {
            view! { <h2>{spans_view(spans)}</h2> }.into_any()
        }
        Block::Heading(level, spans) if level == top + 1 => {
            view! { <h3>{spans_view(spans)}</h3> }.into_any()
        }
        Block::Heading(_, spans) => view! { <h4>{spans_view(spans)}</h4> }.into_any(),
        Block::Paragraph(spans) => view! { <p>{spans_view(spans)}</p> }.into_any(),
        Block::Code(code) => view! { <pre><code>{code}</code></pre> }.into_any(),
        Block::List { ordered, items } => {
            let items = items
                .into_iter()
                .map(|item| view! { <li>{spans_view(item)}</li> })
                .collect_view();
            if ordered {
                view! { <ol>{items}</ol> }.into_any()
            } else {
                view! { <ul>{items}</ul> }.into_any()
            }
        }
        Block::Table(rows) => {
            let mut rows = rows.into_iter();
            let head = rows.next().unwrap_or_default();
            view! {
                <table>
                    <thead><tr>{head.into_iter().map(|cell| view! { <th scope="col">{spans_view(cell)}</th> }).collect_view()}</tr></thead>
                    <tbody>
                        {rows.map(|row| view! {
                            <tr>{row.into_iter().map(|cell| view! { <td>{spans_view(cell)}</td> }).collect_view()}</tr>
                        }).collect_view()}
                    </tbody>
                </table>
            }
            .into_any()
        }
    }
}

fn spans_view(spans: Vec<Span>) -> AnyView {
    spans
        .into_iter()
        .map(|span| match span {
            Span::Text(text) => text.into_any(),
            Span::Code(text) => view! { <code>{text}</code> }.into_any(),
            Span::Strong(text) => view! { <strong>{text}</strong> }.into_any(),
            Span::Emphasis(text) => view! { <em>{text}</em> }.into_any(),
            Span::Link(text, address) => {
                view! { <a href=address target="_blank" rel="external noopener noreferrer">{text}</a> }.into_any()
            }
        })
        .collect_view()
        .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Span {
        Span::Text(text.to_owned())
    }

    #[test]
    fn blocks_are_recognised() {
        let blocks = parse(
            "# nginx\n\nA web\nserver.\n\n- one\n- two\n  more\n1. first\n\n```yaml\na: 1\n```\n",
        );
        assert_eq!(
            blocks,
            [
                Block::Heading(1, vec![text("nginx")]),
                Block::Paragraph(vec![text("A web server.")]),
                Block::List {
                    ordered: false,
                    items: vec![
                        vec![text("one")],
                        vec![text("two more")],
                        vec![text("first")]
                    ]
                },
                Block::Code(String::from("a: 1")),
            ]
        );
    }

    #[test]
    fn tables_have_cells() {
        let blocks = parse("| name | what |\n| --- | :-: |\n| `a` | b |");
        let row = |one: Span, other: Span| vec![vec![one], vec![other]];
        assert_eq!(
            blocks,
            [Block::Table(vec![
                row(text("name"), text("what")),
                row(Span::Code("a".into()), text("b"))
            ])]
        );
    }

    #[test]
    fn spans_follow_each_other_and_do_not_nest() {
        assert_eq!(
            spans("see `a_b` and **this** or [docs](https://nginx.org/)."),
            [
                text("see "),
                Span::Code("a_b".into()),
                text(" and "),
                Span::Strong("this".into()),
                text(" or "),
                Span::Link("docs".into(), "https://nginx.org/".into()),
                text("."),
            ]
        );
        assert_eq!(
            spans("listen_port and page_text"),
            [text("listen_port and page_text")]
        );
        assert_eq!(spans("2 * 3 * 4"), [text("2 * 3 * 4")]);
    }

    #[test]
    fn markup_and_dangerous_addresses_stay_text() {
        assert_eq!(
            spans("<img src=x onerror=y>"),
            [text("<img src=x onerror=y>")]
        );
        assert_eq!(
            spans("[x](javascript:alert(1))"),
            [text("[x](javascript:alert(1))")]
        );
        for torn in ["**", "`", "[", "[a](", "```", "|", "#", "- "] {
            parse(torn);
        }
    }
}

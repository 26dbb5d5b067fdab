//! A page for every problem code: meaning, causes, remedies.
//!
//! The texts are `docs/errors/<code>.md`, compiled into the program. A problem's `type` links here. The texts are our
//! own and use little of Markdown, so the few lines below convert them to HTML.

use axum::{
    extract::Path,
    http::{HeaderValue, header},
    response::{Html, IntoResponse},
};

use crate::{
    codes,
    problem::{Error, Result},
};

/// Markdown text by code.
pub static PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/error_pages.rs"));

/// The page of a code.
pub async fn page(Path(code): Path<String>) -> Result<impl IntoResponse> {
    let (_, text) = PAGES
        .iter()
        .find(|(name, _)| *name == code)
        .ok_or_else(|| {
            Error::new(
                codes::NOT_FOUND,
                format!("The error code `{code}` does not exist."),
            )
        })?;
    let policy = HeaderValue::from_static(
        "default-src 'none'; style-src 'self'; font-src 'self'; frame-ancestors 'none'",
    );
    Ok((
        [(header::CONTENT_SECURITY_POLICY, policy)],
        Html(html(&code, text)),
    ))
}

fn html(code: &str, markdown: &str) -> String {
    let body = to_html(markdown);
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{code} - Stackloom</title><link rel="stylesheet" href="/pkg/stackloom.css"></head>
<body><main class="prose error-page">
{body}</main></body>
</html>
"#,
        code = escape(code)
    )
}

/// Converts headings, paragraphs, lists and fenced code, and `code` and **strong** within a line.
fn to_html(markdown: &str) -> String {
    let mut html = String::new();
    for block in blocks(markdown) {
        let first = block.first().map_or("", |line| line.as_str());
        let level = first.bytes().take_while(|byte| *byte == b'#').count();
        if first.starts_with("```") {
            let code: Vec<String> = block.iter().skip(1).map(|line| escape(line)).collect();
            html.push_str(&format!("<pre><code>{}</code></pre>\n", code.join("\n")));
        } else if (1..=4).contains(&level) {
            html.push_str(&format!(
                "<h{level}>{}</h{level}>\n",
                inline(first[level..].trim())
            ));
        } else if first.starts_with("- ") {
            let mut items: Vec<String> = Vec::new();
            for line in &block {
                match (line.strip_prefix("- "), items.last_mut()) {
                    (Some(item), _) => items.push(item.to_owned()),
                    (None, Some(item)) => item.push_str(&format!(" {}", line.trim())),
                    (None, None) => {}
                }
            }
            let items: String = items
                .iter()
                .map(|item| format!("<li>{}</li>", inline(item)))
                .collect();
            html.push_str(&format!("<ul>{items}</ul>\n"));
        } else {
            html.push_str(&format!("<p>{}</p>\n", inline(&block.join(" "))));
        }
    }
    html
}

/// Splits the text into blocks at empty lines. A heading is a block of its own, and a fenced block keeps its empty
/// lines.
fn blocks(markdown: &str) -> Vec<Vec<String>> {
    let mut blocks: Vec<Vec<String>> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut is_fenced = false;
    for line in markdown.lines() {
        let is_fence = line.starts_with("```");
        if is_fenced && is_fence {
            is_fenced = false;
            blocks.push(std::mem::take(&mut open));
        } else if is_fenced {
            open.push(line.to_owned());
        } else if is_fence || line.starts_with('#') || line.trim().is_empty() {
            if !open.is_empty() {
                blocks.push(std::mem::take(&mut open));
            }
            if is_fence {
                is_fenced = true;
                open.push(line.to_owned());
            } else if !line.trim().is_empty() {
                blocks.push(vec![line.to_owned()]);
            }
        } else {
            open.push(line.to_owned());
        }
    }
    if !open.is_empty() {
        blocks.push(open);
    }
    blocks
}

fn inline(text: &str) -> String {
    let mut html = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            html.push_str(&format!("<code>{}</code>", escape(part)));
        } else {
            for (index, part) in part.split("**").enumerate() {
                let part = escape(part);
                html.push_str(&if index % 2 == 1 {
                    format!("<strong>{part}</strong>")
                } else {
                    part
                });
            }
        }
    }
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_a_page() {
        let pages: BTreeSet<&str> = PAGES.iter().map(|(code, _)| *code).collect();
        let all = [hot::diagnostic::CODES, engine::CODES, codes::CODES].concat();
        let missing: BTreeSet<&str> = all
            .into_iter()
            .filter(|code| !pages.contains(code))
            .collect();
        assert!(
            missing.is_empty(),
            "write docs/errors/<code>.md for {missing:?}"
        );
    }

    #[test]
    fn every_page_has_a_code_and_begins_with_it() {
        let all: BTreeSet<&str> = [hot::diagnostic::CODES, engine::CODES, codes::CODES]
            .concat()
            .into_iter()
            .collect();
        for (code, text) in PAGES {
            assert!(
                all.contains(code),
                "docs/errors/{code}.md is about a code that nobody uses"
            );
            assert!(
                text.starts_with(&format!("# `{code}`")),
                "docs/errors/{code}.md begins with `# `{code}``"
            );
        }
    }

    #[test]
    fn markdown_becomes_html_and_nothing_else() {
        let html = to_html(
            "# `a-code`\n\nWhy **this** <b>happens</b>.\n- one\n\n- two\n  more\n\n```\n<x>\n\ny\n```\n",
        );
        assert_eq!(
            html,
            "<h1><code>a-code</code></h1>\n<p>Why <strong>this</strong> &lt;b&gt;happens&lt;/b&gt;. - one</p>\n\
             <ul><li>two more</li></ul>\n<pre><code>&lt;x&gt;\n\ny</code></pre>\n"
        );
    }
}

//! A page for every problem code: meaning, causes, remedies.
//!
//! The texts are `docs/errors/<code>.md`, compiled into the program. A problem's `type` links here.

use axum::{
    extract::Path,
    http::{HeaderValue, header},
    response::{Html, IntoResponse},
};
use pulldown_cmark::{Event, Parser, html::push_html};

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

/// Converts Markdown to HTML. HTML in the text is shown as text.
fn to_html(markdown: &str) -> String {
    let events = Parser::new(markdown).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    });
    let mut html = String::new();
    push_html(&mut html, events);
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
            "# `a-code`\n\nWhy **this** <b>happens</b>.\n\n- one\n- two\n  more\n\n```\n<x>\n\ny\n```\n",
        );
        assert_eq!(
            html,
            "<h1><code>a-code</code></h1>\n<p>Why <strong>this</strong> &lt;b&gt;happens&lt;/b&gt;.</p>\n\
             <ul>\n<li>one</li>\n<li>two\nmore</li>\n</ul>\n<pre><code>&lt;x&gt;\n\ny\n</code></pre>\n"
        );
    }
}

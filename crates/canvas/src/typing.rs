//! Converts the text of a code editor to a change of the original text.
//!
//! A code editor has LF line ends only. If its text were used directly, the first key would change every line of
//! a text with Windows line ends. So only the differing part is replaced, and the text before and after it stays the
//! same byte for byte.

use std::borrow::Cow;

/// Text after typing: `was` with the part in which `typed` differs. New line ends have the form of the line in which
/// the part ends.
pub fn retyped<'t>(was: &str, typed: &'t str) -> Cow<'t, str> {
    if !was.contains('\r') {
        return Cow::Borrowed(typed);
    }
    let (head_was, head) = common_head(was, typed);
    let (rest_was, rest) = (&was[head_was..], &typed[head..]);
    let (tail_was, tail) = common_tail(rest_was, rest);
    let after = &rest_was[rest_was.len() - tail_was..];
    let middle = &rest[..rest.len() - tail];
    let windows = match after.find('\n') {
        Some(end) => after[..end].ends_with('\r'),
        None => was.contains("\r\n"),
    };
    let middle: Cow<'_, str> = if windows {
        middle.replace('\n', "\r\n").into()
    } else {
        middle.into()
    };
    let (before, rest) = (&was[..head_was], format!("{middle}{after}"));
    // A lone CR before an LF would merge with it into one line end, so it is rewritten as LF.
    let start = if rest.starts_with('\n') {
        before.trim_end_matches('\r')
    } else {
        before
    };
    let anew = "\n".repeat(before.len() - start.len());
    Cow::Owned(format!("{start}{anew}{rest}"))
}

/// Length of the line end at the start of a text.
fn end_at_start(text: &str) -> usize {
    match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

/// Length of the line end at the end of a text.
fn end_at_end(text: &str) -> usize {
    match text.as_bytes() {
        [.., b'\r', b'\n'] => 2,
        [.., b'\r' | b'\n'] => 1,
        _ => 0,
    }
}

/// Lengths of the common prefix in both texts. All line ends are equal.
fn common_head(was: &str, typed: &str) -> (usize, usize) {
    let (mut at_was, mut at) = (0, 0);
    loop {
        let (left_was, left) = (&was[at_was..], &typed[at..]);
        let (end_was, end) = (end_at_start(left_was), end_at_start(left));
        let step = match (left_was.chars().next(), left.chars().next()) {
            _ if end_was > 0 && end > 0 => (end_was, end),
            (Some(one), Some(other)) if one == other => (one.len_utf8(), one.len_utf8()),
            _ => return (at_was, at),
        };
        at_was += step.0;
        at += step.1;
    }
}

/// Lengths of the common suffix in both texts. All line ends are equal.
fn common_tail(was: &str, typed: &str) -> (usize, usize) {
    let (mut left_was, mut left) = (was, typed);
    loop {
        let (end_was, end) = (end_at_end(left_was), end_at_end(left));
        let step = match (left_was.chars().next_back(), left.chars().next_back()) {
            _ if end_was > 0 && end > 0 => (end_was, end),
            (Some(one), Some(other)) if one == other => (one.len_utf8(), one.len_utf8()),
            _ => return (was.len() - left_was.len(), typed.len() - left.len()),
        };
        left_was = &left_was[..left_was.len() - step.0];
        left = &left[..left.len() - step.1];
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text as a code editor returns it.
    fn folded(text: &str) -> String {
        text.replace("\r\n", "\n").replace('\r', "\n")
    }

    #[test]
    fn a_letter_changes_one_line() {
        assert_eq!(
            retyped("a: 1\r\nb: 2\r\nc: 3\r\n", "a: 1\nb: 29\nc: 3\n"),
            "a: 1\r\nb: 29\r\nc: 3\r\n"
        );
    }

    #[test]
    fn a_new_line_ends_as_the_line_that_it_is_put_into() {
        let was = "unix\nwindows\r\nlast";
        assert_eq!(
            retyped(was, "un\nix\nwindows\nlast"),
            "un\nix\nwindows\r\nlast"
        );
        assert_eq!(
            retyped(was, "unix\nwin\ndows\nlast"),
            "unix\nwin\r\ndows\r\nlast"
        );
        assert_eq!(
            retyped(was, "unix\nwindows\nlast\n"),
            "unix\nwindows\r\nlast\r\n"
        );
    }

    #[test]
    fn a_deleted_line_takes_its_own_line_end() {
        assert_eq!(retyped("a\r\n\r\nb\n", "a\nb\n"), "a\r\nb\n");
        assert_eq!(retyped("ä\r\nö\r\n", "ö\n"), "ö\r\n");
        assert_eq!(retyped("a\r\nb\r\n", ""), "");
    }

    #[test]
    fn lone_carriage_returns_do_not_swallow_what_is_typed_after_them() {
        assert_eq!(retyped("\r\r", "\n\n\n"), "\n\n\n");
        assert_eq!(retyped("a\rb", "a\nbc"), "a\rbc");
    }

    proptest! {
        #[test]
        fn the_text_is_as_typed_and_an_empty_edit_changes_nothing(was in "[aä\r\n]{0,12}", typed in "[aäb\n]{0,12}") {
            let now = retyped(&was, &typed);
            prop_assert_eq!(folded(&now), typed);
            let same = folded(&was);
            prop_assert_eq!(retyped(&was, &same), was);
        }
    }
}

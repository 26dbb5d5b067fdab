//! Converts Python's regular expressions to RE2, which Terraform uses.
//!
//! With an unsupported feature, the converted pattern would match no value, so patterns with such a feature are not
//! converted: look-around, back-references, atomic groups, characters by name. Sources: Python's `re`, RE2's syntax.

/// RE2's highest repetition count.
const TIMES_MAX: u32 = 1000;

/// The pattern in RE2. `None` if RE2 cannot express it.
pub(super) fn expression(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_class = false;
    // Whether the previous token was a repetition.
    let mut repeated = false;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let was_repeated = std::mem::take(&mut repeated);
        match c {
            '\\' => {
                rest = escaped(rest, in_class, &mut out)?;
                continue;
            }
            // A POSIX class in RE2, but plain characters in Python.
            '[' if in_class && rest.starts_with(':') => return None,
            '[' if !in_class => {
                in_class = true;
                // At the start of a class, its closing bracket is an ordinary character.
                let taken = rest.len() - rest.strip_prefix('^').unwrap_or(rest).len();
                let taken = taken + usize::from(rest[taken..].starts_with(']'));
                out.push(c);
                out.push_str(&rest[..taken]);
                rest = &rest[taken..];
                continue;
            }
            ']' => in_class = false,
            _ if in_class => {}
            '(' if rest.starts_with('?') => {
                if !is_group(&rest[1..]) {
                    return None;
                }
                out.push_str("(?");
                rest = &rest[1..];
                continue;
            }
            // A possessive quantifier.
            '+' if was_repeated => return None,
            '*' | '+' => repeated = true,
            // After a repetition, it makes the repetition lazy.
            '?' => repeated = !was_repeated,
            '{' => {
                if let Some((times, below)) = rest.split_once('}')
                    && is_repetition(times)?
                {
                    out.push_str(&format!("{{{times}}}"));
                    rest = below;
                    repeated = true;
                    continue;
                }
            }
            _ => {}
        }
        out.push(c);
    }
    Some(out)
}

/// Converts the characters after a backslash. Returns the rest.
fn escaped<'p>(rest: &'p str, in_class: bool, out: &mut String) -> Option<&'p str> {
    let mut after = rest.chars();
    let escaped = after.next()?;
    let rest = after.as_str();
    match escaped {
        'u' | 'U' => {
            let digits = if escaped == 'u' { 4 } else { 8 };
            let code = rest.get(..digits)?;
            let code = u32::from_str_radix(code, 16).ok()?;
            out.push_str(&format!("\\x{{{:04x}}}", u32::from(char::from_u32(code)?)));
            return Some(&rest[digits..]);
        }
        'Z' => out.push_str("\\z"),
        'N' | '1'..='9' => return None,
        'b' if in_class => out.push_str("\\x08"),
        other => {
            out.push('\\');
            out.push(other);
        }
    }
    Some(rest)
}

/// Whether both dialects support the group that starts after `(?`.
fn is_group(rest: &str) -> bool {
    let flags = rest.trim_start_matches(['i', 'm', 's']);
    rest.starts_with("P<")
        || flags.starts_with(':')
        || flags.len() < rest.len() && flags.starts_with(')')
}

/// Whether the text in braces is a repetition. `None` if only Python supports it.
fn is_repetition(times: &str) -> Option<bool> {
    let (least, most) = times.split_once(',').unwrap_or((times, "0"));
    let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if times.is_empty() || !is_number(least) || !is_number(most) {
        return Some(false);
    }
    let known = |text: &str| text.parse::<u32>().is_ok_and(|times| times <= TIMES_MAX);
    (known(least) && (most.is_empty() || known(most))).then_some(true)
}

#[cfg(test)]
mod tests {
    use super::expression;

    #[test]
    fn patterns_are_converted_to_re2_or_left_out() {
        for (python, terraform) in [
            (
                r"[_0-9\u4e00-\u9fa5]+\Z",
                Some(r"[_0-9\x{4e00}-\x{9fa5}]+\z"),
            ),
            (r"a\\u12", Some(r"a\\u12")),
            (r"\d+\.\d", Some(r"\d+\.\d")),
            (r"(?=a)b", None),
            (r"(a)\1", None),
            (r"a\", None),
            (r"\u12é", None),
            (r"\U0001F600", Some(r"\x{1f600}")),
            (r"\N{DIGIT ONE}", None),
            (r"(?:a)(?P<b>c)(?i)", Some(r"(?:a)(?P<b>c)(?i)")),
            (r"(?i:a)", Some(r"(?i:a)")),
            (r"(?x)a b", None),
            (r"(?u)a", None),
            (r"(?>a)", None),
            (r"(?P=b)", None),
            (r"\(?=", Some(r"\(?=")),
            (r"[(?=]", Some(r"[(?=]")),
            (r"[]a++(?=]b", Some(r"[]a++(?=]b")),
            (r"[[:alpha:]]", None),
            (r"a++", None),
            (r"a{2}+", None),
            (r"a+?b??", Some(r"a+?b??")),
            (r"a{2,}?b{3}", Some(r"a{2,}?b{3}")),
            (r"a{,3}", None),
            (r"a{1001}", None),
            (r"{}+{a}+", Some(r"{}+{a}+")),
        ] {
            assert_eq!(expression(python).as_deref(), terraform, "{python}");
        }
    }
}

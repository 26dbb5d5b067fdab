//! Parses an expression to a tree.
//!
//! YAQL's operators, tightest first: `.` and `?.`; `[ ]`; signs; `=~`, `!~`; `*`, `/`, `mod`; `+`, `-`; comparisons and
//! `in`; `not`; `and`; `or`; `->`.

use serde_json::{Number, Value};

use crate::shown;

/// Maximum nesting of brackets.
const DEPTH_MAX: usize = 40;

/// Maximum height of the tree. A chain such as `1 + 1 + 1` or `$.a.b.c` has no brackets, but each link adds a level,
/// and a tree is evaluated and dropped recursively.
const HEIGHT_MAX: usize = 100;

/// An expression.
#[derive(Debug)]
pub(super) enum Tree {
    /// Name of `$`, `$1` or `$name`, without the sign. `$` is `1`.
    Variable(String),
    Value(Value),
    /// A bare word: a key, or a text without quotes.
    Word(String),
    /// `of.key`.
    Key(Box<Tree>, String),
    /// `of[arguments]`.
    Index(Box<Tree>, Vec<Tree>),
    /// `of.name(arguments)`.
    Method(Box<Tree>, String, Vec<Tree>),
    /// `of?.key`, `of?.name(arguments)`: null if `of` is null. The second field is a [`Tree::Key`] or a
    /// [`Tree::Method`] of [`Tree::Before`].
    Elvis(Box<Tree>, Box<Tree>),
    /// Value before the operator in a [`Tree::Elvis`].
    Before,
    Call(String, Vec<Tree>),
    List(Vec<Tree>),
    Map(Vec<Tree>),
    /// `key => value`.
    Pair(Box<Tree>, Box<Tree>),
    Unary(&'static str, Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
}

pub(super) fn parse(text: &str) -> Result<Tree, String> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        height: 0,
    };
    let tree = parser.expression()?;
    parser.blank();
    if parser.at < text.len() {
        return Err(parser.unreadable());
    }
    Ok(tree)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Height of the last parsed tree.
    height: usize,
}

/// Operators by precedence, loosest first.
const LEVELS: [&[&str]; 6] = [
    &["or"],
    &["and"],
    &["<=", ">=", "!=", "=", "<", ">", "in"],
    &["+", "-"],
    &["*", "/", "mod"],
    &["=~", "!~"],
];
const COMPARISONS: usize = 2;

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn unreadable(&self) -> String {
        match self.rest().trim() {
            "" => format!(
                "`yaql` cannot read `{}`: it ends too early",
                shown(self.text.trim())
            ),
            rest => format!("`yaql` cannot read `{}`", shown(rest)),
        }
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Skips a sign or a word, if it comes next. True if it was skipped.
    fn take(&mut self, token: &str) -> bool {
        self.blank();
        let Some(after) = self.rest().strip_prefix(token) else {
            return false;
        };
        let word = token.starts_with(|c: char| c.is_alphabetic());
        let goes_on = after.starts_with(is_word);
        let other = match token {
            "=" => after.starts_with(['>', '~']),
            "-" => after.starts_with('>'),
            _ => false,
        };
        if (word && goes_on) || other {
            return false;
        }
        self.at += token.len();
        true
    }

    fn must(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.unreadable())
        }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_deep(format_args!(
                "at most {DEPTH_MAX} brackets and signs within each other"
            )));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Adds a level above parts of these heights.
    fn above(&mut self, parts: [usize; 2]) -> Result<(), String> {
        self.height = parts[0].max(parts[1]) + 1;
        if self.height > HEIGHT_MAX {
            Err(too_deep(format_args!(
                "at most {HEIGHT_MAX} operators, keys and calls in one chain"
            )))
        } else {
            Ok(())
        }
    }

    /// Parses `left -> right`, right-associative.
    fn expression(&mut self) -> Result<Tree, String> {
        self.deeper(|parser| {
            let left = parser.level(0)?;
            if parser.take("->") {
                let height = parser.height;
                let right = parser.expression()?;
                parser.above([height, parser.height])?;
                return Ok(Tree::Binary("->", Box::new(left), Box::new(right)));
            }
            Ok(left)
        })
    }

    fn argument(&mut self) -> Result<Tree, String> {
        let key = self.expression()?;
        if self.take("=>") {
            let height = self.height;
            let value = self.expression()?;
            self.above([height, self.height])?;
            return Ok(Tree::Pair(Box::new(key), Box::new(value)));
        }
        Ok(key)
    }

    fn level(&mut self, level: usize) -> Result<Tree, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.take(operator)) {
            let height = self.height;
            let right = self.level(level + 1)?;
            self.above([height, self.height])?;
            left = Tree::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Tree, String> {
        if self.take("not") {
            // `not` applies to the whole comparison that follows.
            let inner = self.deeper(|parser| parser.level(COMPARISONS))?;
            self.above([self.height, 0])?;
            return Ok(Tree::Unary("not", Box::new(inner)));
        }
        for sign in ["-", "+"] {
            if self.take(sign) {
                let inner = self.deeper(Self::unary)?;
                self.above([self.height, 0])?;
                return Ok(Tree::Unary(
                    if sign == "-" { "-" } else { "+" },
                    Box::new(inner),
                ));
            }
        }
        let mut tree = self.atom()?;
        loop {
            if self.take("?.") {
                let right = self.member(Tree::Before)?;
                self.above([self.height, 0])?;
                tree = Tree::Elvis(Box::new(tree), Box::new(right));
            } else if self.take(".") {
                tree = self.member(tree)?;
            } else if self.take("[") {
                let height = self.height;
                let arguments = self.arguments("]")?;
                self.above([height, self.height])?;
                tree = Tree::Index(Box::new(tree), arguments);
            } else {
                return Ok(tree);
            }
        }
    }

    /// Parses the part after a dot.
    fn member(&mut self, of: Tree) -> Result<Tree, String> {
        self.blank();
        let height = self.height;
        let name = self.word().ok_or_else(|| self.unreadable())?;
        if self.rest().starts_with('(') {
            self.at += 1;
            let arguments = self.arguments(")")?;
            self.above([height, self.height])?;
            return Ok(Tree::Method(Box::new(of), name, arguments));
        }
        self.above([height, 0])?;
        Ok(Tree::Key(Box::new(of), name))
    }

    fn atom(&mut self) -> Result<Tree, String> {
        self.blank();
        self.height = 0;
        match self.rest().chars().next() {
            Some('$') => {
                self.at += 1;
                let name = self.word().unwrap_or_else(|| "1".to_owned());
                Ok(Tree::Variable(name))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.expression()?;
                self.must(")")?;
                Ok(inner)
            }
            Some('[') => {
                self.at += 1;
                let items = self.arguments("]")?;
                self.above([self.height, 0])?;
                Ok(Tree::List(items))
            }
            Some('{') => {
                self.at += 1;
                let pairs = self.arguments("}")?;
                self.above([self.height, 0])?;
                Ok(Tree::Map(pairs))
            }
            Some(quote @ ('\'' | '"' | '`')) => self.quoted(quote),
            Some(digit) if digit.is_ascii_digit() => self.number(),
            Some(_) => {
                let word = self.word().ok_or_else(|| self.unreadable())?;
                if self.rest().starts_with('(') {
                    self.at += 1;
                    let arguments = self.arguments(")")?;
                    self.above([self.height, 0])?;
                    return Ok(Tree::Call(word, arguments));
                }
                Ok(match word.as_str() {
                    "true" => Tree::Value(true.into()),
                    "false" => Tree::Value(false.into()),
                    "null" => Tree::Value(Value::Null),
                    _ => Tree::Word(word),
                })
            }
            None => Err(self.unreadable()),
        }
    }

    /// Parses the arguments after an opening bracket. The height is that of the highest argument.
    fn arguments(&mut self, close: &str) -> Result<Vec<Tree>, String> {
        let mut items = Vec::new();
        let mut height = 0;
        self.height = 0;
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(self.argument()?);
            height = height.max(self.height);
            if self.take(close) {
                self.height = height;
                return Ok(items);
            }
            self.must(",")?;
        }
    }

    fn word(&mut self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = rest[..end].to_owned();
        self.at += end;
        (!word.is_empty()).then_some(word)
    }

    fn number(&mut self) -> Result<Tree, String> {
        let rest = self.rest();
        let digits = |text: &str| {
            text.find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len())
        };
        let mut end = digits(rest);
        let fraction = rest[end..].strip_prefix('.').unwrap_or_default();
        if fraction.starts_with(|c: char| c.is_ascii_digit()) {
            end += 1 + digits(fraction);
        }
        let text = &rest[..end];
        let number = match text.parse::<i64>() {
            Ok(whole) => Some(Number::from(whole)),
            Err(_) => text.parse().ok().and_then(Number::from_f64),
        };
        let number = number.filter(|_| !rest[end..].starts_with(is_word));
        let number = number.ok_or_else(|| self.unreadable())?;
        self.at += end;
        Ok(Tree::Value(Value::Number(number)))
    }

    fn quoted(&mut self, quote: char) -> Result<Tree, String> {
        let inner = &self.text[self.at + 1..];
        let mut escaped = false;
        let end = inner.char_indices().find(|(_, c)| {
            let ends = *c == quote && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else {
            self.at = self.text.len();
            return Err(self.unreadable());
        };
        let text = match quote {
            '`' => inner[..end].replace("\\`", "`"),
            _ => unescaped(&inner[..end]),
        };
        self.at += end + 2;
        Ok(Tree::Value(Value::String(text)))
    }
}

fn too_deep(limit: std::fmt::Arguments<'_>) -> String {
    format!("an expression of `yaql` is too deep: {limit}; let parts of it be values of `data`")
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Text with escapes replaced. A backslash before another character stays, so that patterns need no second backslash.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let code = |from: usize, length: usize, radix: u32| {
            let digits = after.get(from..from + length)?;
            let all = digits.chars().all(|c| c.is_digit(radix));
            let code = u32::from_str_radix(digits, radix).ok().filter(|_| all)?;
            Some((char::from_u32(code)?, from + length))
        };
        let octal = after.chars().take(3).take_while(|c| c.is_digit(8)).count();
        let found = match after.chars().next() {
            Some(c @ ('\\' | '\'' | '"')) => Some((c, 1)),
            Some('a') => Some(('\u{7}', 1)),
            Some('b') => Some(('\u{8}', 1)),
            Some('f') => Some(('\u{c}', 1)),
            Some('n') => Some(('\n', 1)),
            Some('r') => Some(('\r', 1)),
            Some('t') => Some(('\t', 1)),
            Some('v') => Some(('\u{b}', 1)),
            Some('x') => code(1, 2, 16),
            Some('u') => code(1, 4, 16),
            Some('U') => code(1, 8, 16),
            Some(_) if octal > 0 => code(0, octal, 8),
            _ => None,
        };
        let (c, length) = found.unwrap_or(('\\', 0));
        out.push(c);
        rest = &after[length..];
    }
    out + rest
}

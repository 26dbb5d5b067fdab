//! From text to a tree.

use serde_json::{Number, Value};

use crate::text::shown;

/// Brackets within each other.
const DEPTH_MAX: usize = 40;

/// An expression.
#[derive(Debug)]
pub(super) enum Tree {
    /// `$`.
    Current,
    Value(Value),
    /// A word that stands alone: a key, or a text without quotes.
    Word(String),
    Key(Box<Tree>, String),
    Index(Box<Tree>, Box<Tree>),
    Method(Box<Tree>, String, Vec<Tree>),
    Call(String, Vec<Tree>),
    List(Vec<Tree>),
    Map(Vec<Tree>),
    /// `key => value`.
    Pair(Box<Tree>, Box<Tree>),
    Not(Box<Tree>),
    Minus(Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
}

pub(super) fn parse(text: &str) -> Result<Tree, String> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    let tree = parser.pair()?;
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
}

/// Loosest first.
const LEVELS: [&[&str]; 5] = [
    &["or"],
    &["and"],
    &["<=", ">=", "!=", "=", "<", ">", "in"],
    &["+", "-"],
    &["*", "/", "mod"],
];

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
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Past a sign or a word, if it comes next.
    fn take(&mut self, token: &str) -> bool {
        self.blank();
        let Some(after) = self.rest().strip_prefix(token) else {
            return false;
        };
        let word = token.starts_with(|c: char| c.is_alphabetic());
        let goes_on = after.starts_with(is_word);
        let other = matches!(token, "=" | "-") && after.starts_with('>');
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
            return Err("an expression of `yaql` is too deep".to_owned());
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn pair(&mut self) -> Result<Tree, String> {
        self.deeper(|parser| {
            let key = parser.level(0)?;
            if parser.take("=>") {
                let value = parser.level(0)?;
                return Ok(Tree::Pair(Box::new(key), Box::new(value)));
            }
            Ok(key)
        })
    }

    fn level(&mut self, level: usize) -> Result<Tree, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        if level == 2 && self.take("not") {
            let inner = self.deeper(|parser| parser.level(2))?;
            return Ok(Tree::Not(Box::new(inner)));
        }
        let mut left = self.level(level + 1)?;
        while let Some(operator) = operators.iter().find(|operator| self.take(operator)) {
            let right = self.level(level + 1)?;
            left = Tree::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Tree, String> {
        if self.take("-") {
            let inner = self.deeper(Self::unary)?;
            return Ok(Tree::Minus(Box::new(inner)));
        }
        let mut tree = self.atom()?;
        loop {
            // A method or key follows its value at once.
            if self.rest().starts_with('.') {
                self.at += 1;
                let name = self.word().ok_or_else(|| self.unreadable())?;
                tree = if self.rest().starts_with('(') {
                    let arguments = self.arguments("(", ")")?;
                    Tree::Method(Box::new(tree), name, arguments)
                } else {
                    Tree::Key(Box::new(tree), name)
                };
            } else if self.rest().starts_with('[') {
                self.at += 1;
                let index = self.pair()?;
                self.must("]")?;
                tree = Tree::Index(Box::new(tree), Box::new(index));
            } else {
                return Ok(tree);
            }
        }
    }

    fn atom(&mut self) -> Result<Tree, String> {
        self.blank();
        let first = self.rest().chars().next();
        match first {
            Some('$') if !self.rest()[1..].starts_with(is_word) => {
                self.at += 1;
                Ok(Tree::Current)
            }
            Some('(') => {
                self.at += 1;
                let inner = self.pair()?;
                self.must(")")?;
                Ok(inner)
            }
            Some('[') => self.arguments("[", "]").map(Tree::List),
            Some('{') => self.arguments("{", "}").map(Tree::Map),
            Some(quote @ ('\'' | '"')) => self.quoted(quote),
            Some(digit) if digit.is_ascii_digit() => self.number(),
            Some(_) => {
                let word = self.word().ok_or_else(|| self.unreadable())?;
                Ok(match word.as_str() {
                    "true" => Tree::Value(true.into()),
                    "false" => Tree::Value(false.into()),
                    "null" => Tree::Value(Value::Null),
                    _ if self.rest().starts_with('(') => {
                        Tree::Call(word, self.arguments("(", ")")?)
                    }
                    _ => Tree::Word(word),
                })
            }
            None => Err(self.unreadable()),
        }
    }

    fn arguments(&mut self, open: &str, close: &str) -> Result<Vec<Tree>, String> {
        self.must(open)?;
        let mut items = Vec::new();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(self.pair()?);
            if self.take(close) {
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
        let mut end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let fraction = rest[end..].strip_prefix('.').unwrap_or_default();
        if fraction.starts_with(|c: char| c.is_ascii_digit()) {
            end += 1 + fraction
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(fraction.len());
        }
        let text = &rest[..end];
        let number = match text.parse::<i64>() {
            Ok(whole) => Some(Number::from(whole)),
            Err(_) => text.parse().ok().and_then(Number::from_f64),
        };
        let number = number.ok_or_else(|| self.unreadable())?;
        self.at += end;
        Ok(Tree::Value(Value::Number(number)))
    }

    fn quoted(&mut self, quote: char) -> Result<Tree, String> {
        let mut text = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                c if c == quote => {
                    self.at += 1 + offset + c.len_utf8();
                    return Ok(Tree::Value(Value::String(text)));
                }
                other => text.push(other),
            }
        }
        self.at = self.text.len();
        Err(self.unreadable())
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

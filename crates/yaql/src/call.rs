//! A call of a function or method, and its arguments.
//!
//! As in YAQL, an argument is given by position or by name (`split(':', maxSplits => 1)`). A predicate or selector
//! (`where`, `select`) is an expression that is evaluated for each item, with the item as `$`.

use std::rc::Rc;

use serde_json::Value;

use crate::{
    parse::Tree,
    shown,
    signatures::{ALL, Form, REST},
    value::{Frame, YaqlValue, key_text},
};

/// Function of the interpreter that evaluates an expression.
pub(super) type Evaluate = fn(&Tree, &Rc<Frame>) -> Result<YaqlValue, String>;

/// Call with its arguments by position.
pub(super) struct Call<'t> {
    pub name: &'static str,
    places: Vec<Option<&'t Tree>>,
    pub rest: Vec<&'t Tree>,
    pub frame: &'t Rc<Frame>,
    evaluate: Evaluate,
}

impl<'t> Call<'t> {
    pub(super) fn of(
        name: &str,
        forms: &[Form],
        arguments: &[&'t Tree],
        frame: &'t Rc<Frame>,
        evaluate: Evaluate,
    ) -> Result<Call<'t>, String> {
        let known = ALL
            .iter()
            .find(|(one, form, _)| *one == name && forms.contains(form));
        let Some((name, _, names)) = known else {
            return Err(format!("`{}` of `yaql` is not supported", shown(name)));
        };
        let mut call = Call {
            name,
            places: vec![None; names.len()],
            rest: Vec::new(),
            frame,
            evaluate,
        };
        if names.first() == Some(&REST) {
            call.rest = arguments.to_vec();
            return Ok(call);
        }
        for (index, argument) in arguments.iter().enumerate() {
            let (place, value) = match argument {
                Tree::Pair(key, value) => match key.as_ref() {
                    Tree::Word(word) => (names.iter().position(|one| one == word), value.as_ref()),
                    _ => (None, value.as_ref()),
                },
                plain => (Some(index), *plain),
            };
            match place.and_then(|place| call.places.get_mut(place)) {
                Some(free @ None) => *free = Some(value),
                _ => {
                    return Err(format!(
                        "`{name}` of `yaql` takes {}",
                        match names.len() {
                            0 => "no argument".to_owned(),
                            _ => format!("`{}`", names.join("`, `")),
                        }
                    ));
                }
            }
        }
        Ok(call)
    }

    pub(super) fn has(&self, place: usize) -> bool {
        self.tree(place).is_some()
    }

    fn tree(&self, place: usize) -> Option<&'t Tree> {
        self.places.get(place).copied().flatten()
    }

    pub(super) fn lacks(&self) -> String {
        format!("`{}` of `yaql` lacks an argument", self.name)
    }

    /// Message that `name` does not support this value.
    pub(super) fn wrong(&self, with: &YaqlValue) -> String {
        format!(
            "`{}` of `yaql` cannot work with `{}`",
            self.name,
            with.shown()
        )
    }

    /// Value of an argument.
    pub(super) fn evaluate(&self, tree: &Tree) -> Result<YaqlValue, String> {
        (self.evaluate)(tree, self.frame)
    }

    pub(super) fn got(&self, place: usize) -> Result<Option<YaqlValue>, String> {
        let tree = self.tree(place);
        tree.map(|tree| self.evaluate(tree)).transpose()
    }

    pub(super) fn need(&self, place: usize) -> Result<YaqlValue, String> {
        self.got(place)?.ok_or_else(|| self.lacks())
    }

    pub(super) fn value(&self, place: usize) -> Result<Value, String> {
        self.need(place)?.value()
    }

    /// Value of a text argument. `None` if it is not given, or null.
    pub(super) fn text(&self, place: usize) -> Result<Option<String>, String> {
        match self.got(place)? {
            None | Some(YaqlValue::Data(Value::Null)) => Ok(None),
            Some(YaqlValue::Data(Value::String(text))) => Ok(Some(text)),
            Some(other) => Err(self.wrong(&other)),
        }
    }

    pub(super) fn integer(&self, place: usize, otherwise: i64) -> Result<i64, String> {
        match self.got(place)? {
            None => Ok(otherwise),
            Some(YaqlValue::Data(Value::Number(number))) if number.is_i64() => {
                Ok(number.as_i64().unwrap_or(otherwise))
            }
            Some(YaqlValue::Data(Value::Bool(truth))) => Ok(truth.into()),
            Some(other) => Err(self.wrong(&other)),
        }
    }

    /// Values of the remaining arguments.
    pub(super) fn values(&self) -> Result<Vec<YaqlValue>, String> {
        self.rest.iter().map(|tree| self.evaluate(tree)).collect()
    }

    /// Argument that is evaluated for each item.
    pub(super) fn lambda(
        &self,
        place: usize,
    ) -> Option<impl Fn(&[YaqlValue]) -> Result<YaqlValue, String> + 't> {
        let (tree, frame, evaluate) = (self.tree(place)?, self.frame, self.evaluate);
        Some(move |arguments: &[YaqlValue]| evaluate(tree, &Frame::with(frame, arguments)?))
    }

    pub(super) fn need_lambda(
        &self,
        place: usize,
    ) -> Result<impl Fn(&[YaqlValue]) -> Result<YaqlValue, String> + 't, String> {
        self.lambda(place).ok_or_else(|| self.lacks())
    }

    /// Like [`Call::need_lambda`], evaluated in a given frame.
    pub(super) fn in_frame(
        &self,
        place: usize,
    ) -> Option<impl Fn(&Rc<Frame>) -> Result<YaqlValue, String> + 't> {
        let (tree, evaluate) = (self.tree(place)?, self.evaluate);
        Some(move |frame: &Rc<Frame>| evaluate(tree, frame))
    }

    /// Map of the remaining arguments.
    pub(super) fn map(&self) -> Result<Value, String> {
        map(self.rest.iter().copied(), |tree| self.evaluate(tree))
    }
}

/// Map of `key => value` pairs.
pub(super) fn map<'t>(
    pairs: impl Iterator<Item = &'t Tree>,
    evaluate: impl Fn(&Tree) -> Result<YaqlValue, String>,
) -> Result<Value, String> {
    let mut map = serde_json::Map::new();
    for pair in pairs {
        let Tree::Pair(key, value) = pair else {
            return Err("a map of `yaql` consists of `key => value`".to_owned());
        };
        let key = key_text(&evaluate(key)?.value()?);
        map.insert(key, evaluate(value)?.value()?);
    }
    Ok(map.into())
}

//! Functions and methods: which there are, what they take, and who does them.
//!
//! As in YAQL an argument is given by its place or by its name (`split(':', maxSplits => 1)`), and one that decides about items
//! (`where`, `select`) is an expression that is evaluated for each of them, with the item as `$`.

use std::rc::Rc;

use serde_json::Value;

use super::{
    evaluate::{self, evaluate},
    functions, lists, maps,
    parse::Tree,
    regex, texts,
    value::{Frame, Got},
};
use crate::shown;

/// How it may be called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `name(arguments)`.
    Function,
    /// `value.name(arguments)`.
    Method,
    /// Both: the value comes first.
    Either,
}

use Form::{Either, Function, Method};

/// Any number of further arguments.
const REST: &str = "*";

/// Names, forms and arguments, without the value that a method is of.
#[rustfmt::skip]
const ALL: &[(&str, Form, &[&str])] = &[
    // What decides.
    ("bool", Function, &["value"]), ("coalesce", Function, &[REST]), ("examine", Function, &[REST]),
    ("selectAllCases", Function, &[REST]), ("selectCase", Function, &[REST]), ("switch", Function, &[REST]),
    ("switchCase", Method, &[REST]), ("let", Function, &[REST]), ("with", Function, &[REST]), ("unpack", Method, &[REST]),
    ("assert", Method, &["condition", "message"]), ("isBoolean", Function, &["value"]),
    // Numbers.
    ("abs", Function, &["op"]), ("int", Function, &["value"]), ("float", Function, &["value"]),
    ("max", Function, &["a", "b"]), ("min", Function, &["a", "b"]), ("pow", Function, &["a", "b", "c"]),
    ("sign", Function, &["num"]), ("round", Function, &["number", "ndigits"]), ("isInteger", Function, &["value"]),
    ("isNumber", Function, &["value"]), ("bitwiseAnd", Function, &["left", "right"]), ("bitwiseOr", Function, &["left", "right"]),
    ("bitwiseXor", Function, &["left", "right"]), ("bitwiseNot", Function, &["arg"]),
    ("shiftBitsLeft", Function, &["value", "bitsNumber"]), ("shiftBitsRight", Function, &["value", "bitsNumber"]),
    ("hex", Function, &["num"]),
    // Makers.
    ("list", Function, &[REST]), ("dict", Function, &[REST]), ("set", Function, &[REST]), ("range", Function, &["start", "stop", "step"]),
    ("concat", Function, &[REST]), ("str", Function, &["value"]), ("regex", Function, &["pattern", "ignoreCase", "multiLine", "dotAll"]),
    ("escapeRegex", Function, &["string"]), ("isRegex", Function, &["value"]), ("isString", Function, &["arg"]),
    ("isList", Function, &["arg"]), ("isDict", Function, &["arg"]), ("isSet", Function, &["arg"]), ("isIterable", Function, &["value"]),
    ("generate", Function, &["initial", "predicate", "producer", "selector"]),
    // Texts.
    ("toUpper", Method, &[]), ("toLower", Method, &[]), ("rightSplit", Method, &["separator", "maxSplits"]),
    ("trim", Method, &["chars"]), ("trimLeft", Method, &["chars"]), ("trimRight", Method, &["chars"]),
    ("norm", Either, &["chars"]), ("isEmpty", Either, &["trim", "chars"]), ("format", Either, &[REST]),
    ("substring", Method, &["start", "length"]), ("toCharArray", Method, &[]), ("startsWith", Method, &[REST]),
    ("endsWith", Method, &[REST]), ("split", Method, &["separator", "maxSplits"]), ("replace", Method, &["old", "new", "count"]),
    ("matches", Method, &["regexp"]), ("search", Method, &["string", "selector"]), ("searchAll", Method, &["string", "selector"]),
    ("replaceBy", Method, &["string", "repl", "count"]),
    // Maps.
    ("get", Method, &["key", "default"]), ("set", Method, &[REST]), ("keys", Method, &[]), ("values", Method, &[]), ("items", Method, &[]),
    ("containsKey", Method, &["key"]), ("containsValue", Method, &["value"]), ("deleteAll", Method, &["keys"]),
    ("mergeWith", Method, &["another", "listMerger", "itemMerger", "maxLevels"]),
    // Lists.
    ("len", Either, &[]), ("count", Method, &[]), ("memorize", Method, &[]), ("where", Method, &["predicate"]), ("filter", Method, &["predicate"]),
    ("select", Method, &["selector"]), ("map", Method, &["selector"]), ("skip", Method, &["count"]), ("limit", Method, &["count"]),
    ("take", Method, &["count"]), ("append", Either, &[REST]), ("distinct", Either, &["keySelector"]), ("enumerate", Either, &["start"]),
    ("any", Either, &["predicate"]), ("all", Either, &["predicate"]), ("concat", Method, &[REST]), ("sum", Method, &["initial"]),
    ("max", Method, &["initial"]), ("min", Method, &["initial"]), ("first", Method, &["default"]), ("single", Method, &[]),
    ("last", Method, &["default"]), ("selectMany", Method, &["selector"]), ("orderBy", Method, &["selector"]),
    ("orderByDescending", Method, &["selector"]), ("thenBy", Method, &["selector"]), ("thenByDescending", Method, &["selector"]),
    ("groupBy", Method, &["keySelector", "valueSelector", "aggregator"]), ("join", Method, &["separator", "predicate", "selector"]),
    ("zip", Method, &[REST]), ("zipLongest", Method, &[REST]), ("repeat", Method, &["times"]), ("takeWhile", Method, &["predicate"]),
    ("skipWhile", Method, &["predicate"]), ("indexOf", Method, &["item", "start", "length"]), ("lastIndexOf", Method, &["item", "start", "length"]),
    ("indexWhere", Method, &["predicate"]), ("lastIndexWhere", Method, &["predicate"]), ("slice", Method, &["length"]),
    ("splitWhere", Method, &["predicate"]), ("sliceWhere", Method, &["predicate"]), ("splitAt", Method, &["index"]),
    ("aggregate", Method, &["selector", "seed"]), ("reduce", Method, &["selector", "seed"]), ("accumulate", Method, &["selector", "seed"]),
    ("reverse", Method, &[]), ("defaultIfEmpty", Method, &["default"]), ("flatten", Method, &[]), ("toList", Method, &[]),
    ("toSet", Method, &[]), ("toDict", Method, &["keySelector", "valueSelector"]), ("contains", Method, &["value"]),
    ("delete", Method, &[REST]), ("replaceMany", Method, &["position", "values", "count"]), ("insert", Method, &["position", "value"]),
    ("insertMany", Method, &["position", "values"]), ("union", Method, &["right"]), ("intersect", Method, &["right"]),
    ("difference", Method, &["right"]), ("symmetricDifference", Method, &["right"]), ("add", Method, &[REST]), ("remove", Method, &[REST]),
];

/// How each is called, as the page for authors has it.
#[cfg(test)]
pub(super) fn signatures() -> Vec<String> {
    let all = ALL.iter().map(|(name, form, arguments)| {
        let of = match form {
            Function => "",
            Method | Either => "value.",
        };
        let arguments = arguments.join(", ").replace(REST, "...");
        format!("{of}{name}({arguments})")
    });
    all.collect()
}

/// `of.name(arguments)`.
pub(super) fn method(
    of: Got,
    name: &str,
    arguments: &[Tree],
    frame: &Rc<Frame>,
) -> Result<Got, String> {
    let arguments: Vec<&Tree> = arguments.iter().collect();
    let call = Call::of(name, &[Method, Either], &arguments, frame)?;
    call.on(of)
}

/// `name(arguments)`.
pub(super) fn function(name: &str, arguments: &[Tree], frame: &Rc<Frame>) -> Result<Got, String> {
    let arguments: Vec<&Tree> = arguments.iter().collect();
    let is_either = ALL
        .iter()
        .any(|(one, form, _)| *one == name && *form == Either);
    if let (true, Some((first, rest))) = (is_either, arguments.split_first()) {
        let of = evaluate(first, frame)?;
        return Call::of(name, &[Either], rest, frame)?.on(of);
    }
    functions::call(&Call::of(name, &[Function], &arguments, frame)?)
}

/// A call with its arguments in their places.
pub(super) struct Call<'t> {
    pub name: &'static str,
    places: Vec<Option<&'t Tree>>,
    pub rest: Vec<&'t Tree>,
    pub frame: &'t Rc<Frame>,
}

impl<'t> Call<'t> {
    fn of(
        name: &str,
        forms: &[Form],
        arguments: &[&'t Tree],
        frame: &'t Rc<Frame>,
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

    /// Who does it hangs on what it is called on.
    fn on(self, of: Got) -> Result<Got, String> {
        if let Some(done) = maps::call(&self, &of)
            .or_else(|| regex::call(&self, &of))
            .or_else(|| texts::call(&self, &of))
        {
            return done;
        }
        lists::call(&self, of)
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

    /// `name` cannot work with that.
    pub(super) fn wrong(&self, with: &Got) -> String {
        format!(
            "`{}` of `yaql` cannot work with `{}`",
            self.name,
            with.shown()
        )
    }

    pub(super) fn got(&self, place: usize) -> Result<Option<Got>, String> {
        let tree = self.tree(place);
        tree.map(|tree| evaluate(tree, self.frame)).transpose()
    }

    pub(super) fn need(&self, place: usize) -> Result<Got, String> {
        self.got(place)?.ok_or_else(|| self.lacks())
    }

    pub(super) fn value(&self, place: usize) -> Result<Value, String> {
        self.need(place)?.value()
    }

    /// A text; nothing where it is not given, or null.
    pub(super) fn text(&self, place: usize) -> Result<Option<String>, String> {
        match self.got(place)? {
            None | Some(Got::Data(Value::Null)) => Ok(None),
            Some(Got::Data(Value::String(text))) => Ok(Some(text)),
            Some(other) => Err(self.wrong(&other)),
        }
    }

    pub(super) fn integer(&self, place: usize, otherwise: i64) -> Result<i64, String> {
        match self.got(place)? {
            None => Ok(otherwise),
            Some(Got::Data(Value::Number(number))) if number.is_i64() => {
                Ok(number.as_i64().unwrap_or(otherwise))
            }
            Some(Got::Data(Value::Bool(truth))) => Ok(truth.into()),
            Some(other) => Err(self.wrong(&other)),
        }
    }

    /// The further arguments, evaluated.
    pub(super) fn values(&self) -> Result<Vec<Got>, String> {
        self.rest
            .iter()
            .map(|tree| evaluate(tree, self.frame))
            .collect()
    }

    /// What is evaluated for each item.
    pub(super) fn lambda(
        &self,
        place: usize,
    ) -> Option<impl Fn(&[Got]) -> Result<Got, String> + 't> {
        let (tree, frame) = (self.tree(place)?, self.frame);
        Some(move |arguments: &[Got]| evaluate(tree, &Frame::with(frame, arguments)?))
    }

    pub(super) fn need_lambda(
        &self,
        place: usize,
    ) -> Result<impl Fn(&[Got]) -> Result<Got, String> + 't, String> {
        self.lambda(place).ok_or_else(|| self.lacks())
    }

    /// Like [`Call::need_lambda`], in names of its own.
    pub(super) fn in_frame(
        &self,
        place: usize,
    ) -> Option<impl Fn(&Rc<Frame>) -> Result<Got, String> + 't> {
        let tree = self.tree(place)?;
        Some(move |frame: &Rc<Frame>| evaluate(tree, frame))
    }

    pub(super) fn map(&self) -> Result<Value, String> {
        let mut map = serde_json::Map::new();
        for tree in &self.rest {
            let entry = evaluate::map(std::slice::from_ref(*tree), self.frame)?;
            if let Value::Object(entry) = entry {
                map.extend(entry);
            }
        }
        Ok(map.into())
    }
}

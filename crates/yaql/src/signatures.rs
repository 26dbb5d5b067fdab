//! Functions and methods, with their arguments.

/// Form of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `name(arguments)`.
    Function,
    /// `value.name(arguments)`.
    Method,
    /// Both; as a function, the value is the first argument.
    Either,
}

use Form::{Either, Function, Method};

/// Any number of further arguments.
pub(super) const REST: &str = "*";

/// Name, form and arguments of each function and method, without the value that a method is called on.
#[rustfmt::skip]
pub(super) const ALL: &[(&str, Form, &[&str])] = &[
    // Conditions.
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
    // Constructors.
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

/// Signatures in the form of the page for authors.
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

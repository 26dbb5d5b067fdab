//! Functions and methods, by the value that they are called on.
//!
//! The functions use the interpreter only through the [`Evaluate`] of a call.

mod free;
mod lists;
mod maps;
mod patterns;
mod texts;

use std::rc::Rc;

use crate::{
    call::{Call, Evaluate},
    parse::Tree,
    signatures::{ALL, Form},
    value::{Frame, YaqlValue},
};

/// Calls `of.name(arguments)`.
pub(super) fn method(
    of: YaqlValue,
    name: &str,
    arguments: &[Tree],
    frame: &Rc<Frame>,
    evaluate: Evaluate,
) -> Result<YaqlValue, String> {
    let arguments: Vec<&Tree> = arguments.iter().collect();
    let forms = [Form::Method, Form::Either];
    apply(&Call::of(name, &forms, &arguments, frame, evaluate)?, of)
}

/// Calls `name(arguments)`.
pub(super) fn function(
    name: &str,
    arguments: &[Tree],
    frame: &Rc<Frame>,
    evaluate: Evaluate,
) -> Result<YaqlValue, String> {
    let arguments: Vec<&Tree> = arguments.iter().collect();
    let is_either = ALL
        .iter()
        .any(|(one, form, _)| *one == name && *form == Form::Either);
    if let (true, Some((first, rest))) = (is_either, arguments.split_first()) {
        let of = evaluate(first, frame)?;
        return apply(&Call::of(name, &[Form::Either], rest, frame, evaluate)?, of);
    }
    free::call(&Call::of(
        name,
        &[Form::Function],
        &arguments,
        frame,
        evaluate,
    )?)
}

/// Selects the function of this name by the type of the value, and calls it.
fn apply(call: &Call<'_>, of: YaqlValue) -> Result<YaqlValue, String> {
    if let Some(done) = maps::call(call, &of)
        .or_else(|| patterns::call(call, &of))
        .or_else(|| texts::call(call, &of))
    {
        return done;
    }
    lists::call(call, of)
}

//! The functions and methods, by the value that they are called on.
//!
//! They know the interpreter only as the [`Evaluate`] that a call carries.

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
    value::{Frame, Got},
};

/// `of.name(arguments)`.
pub(super) fn method(
    of: Got,
    name: &str,
    arguments: &[Tree],
    frame: &Rc<Frame>,
    evaluate: Evaluate,
) -> Result<Got, String> {
    let arguments: Vec<&Tree> = arguments.iter().collect();
    let forms = [Form::Method, Form::Either];
    apply(&Call::of(name, &forms, &arguments, frame, evaluate)?, of)
}

/// `name(arguments)`.
pub(super) fn function(
    name: &str,
    arguments: &[Tree],
    frame: &Rc<Frame>,
    evaluate: Evaluate,
) -> Result<Got, String> {
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

/// The value decides which of the functions of this name is called.
fn apply(call: &Call<'_>, of: Got) -> Result<Got, String> {
    if let Some(done) = maps::call(call, &of)
        .or_else(|| patterns::call(call, &of))
        .or_else(|| texts::call(call, &of))
    {
        return done;
    }
    lists::call(call, of)
}

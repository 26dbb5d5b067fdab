//! Results of functions with known arguments. One file per group of functions.
//!
//! All results are as in Heat, including Python's text form of booleans and maps. Their size is limited, so that a
//! template of a few lines cannot exhaust the memory.

use serde_json::Value;

use super::{
    Expr, arguments,
    function::Function::{self, *},
};
use crate::version::Version;

mod cfn;
mod collections;
mod digest;
mod repeat;
mod text;
mod url;

pub(super) use yaql::TEXT_BYTES_MAX;
/// Maximum number of items in a function's result.
pub(super) const ITEMS_MAX: usize = 100_000;

/// Value of a call in a template of this version. The error describes the problem of its arguments.
pub(super) fn evaluate(
    function: Function,
    arguments: Value,
    version: Version,
) -> Result<Value, String> {
    // Arguments that are results of functions are not checked yet.
    let arguments = Expr::data(arguments);
    arguments::check(function, &arguments, version)?;
    // Since this version, maps and lists become JSON in texts.
    let json = version >= Version::V2015_10_15;
    let arguments = arguments.into_data();
    match function {
        StrReplace => text::replace(function, arguments, text::Strict::No, json),
        StrReplaceStrict => text::replace(function, arguments, text::Strict::Words, json),
        StrReplaceVstrict => text::replace(function, arguments, text::Strict::WordsAndValues, json),
        ListJoin => text::join(function, arguments, json),
        StrSplit => text::split(arguments),
        Digest => digest::digest(arguments),
        Repeat => repeat::repeat(arguments),
        MapMerge => collections::merge(arguments),
        MapReplace => collections::replace(arguments),
        ListConcat => collections::concat(arguments, collections::Duplicates::Keep),
        ListConcatUnique => collections::concat(arguments, collections::Duplicates::Drop),
        Filter => collections::filter(arguments),
        Contains => collections::contains(arguments),
        MakeUrl => url::make(arguments),
        Yaql => yaql::query(arguments),
        FnSelect => cfn::select(arguments),
        FnJoin => text::join(function, arguments, false),
        FnSplit => cfn::split(arguments),
        FnReplace => cfn::replace(arguments),
        FnBase64 => Ok(arguments),
        FnMemberListToMap => cfn::member_list_to_map(arguments),
        TypedArgument => crate::parameter::given(arguments),
        // References, conditions and functions of the scope are resolved before.
        GetParam | GetResource | GetAttr | GetFile | ResourceFacade | If | Equals | Not | And
        | Or | FnGetAzs | FnResourceFacade | Ref => Err(format!(
            "`{}` takes {}",
            function.name(),
            arguments::wanted(function, Version::default())
        )),
    }
}

/// The items of a list.
fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

fn too_long(function: Function) -> String {
    format!(
        "`{}` would give more than {} MiB of text",
        function.name(),
        TEXT_BYTES_MAX >> 20
    )
}

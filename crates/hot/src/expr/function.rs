//! Functions of HOT, with their versions.
//!
//! Heat interprets a map with one key as a call if the key is a function of the template's version, and as plain data
//! otherwise. So a template of 2013 can contain `{filter: [a, b]}` as data. If the arguments have the function's form,
//! the author probably intended a call, and a warning names the function's version. A function that a later version
//! removed is refused, as in Heat. Source: the tables of Heat's HOT template classes.

use crate::version::Version::{self, *};

/// Function of HOT. `get_param`, `get_resource` and `get_attr` with a literal name are separate variants of `Expr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `get_param` with a computed name.
    GetParam,
    /// `get_resource` with a computed name.
    GetResource,
    /// `get_attr` with a computed name.
    GetAttr,
    /// The content of a file beside the template.
    GetFile,
    /// Joins lists of texts.
    ListJoin,
    /// A value of the resource that this template implements in its parent.
    ResourceFacade,
    /// Replaces words of a text.
    StrReplace,
    /// Like `str_replace`, but every word must occur.
    StrReplaceStrict,
    /// Like `str_replace_strict`, but no value may be empty.
    StrReplaceVstrict,
    /// A list from a pattern and lists.
    Repeat,
    /// A checksum.
    Digest,
    /// A list from a text, or one item of it.
    StrSplit,
    /// Merges maps.
    MapMerge,
    /// Replaces keys and values of a map.
    MapReplace,
    /// A YAQL expression.
    Yaql,
    /// One of two values, or a value or nothing.
    If,
    /// A list without some values.
    Filter,
    /// A URL from its parts.
    MakeUrl,
    /// Concatenates lists.
    ListConcat,
    /// Concatenates lists, with each value once.
    ListConcatUnique,
    /// True if a list contains a value.
    Contains,
    /// True if two values are equal. In conditions only, like the next three.
    Equals,
    /// Negation.
    Not,
    /// True if all conditions hold.
    And,
    /// True if any condition holds.
    Or,
    /// An item of a list or map. A CloudFormation function, like the rest.
    FnSelect,
    /// Joins a list of texts.
    FnJoin,
    /// Splits a text.
    FnSplit,
    /// Replaces words of a text.
    FnReplace,
    /// Its argument, unchanged.
    FnBase64,
    /// The cloud's availability zones.
    FnGetAzs,
    /// A map from `.member.0.Name=` lines.
    FnMemberListToMap,
    /// CloudFormation's name of `resource_facade`.
    FnResourceFacade,
    /// `get_param` or `get_resource`, depending on the name. Never part of an expression: the parser replaces it by one
    /// of the two.
    Ref,
    /// Argument of a nested template's parameter, converted to the parameter's type and checked. Not a function of HOT:
    /// in a template it is plain data. See [`compose`](planner::compose).
    TypedArgument,
}

use Function::*;

/// Position of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a property, metadata, an output ...
    Value,
    /// In a condition, or the first argument of `if`.
    Condition,
}

/// Versions of a function.
pub(super) struct Entry {
    pub function: Function,
    name: &'static str,
    pub since: Version,
    /// First version without the function.
    pub until: Option<Version>,
    /// First version that allows the function in conditions.
    pub in_conditions: Option<Version>,
}

const fn entry(function: Function, name: &'static str, since: Version) -> Entry {
    Entry {
        function,
        name,
        since,
        until: None,
        in_conditions: None,
    }
}

/// CloudFormation function, removed in the second version.
const fn cfn(function: Function, name: &'static str) -> Entry {
    Entry {
        until: Some(V2014_10_16),
        ..entry(function, name, V2013_05_23)
    }
}

const fn condition(function: Function, name: &'static str, since: Version) -> Entry {
    Entry {
        in_conditions: Some(since),
        ..entry(function, name, since)
    }
}

const TABLE: [Entry; 35] = [
    Entry {
        in_conditions: Some(V2016_10_14),
        ..entry(GetParam, "get_param", V2013_05_23)
    },
    entry(GetResource, "get_resource", V2013_05_23),
    entry(GetAttr, "get_attr", V2013_05_23),
    entry(GetFile, "get_file", V2013_05_23),
    entry(ListJoin, "list_join", V2013_05_23),
    entry(ResourceFacade, "resource_facade", V2013_05_23),
    entry(StrReplace, "str_replace", V2013_05_23),
    entry(Repeat, "repeat", V2015_04_30),
    entry(Digest, "digest", V2015_04_30),
    entry(StrSplit, "str_split", V2015_10_15),
    entry(MapMerge, "map_merge", V2016_04_08),
    entry(MapReplace, "map_replace", V2016_10_14),
    Entry {
        in_conditions: Some(V2017_09_01),
        ..entry(Yaql, "yaql", V2016_10_14)
    },
    entry(If, "if", V2016_10_14),
    entry(Filter, "filter", V2017_02_24),
    entry(StrReplaceStrict, "str_replace_strict", V2017_02_24),
    entry(StrReplaceVstrict, "str_replace_vstrict", V2017_09_01),
    entry(MakeUrl, "make_url", V2017_09_01),
    entry(ListConcat, "list_concat", V2017_09_01),
    entry(ListConcatUnique, "list_concat_unique", V2017_09_01),
    condition(Contains, "contains", V2017_09_01),
    condition(Equals, "equals", V2016_10_14),
    condition(Not, "not", V2016_10_14),
    condition(And, "and", V2016_10_14),
    condition(Or, "or", V2016_10_14),
    Entry {
        until: Some(V2015_10_15),
        ..entry(FnSelect, "Fn::Select", V2013_05_23)
    },
    cfn(FnJoin, "Fn::Join"),
    cfn(FnSplit, "Fn::Split"),
    cfn(FnReplace, "Fn::Replace"),
    cfn(FnBase64, "Fn::Base64"),
    cfn(FnGetAzs, "Fn::GetAZs"),
    cfn(FnMemberListToMap, "Fn::MemberListToMap"),
    cfn(FnResourceFacade, "Fn::ResourceFacade"),
    cfn(Ref, "Ref"),
    entry(TypedArgument, "Stackloom::Given", V2013_05_23),
];

impl Function {
    /// Function by its name in HOT, of any version.
    pub fn of(name: &str) -> Option<Function> {
        table(name).map(|entry| entry.function)
    }

    /// The function's name in HOT.
    pub fn name(self) -> &'static str {
        TABLE
            .iter()
            .find(|entry| entry.function == self)
            .map_or("", |entry| entry.name)
    }

    /// First version of the function.
    pub fn since(self) -> Version {
        TABLE
            .iter()
            .find(|entry| entry.function == self)
            .map_or(V2013_05_23, |entry| entry.since)
    }

    /// True if the function takes conditions and returns a boolean.
    pub fn is_condition(self) -> bool {
        matches!(self, Equals | Not | And | Or)
    }

    /// Position of the argument at `index`, for a call at `here`.
    pub fn place_of(self, index: usize, here: Place) -> Place {
        match self {
            If if index == 0 => Place::Condition,
            If => Place::Value,
            Equals | Not | And | Or => Place::Condition,
            _ => here,
        }
    }
}

/// Names of the functions of a version, those for conditions too.
pub fn functions(version: Version) -> impl Iterator<Item = &'static str> {
    let is_there = move |entry: &&Entry| {
        entry.function != TypedArgument
            && entry.since <= version
            && entry.until.is_none_or(|until| version < until)
    };
    TABLE.iter().filter(is_there).map(|entry| entry.name)
}

/// Names of all functions that are allowed in templates.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let own = |entry: &&Entry| entry.function != TypedArgument;
    TABLE.iter().filter(own).map(|entry| entry.name)
}

/// Entry of a function of HOT, of any version.
pub(super) fn table(name: &str) -> Option<&'static Entry> {
    if name.is_empty() {
        return None;
    }
    TABLE.iter().find(|entry| entry.name == name)
}

/// True if a map with only this key can be a call in some version.
pub fn is_function(key: &str) -> bool {
    table(key)
        .is_some_and(|entry| !entry.function.is_condition() && entry.function != TypedArgument)
}

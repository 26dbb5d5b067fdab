//! Which words are functions, since which version of HOT and until which.
//!
//! Heat takes a map with one key for a call when the key is a function of the template's version, and
//! for plain data otherwise. So a template of 2013 may carry `{filter: [a, b]}` as data, and so may it
//! here; but where its arguments have the function's form a call was meant, and a warning names the
//! version that has the function. What a version had and a later one took away is refused, as in Heat.
//! Source: the tables of Heat's HOT template classes.

use super::{Expr, arguments};
use crate::version::Version::{self, *};
use yaql::shown;

/// A function of HOT. `get_param`, `get_resource` and `get_attr` are expressions of their own where
/// the name that they take is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `get_param` of a name that is itself the result of a function.
    GetParam,
    /// `get_resource`, likewise.
    GetResource,
    /// `get_attr`, likewise.
    GetAttr,
    /// The content of a file beside the template.
    GetFile,
    /// A text from lists of texts.
    ListJoin,
    /// What the resource that stands for this template in its parent says.
    ResourceFacade,
    /// Words of a text replaced.
    StrReplace,
    /// The same; every word must occur.
    StrReplaceStrict,
    /// The same; and no value may be empty.
    StrReplaceVstrict,
    /// A list from a pattern and lists.
    Repeat,
    /// A checksum.
    Digest,
    /// A list from a text, or one item of it.
    StrSplit,
    /// One map from several.
    MapMerge,
    /// Keys and values of a map replaced.
    MapReplace,
    /// An expression in YAQL.
    Yaql,
    /// One of two values, or one or nothing.
    If,
    /// A list without some values.
    Filter,
    /// A URL from its parts.
    MakeUrl,
    /// One list from several.
    ListConcat,
    /// The same, each value once.
    ListConcatUnique,
    /// Whether a list holds a value.
    Contains,
    /// Whether two values are equal. In conditions only, like the next three.
    Equals,
    /// The opposite.
    Not,
    /// Whether all hold.
    And,
    /// Whether any holds.
    Or,
    /// An item of a list or map. Of CloudFormation, like the rest.
    FnSelect,
    /// A text from a list.
    FnJoin,
    /// A list from a text.
    FnSplit,
    /// Words of a text replaced.
    FnReplace,
    /// Its argument, as it is.
    FnBase64,
    /// The cloud's availability zones.
    FnGetAzs,
    /// A map from `.member.0.Name=` lines.
    FnMemberListToMap,
    /// As `resource_facade`.
    FnResourceFacade,
    /// `get_param` or `get_resource`, whatever bears the name. Never in an expression: it is read as
    /// the one that it means.
    Ref,
    /// What a nested template's parameter is given, once that is known: as the parameter's type has it, against its constraints.
    /// No word of HOT, and plain data where a template says it: see [`compose`](planner::compose).
    Given,
}

use Function::*;

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a property, metadata, an output ...
    Value,
    /// In a condition, or the first argument of `if`.
    Condition,
}

struct Entry {
    function: Function,
    name: &'static str,
    since: Version,
    /// The first version without it.
    until: Option<Version>,
    /// The first version in whose conditions it may stand.
    in_conditions: Option<Version>,
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

/// Of CloudFormation, gone with the second version.
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
    entry(Given, "Stackloom::Given", V2013_05_23),
];

/// Functions of CloudFormation that no version of HOT ever had, and what says the same.
const NEVER: [(&str, &str); 7] = [
    ("Fn::GetAtt", "get_attr"),
    ("Fn::FindInMap", "get_param: [map, key]"),
    ("Fn::If", "if"),
    ("Fn::Equals", "equals"),
    ("Fn::Not", "not"),
    ("Fn::And", "and"),
    ("Fn::Or", "or"),
];

/// What a map with one key is.
pub enum Reading {
    /// A call.
    Call(Function),
    /// Data.
    Plain,
    /// Data for Heat, so for us, though a call was probably meant; the sentence says so.
    Data(String),
    /// A call that the version or the place does not allow; the sentence says so.
    Refused(String),
}

impl Function {
    /// By its name in HOT, of whatever version.
    pub fn of(name: &str) -> Option<Function> {
        table(name).map(|entry| entry.function)
    }

    /// Its name in HOT.
    pub fn name(self) -> &'static str {
        TABLE
            .iter()
            .find(|entry| entry.function == self)
            .map_or("", |entry| entry.name)
    }

    /// The first version that has it.
    pub fn since(self) -> Version {
        TABLE
            .iter()
            .find(|entry| entry.function == self)
            .map_or(V2013_05_23, |entry| entry.since)
    }

    /// Whether it gives a truth and takes conditions.
    pub fn is_condition(self) -> bool {
        matches!(self, Equals | Not | And | Or)
    }

    /// Where its argument at `index` stands, if it stands at `here` itself.
    pub fn place_of(self, index: usize, here: Place) -> Place {
        match self {
            If if index == 0 => Place::Condition,
            If => Place::Value,
            Equals | Not | And | Or => Place::Condition,
            _ => here,
        }
    }
}

/// What a template may call, by name.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let own = |entry: &&Entry| entry.function != Given;
    TABLE.iter().filter(own).map(|entry| entry.name)
}

fn table(name: &str) -> Option<&'static Entry> {
    if name.is_empty() {
        return None;
    }
    TABLE.iter().find(|entry| entry.name == name)
}

/// Whether a map with only this key may be a function call, in some version.
pub fn is_function(key: &str) -> bool {
    table(key).is_some_and(|entry| !entry.function.is_condition() && entry.function != Given)
}

/// What `{key: arguments}` is at a place of a template of a version.
pub fn reading(key: &str, arguments: &Expr, version: Version, place: Place) -> Reading {
    let Some(entry) = table(key).filter(|entry| entry.function != Given) else {
        return match NEVER.iter().find(|(name, _)| *name == key) {
            Some((_, instead)) => Reading::Data(format!(
                "`{key}` is a function of CloudFormation; here it is plain data, as in Heat: in HOT write `{instead}`"
            )),
            None if key.starts_with("Fn::") && key.len() > 4 => Reading::Data(format!(
                "HOT has no function `{}`: it is plain data here, as in Heat",
                shown(key)
            )),
            None => Reading::Plain,
        };
    };
    if let Some(until) = entry.until.filter(|until| version >= *until) {
        let last = until.before().unwrap_or(until);
        return Reading::Refused(format!(
            "the function `{key}` is not in version {version}; the last version with it is {last}{}",
            instead(entry.function)
        ));
    }
    let fits = || {
        arguments::check(entry.function, arguments, Version::default()).is_ok()
            || matches!(entry.function, GetParam)
    };
    if entry.since > version {
        return if fits() {
            Reading::Data(format!(
                "the function `{key}` is not in version {version}, so this is plain data, as in Heat; it came with {}",
                entry.since
            ))
        } else {
            Reading::Plain
        };
    }
    match (place, entry.in_conditions) {
        (Place::Condition, Some(since)) if since <= version => Reading::Call(entry.function),
        (Place::Condition, Some(since)) => Reading::Refused(format!(
            "the function `{key}` cannot stand in a condition of version {version}; it can from {since} on"
        )),
        (Place::Condition, None) => Reading::Refused(format!(
            "the function `{key}` cannot stand in a condition: conditions know parameters only, by `get_param`, `equals`, `not`, `and`, `or`, `contains` and `yaql`"
        )),
        (Place::Value, _) if entry.function.is_condition() => Reading::Plain,
        (Place::Value, _) => Reading::Call(entry.function),
    }
}

/// What replaced a function that is gone.
fn instead(function: Function) -> &'static str {
    match function {
        Ref => "; write `get_param` or `get_resource`",
        FnJoin => "; write `list_join`",
        FnReplace => "; write `str_replace`",
        FnSplit => "; write `str_split` in version 2015-10-15 or later",
        FnSelect => "; give the path to `get_attr` or `get_param`",
        FnResourceFacade => "; write `resource_facade`",
        FnBase64 => "; leave it out, it changes nothing",
        _ => "",
    }
}

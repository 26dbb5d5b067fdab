//! Type aliases of environments' `resource_registry`.
//!
//! Resolution ends at a built-in type or a file. Aliases for one resource have precedence over aliases for all, plain
//! names over wildcards, long wildcards over short ones. An alias can refer to another one; resolution stops at a
//! circle.

use super::Alias;

/// Aliases of all environments. Later ones replace earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aliases {
    entries: Vec<Alias>,
}

/// Result of resolving a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Type by its own name.
    Type(String),
    /// Template, by its name in `from` (`None`: the template that uses the type).
    File {
        /// Name as written.
        name: String,
        /// Environment with the alias.
        from: Option<String>,
    },
}

impl Aliases {
    /// True if there are no aliases.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All aliases, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Alias> {
        self.entries.iter()
    }

    /// Adds an alias, which replaces or removes an earlier one.
    pub fn add(&mut self, alias: Alias) {
        let wildcard = alias.name.strip_suffix('*');
        self.entries.retain(|one| {
            let same = one.name == alias.name
                || (alias.target.is_none()
                    && wildcard.is_some_and(|prefix| one.name.starts_with(prefix)));
            !(same && one.resource == alias.resource)
        });
        if alias.target.is_some() {
            self.entries.push(alias);
        }
    }

    /// Resolves `written`, the type of a resource (`web/server` for a resource in a nested template). Types in `itself`
    /// are not replaced: a template that implements a type can use that type.
    pub fn resolve(&self, resource: &str, written: &str, itself: &[String]) -> Target {
        let mut name = written.to_owned();
        let mut from = None;
        let mut seen: Vec<String> = Vec::new();
        while !itself.contains(&name) && !seen.contains(&name) {
            let Some((alias, target)) = self.best(resource, &name) else {
                break;
            };
            let next = match (alias.name.strip_suffix('*'), target.strip_suffix('*')) {
                (Some(prefix), Some(start)) => format!("{start}{}", &name[prefix.len()..]),
                _ => target.to_owned(),
            };
            seen.push(name);
            (name, from) = (next, Some(alias.file.clone()));
            if is_file(&name) {
                break;
            }
        }
        if is_file(&name) {
            Target::File { name, from }
        } else {
            Target::Type(name)
        }
    }

    fn best(&self, resource: &str, name: &str) -> Option<(&Alias, &str)> {
        let fits = |alias: &&Alias| {
            let of_resource = alias
                .resource
                .as_ref()
                .is_none_or(|pattern| matches(pattern, resource));
            let of_type = match alias.name.strip_suffix('*') {
                Some(prefix) => name.starts_with(prefix) && alias.target.as_deref() != Some(name),
                None => alias.name == name,
            };
            of_resource && of_type
        };
        let rank = |alias: &Alias| {
            let plain = !alias.name.ends_with('*');
            (alias.resource.is_some(), plain, alias.name.len())
        };
        let best = self
            .entries
            .iter()
            .filter(fits)
            .max_by_key(|one| rank(one))?;
        Some((best, best.target.as_deref()?))
    }
}

/// True if a type is a template: it has a template's extension, as in Heat, or is a URL.
pub fn is_file(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".template") || name.contains("://")
}

/// Matches a name against a pattern with `*`.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len())
                .filter(|at| name.is_char_boundary(*at))
                .any(|at| matches(rest, &name[at..]))
        }),
    }
}

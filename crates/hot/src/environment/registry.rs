//! What a type stands for: aliases of an environment's `resource_registry`.
//!
//! A name ends at a type that is built in, or at a file. Aliases for one resource go before aliases
//! for all, plain names before wildcards, long wildcards before short ones. An alias may lead to
//! another; a circle ends where it began.

use super::Alias;

/// The aliases of all environments, later ones in place of earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aliases {
    entries: Vec<Alias>,
}

/// What a type stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A type by its own name.
    Type(String),
    /// A template, by the name that `from` calls it by (`None`: the template that mentions it).
    File {
        /// As written.
        name: String,
        /// The environment that says so.
        from: Option<String>,
    },
}

impl Aliases {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Alias> {
        self.entries.iter()
    }

    /// One more; it takes the place of an earlier one, or takes it away.
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

    /// What `written`, the type of the resource with this name (`web/server` for one in a nested
    /// template), stands for. Types in `itself` stand for themselves: a template that takes a type's
    /// place may use that type.
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

/// Whether a type is a template of its own: by its ending, as in Heat, or by its address.
pub fn is_file(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".template") || name.contains("://")
}

/// A name against a pattern with `*`.
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

//! The properties of a resource that differ, and what follows from them: the resource's action and its reason.

use super::{Action, PropertyChange};

/// Result of comparing a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Differs {
    /// The values are the same.
    No,
    /// The result is known only during the run. Contains the reason.
    May(String),
    /// The values differ. Contains the reason if the text is unchanged.
    Yes(Option<String>),
}

impl Differs {
    /// The one with the stronger consequence: the first of two equal ones.
    pub fn or_stronger(self, other: Differs) -> Differs {
        let is_stronger = matches!(
            (&self, &other),
            (Differs::No, _) | (Differs::May(_), Differs::Yes(_))
        );
        if is_stronger { other } else { self }
    }
}

/// A property that differs, with the reason if its text is unchanged.
pub(super) type Cause<'p> = (&'p String, Option<String>);

/// The properties that differ, and the first property with each consequence.
#[derive(Default)]
pub(super) struct Differences<'p> {
    pub properties: Vec<PropertyChange>,
    /// The property that requires a replacement.
    pub replaced_by: Option<Cause<'p>>,
    /// The property that requires a replacement if its value differs during the run.
    maybe_replaced_by: Option<Cause<'p>>,
    differs: Option<Cause<'p>>,
    may_differ: Option<Cause<'p>>,
}

impl<'p> Differences<'p> {
    /// Records the consequence of a property. Returns the reason of the difference, if the text is unchanged.
    pub fn add(&mut self, property: &'p String, found: Differs, replaces: bool) -> Option<String> {
        let (why, differs, replaced_by) = match found {
            Differs::No => return None,
            Differs::Yes(why) => (why, &mut self.differs, &mut self.replaced_by),
            Differs::May(why) => (Some(why), &mut self.may_differ, &mut self.maybe_replaced_by),
        };
        differs.get_or_insert((property, why.clone()));
        if replaces {
            replaced_by.get_or_insert((property, why.clone()));
        }
        why
    }

    /// Action, whether it is decided only during the run, and its reason. `None` if no property and no version differs.
    pub fn cause(self, upgrade: Option<String>, others: usize) -> Option<(Action, bool, String)> {
        let sentence = |(property, why): Cause<'_>, verb: &str, end: &str| {
            let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
            format!("`{property}` {verb}{why}{end}")
        };
        if let Some(cause) = self.replaced_by {
            let because = sentence(cause, "changes", ": it will be replaced");
            return Some((Action::Replace, false, because));
        }
        if let Some(cause) = self.maybe_replaced_by {
            let because = sentence(cause, "may change", ": then it will be replaced");
            return Some((Action::Replace, true, because));
        }
        if let Some(because) = upgrade {
            return Some((Action::Update, false, because));
        }
        if let Some(cause) = self.differs {
            let because = match others {
                0 => sentence(cause, "changes", ""),
                _ => format!("`{}` and {others} more change", cause.0),
            };
            return Some((Action::Update, false, because));
        }
        let cause = self.may_differ?;
        Some((Action::Update, true, sentence(cause, "may change", "")))
    }
}

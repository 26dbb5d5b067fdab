//! The state of the form: the recipe, its problems, and the draft in the browser's storage.

use std::collections::BTreeSet;

use hot::diagnostic::Diagnostic;
use leptos::prelude::*;
use types::catalog::{recipe::Recipe, role};

use crate::browser;

/// The result of a form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A new item.
    New,
    /// The next version of an item, whose name is fixed.
    Next,
    /// The manifest of an uploaded role, which brings its options.
    Role,
}

/// The form of an item.
#[derive(Clone, Copy)]
pub struct Form {
    /// The values.
    pub recipe: RwSignal<Recipe>,
    /// Its result.
    pub kind: Kind,
    /// The key of the draft in the browser's storage.
    draft: StoredValue<String>,
    /// The values before anything is typed.
    start: StoredValue<Recipe>,
    problems: Memo<Vec<Diagnostic>>,
    /// Paths of the fields that the user has left. Only their problems are shown until the first attempt to publish.
    left: RwSignal<BTreeSet<String>>,
    shows_all: RwSignal<bool>,
}

impl Form {
    /// A form that begins with these values.
    pub fn new(kind: Kind, start: Recipe) -> Form {
        let recipe = RwSignal::new(start.clone());
        let check = match kind {
            Kind::New | Kind::Next => Recipe::check,
            Kind::Role => role::check,
        };
        Form {
            recipe,
            kind,
            draft: StoredValue::new(draft_key(kind, &start.name)),
            start: StoredValue::new(start),
            problems: Memo::new(move |_| recipe.with(check)),
            left: RwSignal::default(),
            shows_all: RwSignal::new(false),
        }
    }

    /// A form that continues the draft in the browser's storage, or begins with `start`. The draft is kept up to date.
    pub fn continued(kind: Kind, start: Recipe) -> Form {
        let form = Form::new(kind, start);
        let draft = form.draft.with_value(|key| browser::remembered(key));
        if let Some(draft) = draft.and_then(|json| serde_json::from_str(&json).ok()) {
            form.recipe.set(draft);
        }
        Effect::new(move |_| {
            if form.is_changed() {
                let json = form
                    .recipe
                    .with(|recipe| serde_json::to_string(recipe).unwrap_or_default());
                form.draft.with_value(|key| browser::remember(key, &json));
            } else {
                form.forget_draft();
            }
        });
        form
    }

    /// True if something differs from the beginning. Tracks.
    pub fn is_changed(self) -> bool {
        self.recipe
            .with(|recipe| self.start.with_value(|start| recipe != start))
    }

    /// Discards what was typed, and the draft.
    pub fn start_over(self) {
        self.left.update(BTreeSet::clear);
        self.shows_all.set(false);
        self.recipe.set(self.start.get_value());
    }

    /// Removes the draft, because it is published or discarded.
    pub fn forget_draft(self) {
        self.draft.try_with_value(|key| browser::forget(key));
    }

    /// The message to show at the field of a path, or at a list for the path of an entry. Tracks.
    pub fn fault(self, path: &str) -> Option<String> {
        let is_shown = self.shows_all.get() || self.left.with(|left| left.contains(path));
        let is_here = |one: &&Diagnostic| {
            let rest = one.path.strip_prefix(path);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.strip_prefix('.').is_some_and(is_number)
            })
        };
        self.problems.with(|problems| {
            let found = problems.iter().find(is_here);
            found.filter(|_| is_shown).map(|one| one.message.clone())
        })
    }

    /// Notes that the user has left a field.
    pub fn leave(self, path: &str) {
        if self.left.with_untracked(|left| !left.contains(path)) {
            self.left.update(|left| {
                left.insert(path.to_owned());
            });
        }
    }

    /// Forgets which fields of a list were left, because its rows have moved.
    pub fn rows_moved(self, list: &str) {
        self.left
            .update(|left| left.retain(|path| !path.starts_with(list)));
    }

    /// The recipe, if it has no problems. Otherwise shows all problems, and moves the focus to the first.
    pub fn finished(self) -> Option<Recipe> {
        self.shows_all.set(true);
        let first = self
            .problems
            .with_untracked(|problems| problems.first().map(|one| field_of(&one.path)));
        match first {
            Some(path) => {
                browser::focus(&field_id(&path));
                None
            }
            None => Some(self.recipe.get_untracked()),
        }
    }
}

/// The id of a field's control.
pub fn field_id(path: &str) -> String {
    format!("item-{}", path.replace('.', "-"))
}

/// The path of the field that shows a problem: packages share one.
fn field_of(path: &str) -> String {
    match path.split_once('.') {
        Some((list, index)) if is_number(index) => list.to_owned(),
        _ => path.to_owned(),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The key of the draft: of a new item, of the next version of one, or of the manifest of a role.
fn draft_key(kind: Kind, name: &str) -> String {
    match kind {
        Kind::New => "item.new".to_owned(),
        Kind::Next => format!("item.next.{name}"),
        Kind::Role => format!("item.role.{name}"),
    }
}

/// A name for a title: `My web server` gives `my-web-server`.
pub fn name_of(title: &str) -> String {
    let words = title
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_from_the_title() {
        assert_eq!(name_of(" My web-server (2)"), "my-web-server-2");
        assert_eq!(name_of("Übung"), "bung");
    }

    #[test]
    fn problems_of_packages_stand_at_their_common_field() {
        assert_eq!(field_of("packages.3"), "packages");
        assert_eq!(field_of("files.0.path"), "files.0.path");
        assert_eq!(field_id("files.0.path"), "item-files-0-path");
    }
}

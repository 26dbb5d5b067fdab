//! Words to describe types with in code, for what is made at run time: the catalogue's items.

use super::*;

pub(crate) fn of_kind(name: &str, kind: PropertyKind) -> Property {
    Property {
        name: name.to_owned(),
        kind,
        required: false,
        default: None,
        constraints: Vec::new(),
        rules: Vec::new(),
        on_change: OnChange::Replace,
        reference: None,
        choices: None,
        formerly: None,
        hidden: false,
        unsupported: false,
        secret: false,
        multiline: false,
        summary: String::new(),
    }
}

pub(crate) fn string(name: &str) -> Property {
    of_kind(name, PropertyKind::String)
}

pub(crate) fn list(name: &str, of: Property) -> Property {
    of_kind(
        name,
        PropertyKind::List {
            of: Some(Box::new(of)),
        },
    )
}

impl Property {
    pub(crate) fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Another value keeps the resource's id.
    pub(crate) fn updates(mut self) -> Self {
        self.on_change = OnChange::UpdateInPlace;
        self
    }

    pub(crate) fn range(mut self, min: f64, max: f64) -> Self {
        self.constraints.push(Constraint::Range {
            min: Some(min),
            max: Some(max),
        });
        self
    }

    pub(crate) fn nests(self, to: &[&str]) -> Self {
        let to = to.iter().map(|one| (*one).to_owned());
        self.refers(ReferenceRole::Nests, to.collect())
    }

    pub(crate) fn connects(self, to: &[&str]) -> Self {
        let to = to.iter().map(|one| (*one).to_owned());
        self.refers(ReferenceRole::Connects, to.collect())
    }

    pub(super) fn refers(mut self, role: ReferenceRole, to: Vec<String>) -> Self {
        self.reference = Some(Reference { role, to });
        self
    }

    pub(crate) fn summary(mut self, text: &str) -> Self {
        self.summary = text.to_owned();
        self
    }
}

pub(crate) fn attribute(name: &str, summary: &str) -> Attribute {
    Attribute {
        name: name.to_owned(),
        summary: summary.to_owned(),
    }
}

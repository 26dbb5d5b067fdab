//! Uses of parameters and conditions in a template.
//!
//! A parameter is used by `get_param` and in `parameter_groups`; a condition under the key `condition`, in `if`, and in
//! other conditions. The functions of the first version (`Ref`, `Fn::If`) count too, since Heat accepts them.

use std::ops::Range;

use crate::yaml::{Kind, Node};

/// Section of a template whose entries can be renamed without a resource's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// `parameters`.
    Parameters,
    /// `conditions`.
    Conditions,
    /// `outputs`. Nothing in the template uses them.
    Outputs,
}

impl Section {
    /// Key in the template.
    pub fn key(self) -> &'static str {
        match self {
            Section::Parameters => "parameters",
            Section::Conditions => "conditions",
            Section::Outputs => "outputs",
        }
    }
}

/// Use of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// Path of the function or key, such as `resources.web.properties.flavor`.
    pub path: Vec<String>,
    /// Position of the name.
    pub span: Range<usize>,
}

/// All uses of an entry, in the order of the text.
pub(super) fn uses(root: &Node, section: Section, name: &str) -> Vec<Use> {
    let mut search = Search {
        name,
        path: Vec::new(),
        found: Vec::new(),
    };
    match section {
        Section::Parameters => search.parameters(root),
        Section::Conditions => search.conditions(root),
        Section::Outputs => {}
    }
    search.found
}

struct Search<'n> {
    name: &'n str,
    path: Vec<String>,
    found: Vec<Use>,
}

impl Search<'_> {
    /// Adds a use if the node is the name.
    fn compare(&mut self, node: &Node) {
        if matches!(&node.kind, Kind::Scalar(text) if text == self.name) {
            self.found.push(Use {
                path: self.path.clone(),
                span: node.span.clone(),
            });
        }
    }

    /// Visits the children of a node with their paths.
    fn children(&mut self, node: &Node, visit: fn(&mut Self, &Node)) {
        let mut below = |key: String, node: &Node| {
            self.path.push(key);
            visit(self, node);
            self.path.pop();
        };
        match &node.kind {
            Kind::Map(entries) => {
                for entry in entries {
                    below(entry.key.clone(), &entry.value);
                }
            }
            Kind::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    below(index.to_string(), &item.value);
                }
            }
            _ => {}
        }
    }

    fn parameters(&mut self, node: &Node) {
        if let ["parameter_groups", _, "parameters", _] = &*self.segments() {
            self.compare(node);
        }
        if let Kind::Map(entries) = &node.kind
            && let [only] = entries.as_slice()
            && matches!(only.key.as_str(), "get_param" | "Ref")
        {
            let first = only.value.items().and_then(|items| items.first());
            self.compare(first.map_or(&only.value, |item| &item.value));
        }
        self.children(node, Self::parameters);
    }

    fn conditions(&mut self, node: &Node) {
        match &*self.segments() {
            ["conditions", _]
            | ["resources" | "outputs", _, "condition"]
            | ["Resources", _, "Condition"] => self.condition(node),
            _ => {}
        }
        if let Kind::Map(entries) = &node.kind
            && let [only] = entries.as_slice()
            && matches!(only.key.as_str(), "if" | "Fn::If")
            && let Some(first) = only.value.items().and_then(|items| items.first())
        {
            self.condition(&first.value);
        }
        self.children(node, Self::conditions);
    }

    /// A condition: a name, or a function of conditions.
    fn condition(&mut self, node: &Node) {
        self.compare(node);
        if let Kind::Map(entries) = &node.kind
            && let [only] = entries.as_slice()
            && matches!(
                only.key.as_str(),
                "not" | "and" | "or" | "Fn::Not" | "Fn::And" | "Fn::Or"
            )
        {
            self.compare(&only.value);
            match only.value.items() {
                Some(items) => items.iter().for_each(|item| self.condition(&item.value)),
                None => self.condition_in(&only.value),
            }
        }
    }

    /// A function of conditions as the argument of another one.
    fn condition_in(&mut self, node: &Node) {
        if matches!(node.kind, Kind::Map(_)) {
            self.condition(node);
        }
    }

    fn segments(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }
}

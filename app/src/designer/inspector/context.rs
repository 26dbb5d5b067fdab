//! The form that a field belongs to.

use canvas::{
    commands::Proposal,
    form::{self, Field, Source, SourceChoice},
};
use hot::document::Edit;
use leptos::prelude::*;

use crate::designer::store::Workspace;

/// Content of a field while its resources have different values.
pub const MIXED: &str = "Several values";

/// Builds the view of a field from the form, the form's fields, and the field; `true` for one without visible label.
pub type FieldFn = fn(FormContext, Memo<Vec<Field>>, Field, bool) -> AnyView;

/// Place of a form, for labels, problems and ids. Cheap to copy.
#[derive(Clone, Copy)]
pub struct FormContext {
    /// The page's state.
    pub workspace: Workspace,
    /// Name of the resource, parameter or output.
    pub title: StoredValue<String>,
    /// Path of the form's map, such as `resources.web.properties`.
    pub path: StoredValue<String>,
    /// Builds a field, which can be a cell of a table. A table is itself a field's control.
    pub field: FieldFn,
    /// Start of the ids of controls, unique on the page.
    pub ids: StoredValue<String>,
    /// The resources of a form of several. Empty for other forms.
    pub several: StoredValue<Vec<String>>,
}

impl FormContext {
    /// Form of a resource in the inspector.
    pub fn of_resource(workspace: Workspace, name: &str, field: FieldFn) -> Self {
        Self {
            workspace,
            field,
            title: StoredValue::new(name.to_owned()),
            path: StoredValue::new(format!("resources.{name}.properties")),
            ids: StoredValue::new("field-".to_owned()),
            several: StoredValue::default(),
        }
    }

    /// Form of an entry of a section, such as a parameter.
    pub fn of_entry(workspace: Workspace, title: String, path: String, field: FieldFn) -> Self {
        Self {
            workspace,
            field,
            title: StoredValue::new(title),
            ids: StoredValue::new(format!("{path}.")),
            path: StoredValue::new(path),
            several: StoredValue::default(),
        }
    }

    /// Form of several resources of one type.
    pub fn of_several(workspace: Workspace, names: Vec<String>, field: FieldFn) -> Self {
        Self {
            workspace,
            field,
            title: StoredValue::new(format!("{} resources", names.len())),
            // Each resource shows its own problems.
            path: StoredValue::new(String::new()),
            ids: StoredValue::new("field-".to_owned()),
            several: StoredValue::new(names),
        }
    }

    /// True for a form of several resources.
    pub fn is_of_several(self) -> bool {
        self.several.with_value(|names| !names.is_empty())
    }

    /// Path of a field in problems.
    pub fn path_of(self, field: &str) -> String {
        format!("{}.{field}", self.path.get_value())
    }

    /// Id of a field's control.
    pub fn id_of(self, field: &str) -> String {
        format!("{}{field}", self.ids.get_value())
    }

    /// Label of a change in the history.
    pub fn change_of(self, field: &Field) -> String {
        format!(
            "Change {} of {}",
            field.label.to_lowercase(),
            self.title.get_value()
        )
    }

    /// Applies one edit of a field as one history entry.
    pub fn apply(self, field: &Field, edit: Edit) -> bool {
        self.workspace.edit(self.change_of(field), edit, None)
    }

    /// Sets a field as typed. False if the text is not a valid value.
    pub fn type_text(self, field: &Field, text: &str) -> bool {
        if text == field.text {
            return true;
        }
        if self.is_of_several() {
            return self.type_in_all(field, text);
        }
        match form::edit(field, text) {
            Some(edit) => {
                let key = field.path.join(".");
                if let Edit::Set { value, .. } = &edit
                    && let Some(name) = value.as_str()
                {
                    self.workspace.remember_choice(&field.name, name);
                }
                self.workspace.edit(self.change_of(field), edit, Some(&key));
                true
            }
            None => false,
        }
    }

    /// Sources that a field can switch to, those that fit best first.
    pub fn sources(self, field: &Field) -> Vec<SourceChoice> {
        let workspace = self.workspace;
        workspace.editor.with_untracked(|editor| {
            workspace.types.with_untracked(|types| {
                let template = editor.template();
                self.several.with_value(|names| match names.as_slice() {
                    [] => form::sources(template, types, field),
                    names => form::common_sources(template, names, types, field),
                })
            })
        })
    }

    /// Switches a field to another source, in all resources of the form.
    pub fn switch(self, field: &Field, source: &Source) {
        let workspace = self.workspace;
        let proposal = workspace.editor.with_untracked(|editor| {
            workspace.types.with_untracked(|types| {
                workspace.cloud.with_untracked(|cloud| {
                    let template = editor.template();
                    self.several.with_value(|names| match names.as_slice() {
                        [] => form::switch(template, types, field, source),
                        names => form::switch_all(template, names, types, cloud, field, source),
                    })
                })
            })
        });
        workspace.apply(&proposal);
    }

    fn type_in_all(self, field: &Field, text: &str) -> bool {
        let workspace = self.workspace;
        let edits = workspace.editor.with_untracked(|editor| {
            workspace.types.with_untracked(|types| {
                workspace.cloud.with_untracked(|cloud| {
                    self.several.with_value(|names| {
                        form::edit_all(editor.template(), names, types, cloud, field, text)
                    })
                })
            })
        });
        let Some(edits) = edits else {
            return false;
        };
        let proposal = Proposal {
            label: self.change_of(field),
            edits,
            ..Proposal::default()
        };
        let key = format!("all {}", field.name);
        workspace.apply_typing(&proposal, Some(&key));
        true
    }
}

//! The form of a component in the preview of its item.

use std::collections::HashSet;

use leptos::prelude::*;
use types::Category;

use super::{context::FormContext, field::field_view, field_list::FieldList, form::fields_of};
use crate::designer::{store::Workspace, type_icon::TypeIcon};

/// The read-only form of a component: its head and its fields. It can be inside another form.
#[component]
pub fn FormPreview(
    /// A workspace with the component in its design.
    workspace: Workspace,
    /// The component.
    name: String,
    /// The resource type of its item.
    resource_type: String,
) -> impl IntoView {
    let form = FormContext {
        ids: StoredValue::new("preview-".to_owned()),
        ..FormContext::of_resource(workspace, &name, field_view)
    };
    let fields = fields_of(workspace, form.title);
    let stage = workspace.stage();
    view! {
        <fieldset class="inspector item-inspector" disabled=true aria-label="Inspector">
            <div class="inspector-body">
                <header class="inspector-head">
                    <TypeIcon resource_type=resource_type.clone() category=Category::Software stage />
                    <div class="grow">
                        <h2 class="truncate">{name}</h2>
                        <p class="meta mono truncate">{resource_type}</p>
                    </div>
                </header>
                <FieldList form fields below=HashSet::new() />
            </div>
        </fieldset>
    }
}

//! The fields of a form, with the less important ones below.

use std::collections::HashSet;

use canvas::form::Field;
use leptos::prelude::*;

use super::{context::FormContext, field::FieldView};

/// The fields of a form.
#[component]
pub fn FieldList(
    /// The form.
    form: FormContext,
    /// The form's fields.
    fields: Memo<Vec<Field>>,
    /// Names of the fields that are below "More properties". They are decided once per form, so that a field does not
    /// move while a user types in it.
    below: HashSet<String>,
) -> impl IntoView {
    let below = StoredValue::new(below);
    let part = move |is_below: bool| -> Vec<Field> {
        let is_in =
            |field: &&Field| below.with_value(|below| below.contains(&field.name)) == is_below;
        fields.with(|fields| fields.iter().filter(is_in).cloned().collect())
    };
    let list = move |is_below: bool| {
        view! {
            <For
                each=move || part(is_below)
                key=|field| (field.name.clone(), std::mem::discriminant(&field.control)) let:field
            >
                <FieldView form fields field />
            </For>
        }
    };
    view! {
        {list(false)}
        <details class="inspector-more" hidden=move || part(true).is_empty()>
            <summary>{move || format!("More properties ({})", part(true).len())}</summary>
            {list(true)}
        </details>
    }
}

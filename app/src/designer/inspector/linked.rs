//! Values from a parameter or another resource: the control, and the menu of sources on each field.

use canvas::form::{Control, Field, Link, Source};
use hot::document::Section;
use leptos::prelude::*;

use super::context::FormContext;
use crate::ui::{
    Icon,
    picker::{Pick, Picker},
};

/// A value that comes from elsewhere, with buttons that show its source and replace it by a value.
#[component]
pub(super) fn LinkedControl(
    form: FormContext,
    id: String,
    now: Memo<Field>,
    described: String,
) -> impl IntoView {
    let workspace = form.workspace;
    let link = Memo::new(move |_| {
        now.with(|field| match &field.control {
            Control::Linked(link) => Some(link.clone()),
            _ => None,
        })
    });
    let go = move |_| match link.get_untracked() {
        Some(Link::Parameter { name, .. }) => workspace.show_entry(Section::Parameters, &name),
        Some(Link::Resource { name } | Link::Attribute { resource: name, .. }) => {
            workspace.show(&name, None);
        }
        None => {}
    };
    let icon = move || match link.get() {
        Some(Link::Parameter { .. }) => view! { <Icon name="at-sign" /> },
        _ => view! { <Icon name="link" /> },
    };
    let source = move || link.get().map(|link| link.to_string()).unwrap_or_default();
    view! {
        <div class="linked">
            <span class="linked-icon">{icon}</span>
            <input class="input mono" id=id aria-describedby=described readonly prop:value=source />
            <button
                type="button" class="button" data-size="icon" title="Show the source"
                aria-label=move || format!("Show {}", source()) on:click=go
            >
                <Icon name="arrow-right" />
            </button>
        </div>
    }
}

/// The button that switches a field to a parameter, an attribute, or back to a value.
#[component]
pub(super) fn SourceMenu(
    form: FormContext,
    now: Memo<Field>,
    id: String,
    label: String,
) -> impl IntoView {
    let choices = move || now.with_untracked(|field| form.sources(field));
    let picks = move || {
        let choices = choices().into_iter();
        choices
            .map(|choice| Pick {
                group: group(&choice.source),
                icon: icon(&choice.source),
                label: choice.label,
                facts: choice.facts,
            })
            .collect::<Vec<_>>()
    };
    let run = move |index: usize| {
        if let Some(choice) = choices().into_iter().nth(index) {
            form.switch(&now.get_untracked(), &choice.source);
        }
    };
    view! {
        <Picker
            id label=format!("Source of {}", label.to_lowercase()) class="button source-button"
            button=view! { <Icon name="link" /> }.into_any()
            picks=Callback::new(move |()| picks()) run=Callback::new(run)
        />
    }
}

fn group(source: &Source) -> &'static str {
    match source {
        Source::Value => "",
        Source::NewParameter | Source::Parameter(_) => "Parameters",
        Source::Resource(_) => "Resources",
        Source::Attribute(..) => "Attributes",
    }
}

fn icon(source: &Source) -> &'static str {
    match source {
        Source::Value => "pencil",
        Source::NewParameter => "plus",
        Source::Parameter(_) => "at-sign",
        Source::Resource(_) | Source::Attribute(..) => "link",
    }
}

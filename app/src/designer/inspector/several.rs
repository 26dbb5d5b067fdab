//! The inspector of several selected resources: their arrangement, and the fields of their common type.

use canvas::form;
use leptos::prelude::*;

use super::{context::FormContext, field::field_view, field_list::FieldList};
use crate::{
    designer::store::{ALIGNMENTS, DISTRIBUTIONS, Workspace},
    ui::Icon,
};

/// The inspector of several resources.
#[component]
pub fn SeveralInspector(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let names = Memo::new(move |_| {
        workspace.selection.with(|selection| {
            let names = selection.names();
            names.map(str::to_owned).collect::<Vec<_>>()
        })
    });
    let count = move || names.with(Vec::len);
    view! {
        <div class="inspector-body">
            <h2>{move || format!("{} resources", count())}</h2>
            <div class="inspector-buttons">
                <button type="button" class="button" on:click=move |_| workspace.duplicate_selected()>
                    <Icon name="copy-plus" />"Duplicate"
                </button>
                <button type="button" class="button" data-look="danger-quiet" on:click=move |_| workspace.delete_selected()>
                    <Icon name="trash-2" />"Delete"
                </button>
            </div>
            <Arrangement workspace count=Signal::derive(count) />
            {move || view! { <CommonForm workspace names=names.get() /> }}
        </div>
    }
}

/// Buttons that align and distribute the resources.
#[component]
fn Arrangement(workspace: Workspace, count: Signal<usize>) -> impl IntoView {
    let align = ALIGNMENTS.map(|(icon, label, to)| {
        view! {
            <button
                type="button" class="button" data-look="ghost" data-size="icon" title=label aria-label=label
                on:click=move |_| workspace.align(to)
            >
                <Icon name=icon />
            </button>
        }
    });
    let is_pair = move || count.get() < 3;
    let distribute = DISTRIBUTIONS.map(|(icon, label, axis)| {
        view! {
            <button
                type="button" class="button" data-look="ghost" data-size="icon" title=label aria-label=label
                disabled=is_pair on:click=move |_| workspace.distribute(axis)
            >
                <Icon name=icon />
            </button>
        }
    });
    view! {
        <div class="inspector-arrange" role="group" aria-label="Arrange">{align.collect_view()}{distribute.collect_view()}</div>
    }
}

/// Fields of resources of one type. A change is made in all of them.
#[component]
fn CommonForm(workspace: Workspace, names: Vec<String>) -> impl IntoView {
    let title = workspace.editor.with_untracked(|editor| {
        workspace.types.with_untracked(|types| {
            form::common_type(editor.template(), &names, types).map(|one| one.title.clone())
        })
    });
    let Some(title) = title else {
        return view! {
            <p class="quiet">"Select resources of one type to edit them together."</p>
        }
        .into_any();
    };
    let form = FormContext::of_several(workspace, names.clone(), field_view);
    let fields = Memo::new(move |_| {
        workspace.editor.with(|editor| {
            workspace.types.with(|types| {
                workspace
                    .cloud
                    .with(|cloud| form::common_fields(editor.template(), &names, types, cloud))
            })
        })
    });
    let below = fields.with_untracked(|fields| {
        let below = fields.iter().filter(|field| !field.is_main());
        below.map(|field| field.name.clone()).collect()
    });
    view! {
        <form class="inspector-several" aria-label=format!("All: {title}") on:submit=|event| event.prevent_default() on:focusout=move |_| workspace.seal()>
            <p class="quiet">{format!("{title}: a change applies to all of them.")}</p>
            <FieldList form fields below />
        </form>
    }
    .into_any()
}

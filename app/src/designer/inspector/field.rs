//! One field of a form: the control for its type, its help and its problems.

use canvas::form::{Control, Field};
use hot::diagnostic::Severity;
use leptos::{ev, prelude::*};

use super::{
    context::{FormContext, MIXED},
    controls::{ResourcesControl, SelectControl},
    fault::{FaultWithFixes, belongs},
    linked::{LinkedControl, SourceMenu},
    pairs::PairsControl,
    script::{AreaControl, FileControl, ReplaceControl},
    table::TableControl,
};
use crate::ui::prose;

/// See [`FieldView`].
pub(super) fn field_view(
    form: FormContext,
    fields: Memo<Vec<Field>>,
    field: Field,
    is_bare: bool,
) -> AnyView {
    view! { <FieldView form fields field is_bare /> }.into_any()
}

/// One field of the form. It is rebuilt only when the kind of its control changes.
#[component]
pub fn FieldView(
    /// The form.
    form: FormContext,
    /// The form's fields.
    fields: Memo<Vec<Field>>,
    /// The field when the view is built.
    field: Field,
    /// True for a cell below a column's heading, which has no visible label and help.
    #[prop(default = false)]
    is_bare: bool,
) -> AnyView {
    let workspace = form.workspace;
    let property = field.name.clone();
    let now = {
        let first = field.clone();
        Memo::new(move |_| {
            fields
                .with(|fields| fields.iter().find(|one| one.name == property).cloned())
                .unwrap_or_else(|| first.clone())
        })
    };
    let id = form.id_of(&field.name);
    let help_id = format!("{id}-help");
    let path = StoredValue::new(field.name.clone());
    let faults = Memo::new(move |_| {
        let field = form.path_of(&path.get_value());
        workspace.problems.with(|problems| {
            problems
                .iter()
                .filter(|one| belongs(&one.path, &field))
                .cloned()
                .collect::<Vec<_>>()
        })
    });
    let invalid = move || {
        faults
            .with(|faults| faults.iter().any(|one| one.severity == Severity::Error))
            .then_some("true")
    };
    let unread = RwSignal::new(false);
    let set = move |text: String| {
        unread.set(!form.type_text(&now.get_untracked(), &text));
    };
    let input = move |event: ev::Event| set(event_target_value(&event));
    let text = move || now.with(|field| field.text.clone());
    let is_checkbox = matches!(field.control, Control::Checkbox);
    let required = field.required.then_some("true");
    let faults_id = format!("{id}-faults");
    let described = if field.help.is_empty() || is_bare {
        faults_id.clone()
    } else {
        format!("{faults_id} {help_id}")
    };
    // Parameters and conditions are themselves sources. Values beside the properties of a resource have none.
    let mut keys = field.path.iter().map(String::as_str);
    let has_sources = match keys.next() {
        Some("resources") => keys.nth(1) == Some("properties"),
        Some("outputs") => true,
        _ => false,
    };
    let placeholder = move || {
        now.with(|field| {
            if field.is_mixed {
                MIXED.to_owned()
            } else {
                field.placeholder.clone()
            }
        })
    };
    let is_mixed = move || is_checkbox && now.with(|field| field.is_mixed);
    let proposals = Memo::new(move |_| now.with(|field| field.proposals.clone()));
    let list = (!field.proposals.is_empty()).then(|| format!("{id}-proposals"));
    let datalist = list.clone().map(|id| view! {
        <datalist id=id>
            {move || proposals.get().into_iter().map(|value| view! { <option value=value></option> }).collect_view()}
        </datalist>
    });
    let control = match &field.control {
        Control::Text => view! {
            <input class="input" id=id.clone() type="text" autocomplete="off" spellcheck="false" placeholder=placeholder list=list
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input />
        }
        .into_any(),
        Control::Secret => view! {
            <input class="input" id=id.clone() type="password" autocomplete="new-password" placeholder=placeholder
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input />
        }
        .into_any(),
        Control::Number => view! {
            <input class="input mono" id=id.clone() type="text" inputmode="decimal" autocomplete="off" placeholder=placeholder
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input />
        }
        .into_any(),
        Control::Checkbox => view! {
            <input id=id.clone() type="checkbox" role="switch" aria-describedby=described aria-invalid=invalid
                prop:checked=move || text() == "true" on:change=move |event| set(event_target_checked(&event).to_string()) />
        }
        .into_any(),
        Control::Area => view! { <AreaControl form id=id.clone() now described placeholder=Signal::derive(placeholder) set=Callback::new(set) invalid=Signal::derive(move || invalid().is_some()) /> }.into_any(),
        Control::SecretArea => view! {
            <textarea class="input secret" id=id.clone() rows="4" spellcheck="false" autocomplete="off" placeholder=placeholder
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input></textarea>
        }
        .into_any(),
        Control::Lines => view! {
            <textarea class="input mono" id=id.clone() rows="2" spellcheck="false" placeholder="one per line"
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input></textarea>
        }
        .into_any(),
        Control::Json => view! {
            <textarea class="input mono" id=id.clone() rows="3" spellcheck="false" placeholder="JSON"
                aria-describedby=described aria-invalid=invalid prop:value=text on:input=input></textarea>
        }
        .into_any(),
        Control::Select(_) => view! { <SelectControl id=id.clone() now described set=Callback::new(set) invalid=Signal::derive(move || invalid().is_some()) /> }.into_any(),
        Control::Resources(_) => view! { <ResourcesControl form id=id.clone() now described /> }.into_any(),
        Control::Table(_) => view! { <TableControl form id=id.clone() now described /> }.into_any(),
        Control::Pairs(_) => view! { <PairsControl form id=id.clone() now described /> }.into_any(),
        Control::Linked(_) => view! { <LinkedControl form id=id.clone() now described /> }.into_any(),
        Control::File(_) => view! { <FileControl form id=id.clone() now described /> }.into_any(),
        Control::Replace(_) => view! { <ReplaceControl form id=id.clone() now described /> }.into_any(),
    };
    view! {
        <div class="field" data-check=is_checkbox.then_some("true") data-bare=is_bare.then_some("true")>
            <label for=id.clone() data-required=required title=field.name class:sr-only=is_bare>{field.label.clone()}</label>
            {has_sources.then(|| view! { <SourceMenu form now id=format!("{id}-source") label=field.label /> })}
            {control}
            {datalist}
            {move || is_mixed().then(|| view! { <p class="help">{MIXED}</p> })}
            <div class="faults" id=faults_id>
            {move || unread.get().then(|| view! { <p class="fault" data-severity="warning">"This value is invalid. The last valid one is kept."</p> })}
            {move || faults.get().into_iter().map(|problem| view! { <FaultWithFixes workspace problem /> }).collect_view()}
            </div>
            {(!field.help.is_empty() && !is_bare).then(|| view! { <p class="help" id=help_id>{prose(&field.help)}</p> })}
        </div>
    }
    .into_any()
}

//! One change of a plan: its reason, its consequences, and its properties.

use api::{Action, Change, PropertyChange};
use leptos::prelude::*;
use planner::workflow::Origin;

use super::values::values;
use crate::{
    consequences::Consequence,
    ui::{Icon, prose},
};

/// A change, and what is shown with it.
pub struct Row {
    /// The change.
    pub change: Change,
    /// The first step of its resource.
    pub step: Option<String>,
    /// Consequences of the change.
    pub consequences: Vec<Consequence>,
    /// The properties that differ; of a created resource all.
    pub properties: Vec<PropertyChange>,
    /// Address of the resource in the designer.
    pub design: Option<String>,
    /// The uploader of its catalogue item, in words. `None` for resources of the cloud and for the server's items.
    pub uploader: Option<String>,
}

/// The row of a change. Its head selects the step.
#[component]
pub fn ChangeRow(
    /// The change.
    row: Row,
    /// The step selected in the graph.
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let Row {
        change,
        step,
        consequences,
        properties,
        design,
        uploader,
    } = row;
    let (derived, why) = match &change.origin {
        Origin::Drawn => (false, None),
        Origin::Derived { why, .. } => (true, Some(why.clone())),
    };
    let because = change.because.clone().or(why);
    let step = StoredValue::new(step);
    let is_selected = move || {
        step.with_value(|step| step.is_some() && selected.with(|selected| selected == step))
            .to_string()
    };
    let consequences = consequences
        .into_iter()
        .map(|one| {
            view! {
                <p class="change-consequence" data-loss=one.is_loss.to_string()>
                    <Icon name=if one.is_loss { "triangle-alert" } else { "info" } />
                    {prose(one.text)}
                </p>
            }
        })
        .collect_view();
    view! {
        <li class="change" data-change=change.resource.clone() data-derived=derived.to_string()>
            <div class="change-line">
                <button
                    type="button" class="change-head" aria-pressed=is_selected disabled=step.with_value(Option::is_none)
                    on:click=move |_| selected.update(|selected| {
                        let step = step.get_value();
                        *selected = if *selected == step { None } else { step };
                    })
                >
                    <span class="change-name">{change.resource.clone()}</span>
                    <span class="change-type">{change.resource_type.clone()}</span>
                    {change.may.then(|| view! { <span class="pill">"may change"</span> })}
                    {change.old_goes_first.then(|| view! { <span class="pill">"the old one is removed first"</span> })}
                    {derived.then(|| view! { <span class="pill" data-tone="derived">"added for you"</span> })}
                </button>
                {design.map(|href| {
                    let label = format!("Open {} in the design", change.resource);
                    view! { <a class="button" data-look="ghost" data-size="icon-small" href=href aria-label=label title="Open in the design"><Icon name="pencil-ruler" /></a> }
                })}
            </div>
            {because.map(|because| view! { <p class="change-because">{prose(&because)}</p> })}
            {uploader.map(|uploader| view! { <p class="change-because">{uploader}</p> })}
            {consequences}
            <Properties properties action=change.action />
        </li>
    }
}

/// The properties, open where they change, and folded where the resource is new.
#[component]
fn Properties(properties: Vec<PropertyChange>, action: Action) -> impl IntoView {
    if properties.is_empty() {
        return ().into_any();
    }
    let is_new = action == Action::Create;
    // A thousand new resources do not need their values in the page before somebody looks at them.
    let opened = RwSignal::new(!is_new);
    let title = match properties.len() {
        1 => String::from("1 property"),
        many => format!("{many} properties"),
    };
    let properties = StoredValue::new(properties);
    let list = move || {
        let rows = properties
            .get_value()
            .into_iter()
            .map(|property| view! {
                <dt class="mono" data-replaces=property.replaces.to_string()>{property.name}</dt>
                <dd>
                    {property.because.map(|because| view! { <span class="quiet">{prose(&because)}</span> })}
                    {values(property.old.as_ref(), property.new.as_ref())}
                </dd>
            })
            .collect_view();
        view! { <dl>{rows}</dl> }
    };
    view! {
        <details class="change-properties" data-new=is_new.to_string() open=!is_new on:toggle=move |_| opened.set(true)>
            <summary>{title}</summary>
            {move || opened.get().then(list)}
        </details>
    }
    .into_any()
}

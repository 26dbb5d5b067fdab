//! The outputs of a deployment.

use api::{Deployment, OutputValue};
use leptos::prelude::*;
use serde_json::Value;

use crate::{
    load::Load,
    time::Ago,
    ui::{CopyButton, Icon, SecretText, prose},
};

/// The section. Nothing without outputs.
#[component]
pub fn Outputs(
    /// The outputs by name.
    outputs: Vec<(String, OutputValue)>,
    /// The deployment, which is read again on request.
    deployment: Load<Deployment>,
) -> impl IntoView {
    (!outputs.is_empty()).then(|| {
        let live = outputs.iter().filter(|(_, output)| output.live);
        let read_at = live.filter_map(|(_, output)| output.read_at.clone()).min();
        let rows = outputs
            .into_iter()
            .map(|(name, output)| {
                let stored = output.read_at.filter(|_| !output.live);
                let value = match (output.value, output.error) {
                    (Some(value), _) => value_view(&value, &name, output.secret),
                    (None, Some(error)) => view! { <span class="quiet">{prose(&error)}</span> }.into_any(),
                    (None, None) => view! { <span class="quiet">"Not known yet"</span> }.into_any(),
                };
                view! {
                    <div class="output" data-output=name.clone()>
                        <dt>{name.clone()}{output.description.map(|text| view! { <span class="meta">{text}</span> })}</dt>
                        <dd>
                            {value}
                            {stored.map(|time| view! { <span class="meta" data-stored>"Stored, read "<Ago time /></span> })}
                        </dd>
                    </div>
                }
            })
            .collect_view();
        view! {
            <section class="section" aria-label="Outputs">
                <div class="section-head">
                    <h2>"Outputs"</h2>
                    {read_at.map(|time| view! { <span class="meta">"Read from the cloud "<Ago time /></span> })}
                    <button
                        type="button" class="button" data-look="ghost" data-size="icon-small"
                        aria-label="Refresh outputs" title="Read outputs from the cloud again"
                        on:click=move |_| deployment.reload()
                    >
                        <Icon name="refresh-cw" />
                    </button>
                </div>
                <dl class="panel outputs">{rows}</dl>
            </section>
        }
    })
}

/// View of an output: secrets are covered, addresses are links, every value can be copied.
fn value_view(value: &Value, name: &str, is_secret: bool) -> AnyView {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    if is_secret {
        return view! { <SecretText name=name.to_owned() text /> }.into_any();
    }
    // Only these schemes become links: `javascript:` in an output must stay text.
    let is_address = text.starts_with("http://") || text.starts_with("https://");
    let shown = if is_address {
        view! {
            <a class="link mono" href=text.clone() target="_blank" rel="external noopener noreferrer">
                {text.clone()}
                <Icon name="external-link" />
            </a>
        }
        .into_any()
    } else {
        view! { <code>{text.clone()}</code> }.into_any()
    };
    view! {
        {shown}
        <CopyButton text label=format!("Copy {name}") />
    }
    .into_any()
}

//! The differences between two versions of an item: its options as a table, its files as diffs.

use std::collections::BTreeSet;

use api::FileChange;
use leptos::prelude::*;
use types::Property;

use super::inputs::in_words;
use crate::{
    client,
    load::Load,
    ui::{line_diff, skeleton},
};

/// The differences.
#[derive(Clone, Debug, PartialEq)]
struct Changes {
    inputs: Vec<InputChange>,
    files: Vec<FileChange>,
}

/// An option that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InputChange {
    name: String,
    /// The option in words. `None` if the older version does not have it.
    old: Option<String>,
    new: Option<String>,
}

/// The differences between two versions, as a person reviews them before an upgrade.
#[component]
pub fn VersionChanges(
    /// Name of the item.
    item: String,
    /// The version to compare with.
    from: String,
    /// The other version.
    to: Signal<String>,
) -> impl IntoView {
    let changes = Load::new(move || fetch(item.clone(), from.clone(), to.get()));
    changes.view(
        || skeleton::rows(4),
        |Changes { inputs, files }: Changes| {
            view! {
                <Inputs changes=inputs />
                <div class="item-changes">{files.into_iter().map(file).collect_view()}</div>
            }
        },
    )
}

async fn fetch(item: String, from: String, to: String) -> client::Answer<Changes> {
    let files = client::item_comparison(&item, &from, &to).await?.files;
    let old = client::catalog_item(&item, Some(&from)).await?.item.inputs;
    let new = client::catalog_item(&item, Some(&to)).await?.item.inputs;
    Ok(Changes {
        inputs: compare(&old, &new),
        files,
    })
}

fn compare(old: &[Property], new: &[Property]) -> Vec<InputChange> {
    let names: BTreeSet<&String> = old.iter().chain(new).map(|input| &input.name).collect();
    let found = |inputs: &[Property], name: &String| {
        let input = inputs.iter().find(|input| input.name == *name);
        input.map(in_words)
    };
    let changes = names.into_iter().map(|name| InputChange {
        name: name.clone(),
        old: found(old, name),
        new: found(new, name),
    });
    changes.filter(|change| change.old != change.new).collect()
}

#[component]
fn Inputs(changes: Vec<InputChange>) -> impl IntoView {
    if changes.is_empty() {
        return view! { <p class="quiet">"The inputs stay the same."</p> }.into_any();
    }
    let text = |input: Option<String>| input.unwrap_or_else(|| "not there".to_owned());
    let rows = changes.into_iter().map(|change| {
        let (old, new) = (text(change.old), text(change.new));
        view! { <tr><td><code>{change.name}</code></td><td>{old}</td><td>{new}</td></tr> }
    });
    view! {
        <div class="table">
            <table aria-label="Changed inputs">
                <thead><tr><th scope="col">"Input"</th><th scope="col">"Before"</th><th scope="col">"After"</th></tr></thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// A file of the item that differs.
fn file(change: FileChange) -> AnyView {
    let how = match (&change.old, &change.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let diff = line_diff(
        change.old.as_deref().unwrap_or_default(),
        change.new.as_deref().unwrap_or_default(),
    );
    view! {
        <details class="item-change">
            <summary><code>{change.path}</code>" "<span class="meta">{how}</span></summary>
            {diff}
        </details>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn inputs(specs: &str) -> Vec<Property> {
        let manifest = "{name: hello, title: Hello, version: 1.0.0, summary: s, category: c}";
        let specs = format!("argument_specs: {{main: {{options: {specs}}}}}");
        let item = types::catalog::CatalogItem::parse(manifest, &specs);
        item.unwrap().inputs
    }

    #[test]
    fn only_options_that_differ_are_listed() {
        let old = inputs("{port: {type: int, default: 80}, same: {type: str}, gone: {type: bool}}");
        let new = inputs(
            "{port: {type: int, default: 81}, same: {type: str}, more: {type: str, required: true}}",
        );
        let changes = compare(&old, &new);
        let changes = changes.iter().map(|it| json!([it.name, it.old, it.new]));
        let expected = [
            json!(["gone", "true or false", null]),
            json!(["more", null, "text · required"]),
            json!([
                "port",
                "whole number · default 80",
                "whole number · default 81"
            ]),
        ];
        assert_eq!(changes.collect::<Vec<_>>(), expected);
    }
}

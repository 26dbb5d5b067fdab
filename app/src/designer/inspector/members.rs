//! The members of a group or a nested template, by name.

use leptos::prelude::*;
use planner::members;

use crate::designer::store::Workspace;

/// The members of a group or a nested template, as planned.
#[component]
pub fn Members(workspace: Workspace, name: StoredValue<String>) -> impl IntoView {
    let members = Memo::new(move |_| {
        let start = format!("{}/", name.get_value());
        workspace.preview.with(|preview| {
            let members = preview.resources.iter().filter_map(|resource| {
                let member = resource.name.strip_prefix(&start)?;
                Some((
                    member.to_owned(),
                    resource.resource_type.clone(),
                    resource.is_added,
                ))
            });
            members.collect::<Vec<_>>()
        })
    });
    let is_parent = move || {
        workspace.editor.with(|editor| {
            let resource = editor.template().resource(&name.get_value());
            resource.is_some_and(|resource| members::is_parent(&resource.resource_type))
        })
    };
    move || {
        let members = members.get();
        (!members.is_empty() || is_parent()).then(|| {
            view! {
                <section class="inspector-members" aria-label="Members">
                    <h3>{format!("Members ({})", members.iter().filter(|(_, _, added)| !added).count())}</h3>
                    <ul>
                        {members.into_iter().map(|(member, resource_type, added)| view! {
                            <li data-added=added.then_some("true")>
                                <span class="mono">{member}</span>
                                <span class="meta truncate">{resource_type}</span>
                            </li>
                        }).collect_view()}
                    </ul>
                </section>
            }
        })
    }
}

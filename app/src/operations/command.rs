//! Runs a command on servers of the deployment: a script, a playbook, or a command of a component.

use std::collections::BTreeSet;

use api::{
    AllServers, CatalogEntry, CommandRequest, CommandServers, DeployedResource, Deployment,
    DeploymentState, Problem, ResourceState,
};
use leptos::{ev::SubmitEvent, prelude::*};
use leptos_router::hooks::use_navigate;

use crate::{
    client,
    load::Load,
    session::use_session,
    ui::{Icon, Modal, ProblemNote, skeleton, use_leaving},
};

/// The servers or the component that the dialog begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandTarget {
    /// All servers of the deployment.
    AllServers,
    /// The servers of these names.
    Servers(Vec<String>),
    /// The component of this name. The dialog offers no other component's commands.
    Component(String),
}

/// Kind of command in the dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tab {
    Script,
    Playbook,
    Component,
}

/// A command of a component, as a choice in the dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    component: String,
    command: String,
    summary: String,
}

/// The button that opens the dialog, if the deployment has servers.
#[component]
pub fn CommandButton(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Opens the dialog for a target.
    target: RwSignal<Option<CommandTarget>>,
) -> impl IntoView {
    let session = use_session();
    let is_offered = Memo::new(move |_| deployment.with(|it| it.is_some_and(has_command_targets)));
    move || {
        is_offered.get().then(|| {
            view! {
                <button
                    type="button" class="button" disabled=move || !session.can_change()
                    on:click=move |_| target.set(Some(CommandTarget::AllServers))
                >
                    <Icon name="terminal" />
                    "Run a command"
                </button>
            }
        })
    }
}

/// The dialog. It is not a part of the button, so that what is typed stays while a run changes the deployment.
#[component]
pub fn CommandDialog(
    /// The deployment.
    deployment: Load<Deployment>,
    /// The target that the dialog begins with. `None` while the dialog is closed.
    target: RwSignal<Option<CommandTarget>>,
) -> impl IntoView {
    let servers = Memo::new(move |_| deployment.with(|it| it.map(servers_of).unwrap_or_default()));
    move || {
        let first = StoredValue::new(target.get()?);
        let open = RwSignal::new(true);
        Effect::new(move |_| {
            if !open.get() {
                target.set(None);
            }
        });
        Some(view! {
            <Modal open title="Run a command" size="large">
                <Form deployment servers target=first.get_value() open />
            </Modal>
        })
    }
}

/// True in the states in which servers take commands.
pub(super) fn takes_commands(deployment: &Deployment) -> bool {
    !matches!(
        deployment.state,
        DeploymentState::Suspended | DeploymentState::Undeployed
    )
}

/// True if a command can run on a server now.
pub(super) fn has_command_targets(deployment: &Deployment) -> bool {
    takes_commands(deployment) && !servers_of(deployment).is_empty()
}

/// True for a resource that no run is making or deleting.
pub(super) fn exists(resource: &DeployedResource) -> bool {
    !matches!(
        resource.state,
        ResourceState::Creating | ResourceState::Removing | ResourceState::Removed
    )
}

/// Names of the servers that exist in the cloud, without those that a run is making or deleting.
pub(super) fn servers_of(deployment: &Deployment) -> Vec<String> {
    let resources = deployment.resources.iter();
    let servers = resources.filter(|resource| {
        resource.resource_type == types::SERVER
            && resource.physical_id.is_some()
            && exists(resource)
    });
    servers.map(|resource| resource.name.clone()).collect()
}

/// The commands of the deployment's components, or of `only` one.
fn choices_of(
    deployment: &Deployment,
    catalog: &[CatalogEntry],
    only: Option<&str>,
) -> Vec<Choice> {
    let mut choices = Vec::new();
    let resources = deployment.resources.iter();
    for resource in resources.filter(|one| only.is_none_or(|only| one.name == only)) {
        let name = resource.resource_type.strip_prefix(types::CATALOG);
        let item = catalog
            .iter()
            .find(|entry| Some(entry.item.name.as_str()) == name);
        for command in item.into_iter().flat_map(|entry| &entry.item.commands) {
            choices.push(Choice {
                component: resource.name.clone(),
                command: command.name.clone(),
                summary: command.summary.clone(),
            });
        }
    }
    choices
}

/// The values of the form.
#[derive(Clone, Copy)]
struct Fields {
    tab: RwSignal<Tab>,
    text: RwSignal<String>,
    title: RwSignal<String>,
    chosen: RwSignal<BTreeSet<String>>,
    /// The chosen command of a component. `None` for the first one.
    choice: RwSignal<Option<Choice>>,
    as_root: RwSignal<bool>,
    parallel: RwSignal<String>,
    failures: RwSignal<String>,
    minutes: RwSignal<String>,
}

impl Fields {
    /// The request. The server checks the numbers.
    fn request(self, servers: &[String], choices: &[Choice]) -> CommandRequest {
        let defaults = CommandRequest::default();
        let title = self.title.get_untracked();
        let title = (!title.trim().is_empty()).then_some(title);
        let number = |field: RwSignal<String>| field.get_untracked().trim().parse::<u32>();
        let common = CommandRequest {
            title,
            timeout_seconds: number(self.minutes).map_or(defaults.timeout_seconds, |minutes| {
                minutes.saturating_mul(60)
            }),
            ..defaults.clone()
        };
        let tab = self.tab.get_untracked();
        if tab == Tab::Component {
            let choice = self.choice.get_untracked();
            let choice = choice.or_else(|| choices.first().cloned());
            return CommandRequest {
                component: choice.as_ref().map(|choice| choice.component.clone()),
                command: choice.map(|choice| choice.command),
                ..common
            };
        }
        let chosen = self.chosen.get_untracked();
        let text = Some(self.text.get_untracked());
        let (script, playbook) = match tab {
            Tab::Playbook => (None, text),
            _ => (text, None),
        };
        CommandRequest {
            servers: Some(if servers.iter().all(|name| chosen.contains(name)) {
                CommandServers::All(AllServers::All)
            } else {
                CommandServers::Named(chosen.into_iter().collect())
            }),
            script,
            playbook,
            as_root: self.as_root.get_untracked(),
            parallel: number(self.parallel).unwrap_or(defaults.parallel),
            max_failures: number(self.failures).ok(),
            ..common
        }
    }
}

#[component]
fn Form(
    deployment: Load<Deployment>,
    servers: Memo<Vec<String>>,
    /// The target that the form begins with.
    target: CommandTarget,
    open: RwSignal<bool>,
) -> impl IntoView {
    let mut chosen = servers.get_untracked();
    let only = match target {
        CommandTarget::AllServers => None,
        CommandTarget::Servers(names) => {
            chosen.retain(|server| names.contains(server));
            None
        }
        CommandTarget::Component(name) => Some(name),
    };
    let tab = if only.is_some() {
        Tab::Component
    } else {
        Tab::Script
    };
    let navigate = StoredValue::new_local(use_navigate());
    let leaving = use_leaving();
    let items = Memo::new(move |_| {
        let items = deployment.with(|it| it.map(|it| it.items.clone()));
        items.unwrap_or_default()
    });
    let catalog = Load::new(move || {
        let items = items.get();
        async move { client::catalog_of(&items).await }
    });
    let choices = Memo::new(move |_| {
        let entries = catalog.with(|all| all.cloned());
        deployment.with(|it| {
            it.map(|it| choices_of(it, &entries.unwrap_or_default(), only.as_deref()))
                .unwrap_or_default()
        })
    });
    let fields = Fields {
        tab: RwSignal::new(tab),
        text: RwSignal::new(String::new()),
        title: RwSignal::new(String::new()),
        chosen: RwSignal::new(chosen.into_iter().collect()),
        choice: RwSignal::new(None),
        as_root: RwSignal::new(true),
        parallel: RwSignal::new("5".to_owned()),
        failures: RwSignal::new(String::new()),
        minutes: RwSignal::new("10".to_owned()),
    };
    let problem = RwSignal::new(None::<Problem>);
    let is_busy = RwSignal::new(false);
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        let Some(it) = deployment.peek() else { return };
        if is_busy.get_untracked() {
            return;
        }
        is_busy.set(true);
        problem.set(None);
        let request = servers.with_untracked(|servers| {
            choices.with_untracked(|choices| fields.request(servers, choices))
        });
        leptos::task::spawn_local(async move {
            let started = client::command(&it.id, &request).await;
            is_busy.try_set(false);
            match started {
                Ok(started) => {
                    open.try_set(false);
                    navigate.try_with_value(|navigate| {
                        if leaving.can_leave() {
                            navigate(&format!("/runs/{}", started.run), Default::default());
                        }
                    });
                }
                Err(refused) => {
                    problem.try_set(Some(refused));
                }
            }
        });
    };
    let is_complete = move || match fields.tab.get() {
        Tab::Component => choices.with(|choices| !choices.is_empty()),
        _ => {
            fields.text.with(|text| !text.trim().is_empty())
                && fields.chosen.with(|chosen| !chosen.is_empty())
        }
    };
    view! {
        <form class="dialog-form" on:submit=submit>
            <Tabs tab=fields.tab />
            {move || match fields.tab.get() {
                Tab::Component => catalog.view(
                    || skeleton::rows(2),
                    move |_| view! { <Components choices choice=fields.choice /> },
                ),
                tab => view! { <Text tab text=fields.text as_root=fields.as_root /><Servers servers chosen=fields.chosen /> }.into_any(),
            }}
            <div class="command-numbers">
                {move || (fields.tab.get() != Tab::Component).then(|| view! {
                    <Number id="command-parallel" label="Servers at once" value=fields.parallel min="1" max="50" placeholder="" />
                    <Number id="command-failures" label="Stop after failures" value=fields.failures min="1" max="500" placeholder="never" />
                })}
                <Number id="command-minutes" label="Time limit, minutes" value=fields.minutes min="1" max="360" placeholder="" />
                <div class="field">
                    <label for="command-title">"Title"</label>
                    <input
                        class="input" id="command-title" maxlength="80" placeholder="for the list of runs" prop:value=fields.title
                        on:input=move |event| fields.title.set(event_target_value(&event))
                    />
                </div>
            </div>
            <ProblemNote problem />
            <div class="dialog-actions">
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                <button type="submit" class="button" data-look="primary" disabled=move || is_busy.get() || !is_complete()>
                    <Icon name="play" />
                    "Run"
                </button>
            </div>
        </form>
    }
}

#[component]
fn Tabs(tab: RwSignal<Tab>) -> impl IntoView {
    let tabs = [
        (Tab::Script, "Script"),
        (Tab::Playbook, "Playbook"),
        (Tab::Component, "Component's command"),
    ];
    let buttons = tabs.map(|(own, title)| {
        view! {
            <button type="button" aria-pressed=move || (tab.get() == own).to_string() on:click=move |_| tab.set(own)>{title}</button>
        }
    });
    view! { <div class="segments" role="group" aria-label="Kind of command">{buttons.collect_view()}</div> }
}

/// The text of a script or a playbook.
#[component]
fn Text(tab: Tab, text: RwSignal<String>, as_root: RwSignal<bool>) -> impl IntoView {
    let (label, help, example) = match tab {
        Tab::Playbook => (
            "Playbook",
            "Its hosts are `all`. It runs once for each server, in a sandbox without a network.",
            "- hosts: all\n  tasks:\n    - name: Show the load\n      command: uptime",
        ),
        _ => (
            "Script",
            "For /bin/sh, unless its first line names another interpreter (#!). It is never repeated by itself.",
            "systemctl --failed",
        ),
    };
    view! {
        <div class="field">
            <label for="command-text">{label}</label>
            <textarea
                class="input mono command-text" id="command-text" rows="8" spellcheck="false" required=true placeholder=example
                prop:value=text on:input=move |event| text.set(event_target_value(&event))
            ></textarea>
            <p class="help">{help}</p>
        </div>
        <label class="check">
            <input type="checkbox" prop:checked=as_root on:change=move |event| as_root.set(event_target_checked(&event)) />
            "As root"
        </label>
    }
}

#[component]
fn Servers(servers: Memo<Vec<String>>, chosen: RwSignal<BTreeSet<String>>) -> impl IntoView {
    let has_all = move || {
        servers
            .with(|servers| chosen.with(|chosen| servers.iter().all(|name| chosen.contains(name))))
    };
    let choose_all = move |event| {
        let all = servers.get_untracked().into_iter();
        chosen.set(if event_target_checked(&event) {
            all.collect()
        } else {
            BTreeSet::new()
        });
    };
    let boxes = move || {
        servers
            .get()
            .into_iter()
            .map(|name| {
                let (own, shown) = (StoredValue::new(name.clone()), name);
                let is_chosen = move || own.with_value(|own| chosen.with(|chosen| chosen.contains(own)));
                let toggle = move |event| {
                    let is_on = event_target_checked(&event);
                    chosen.update(|chosen| {
                        let own = own.get_value();
                        if is_on { chosen.insert(own) } else { chosen.remove(&own) };
                    });
                };
                view! {
                    <label class="check"><input type="checkbox" prop:checked=is_chosen on:change=toggle />{shown}</label>
                }
            })
            .collect_view()
    };
    view! {
        <fieldset class="command-servers">
            <legend>"Servers"</legend>
            <label class="check"><input type="checkbox" prop:checked=has_all on:change=choose_all />"All servers"</label>
            <div class="command-list">{boxes}</div>
        </fieldset>
    }
}

#[component]
fn Components(choices: Memo<Vec<Choice>>, choice: RwSignal<Option<Choice>>) -> impl IntoView {
    move || {
        let choices = choices.get();
        if choices.is_empty() {
            return view! {
                <p>"There are no commands. Items of the catalogue list theirs on their page."</p>
            }
            .into_any();
        }
        let rows = choices
            .into_iter()
            .enumerate()
            .map(|(number, one)| {
                let own = StoredValue::new(one.clone());
                let is_chosen = move || {
                    choice.with(|choice| match choice {
                        Some(choice) => own.with_value(|own| own == choice),
                        None => number == 0,
                    })
                };
                view! {
                    <label class="check command-choice">
                        <input
                            type="radio" name="command-choice" prop:checked=is_chosen
                            on:change=move |_| choice.set(Some(own.get_value()))
                        />
                        <span><strong>{format!("{}: {}", one.component, one.command)}</strong><span class="meta">{one.summary}</span></span>
                    </label>
                }
            })
            .collect_view();
        view! { <fieldset class="command-servers"><legend>"Command"</legend><div class="command-list">{rows}</div></fieldset> }.into_any()
    }
}

#[component]
fn Number(
    id: &'static str,
    label: &'static str,
    value: RwSignal<String>,
    min: &'static str,
    max: &'static str,
    placeholder: &'static str,
) -> impl IntoView {
    view! {
        <div class="field">
            <label for=id>{label}</label>
            <input
                class="input" id=id type="number" step="1" min=min max=max placeholder=placeholder prop:value=value
                on:input=move |event| value.set(event_target_value(&event))
            />
        </div>
    }
}

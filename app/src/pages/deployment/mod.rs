//! One deployment: outputs, resources and history.

pub mod compare;
pub mod design;
mod events;
mod items;
mod live;
mod next_steps;
mod outputs;
mod power;
pub mod remove;
mod roll_back;
pub mod runs;
mod services;
mod snapshots;
mod strays;
mod suspension;
pub mod undeploy;

use std::collections::HashMap;

use api::{
    DeployedResource, Deployment, DeploymentState, FindingKind, LiveResources, LiveServer,
    ResourceState, Run,
};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_navigate, use_params_map};

use self::design::{DesignVersionLink, KnownDesign, known_design};
use crate::{
    client::{self, Force},
    designer::board::Board,
    frame::{Crumb, use_frame},
    links::DesignLink,
    load::{Load, keep_fresh},
    operations::{
        check::{CheckSection, damage},
        command::{CommandButton, CommandTarget},
        groups::Groups,
        permission::PermissionSection,
        resource::{OperationDialogs, Operations, ResourceOperations},
    },
    pages::terminal,
    session::use_session,
    time::Ago,
    ui::{
        ACTIONS, Command, CopyButton, Icon, StateBadge, data_table, skeleton,
        state::DeploymentLook, use_palette,
    },
};

/// The page of `/deployments/:id`.
#[component]
pub fn DeploymentPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id")).unwrap_or_default());
    let deployment = Load::new(move || {
        let id = id.get();
        async move { client::deployment(&id).await }
    });
    let runs = Load::new(move || {
        let id = id.get();
        async move { client::runs(&id).await }
    });
    let busy = Memo::new(move |_| {
        deployment.with(|it| it.is_some_and(|it| it.state == DeploymentState::Running))
    });
    keep_fresh(busy, move || {
        deployment.reload();
        runs.reload();
    });
    let name = move || deployment.with(|it| it.map(|it| it.name.clone()));
    use_frame().crumbs(move || {
        vec![
            Crumb::link("Deployments", "/deployments"),
            Crumb::here(name().unwrap_or_else(|| String::from("Deployment"))),
        ]
    });
    let ask = undeploy::undeploy_action();
    let session = use_session();
    let undeploy = Command::new("Deployment", "trash-2", "Undeploy", move || {
        if let Some(deployment) = deployment.peek() {
            ask.run((deployment, Force::No));
        }
    });
    use_palette().register(vec![undeploy.when(move || {
        let state = deployment.with(|it| it.map(|it| it.state));
        session.can_change() && state.is_some_and(can_be_undeployed)
    })]);
    let is_here = Memo::new(move |_| deployment.with(|it| it.is_some()));
    let body = move || {
        if is_here.get() {
            view! { <Body deployment runs /> }.into_any()
        } else {
            let skeleton = || view! { <div class="page">{skeleton::rows(8)}</div> }.into_any();
            deployment.view(skeleton, |_| ())
        }
    };
    view! {
        <Title text=move || name().unwrap_or_else(|| String::from("Deployment")) />
        {body}
    }
}

/// True in the states in which an undeploy is offered.
fn can_be_undeployed(state: DeploymentState) -> bool {
    matches!(
        state,
        DeploymentState::Deployed | DeploymentState::Failed | DeploymentState::Suspended
    )
}

/// Each part reads only its own data, so that a changed state does not redraw the canvas.
#[component]
fn Body(deployment: Load<Deployment>, runs: Load<Vec<Run>>) -> impl IntoView {
    let head = part(deployment, |it| Deployment {
        resources: Vec::new(),
        groups: Vec::new(),
        services: Vec::new(),
        items: Vec::new(),
        check: None,
        permission: None,
        outputs: Default::default(),
        template: String::new(),
        beside: Default::default(),
        layout: Default::default(),
        ..it.clone()
    });
    let design = known_design(move || deployment.with(|it| it?.design.clone()));
    let operations = Operations::new(deployment);
    let servers = power::live_servers(deployment);
    let live = live::live_resources(deployment);
    let outputs = part(deployment, |it| it.outputs.clone());
    let resources = part(deployment, |it| {
        let damage = damage(it).into_iter();
        let damage = damage.map(|(name, kind)| (name.to_owned(), kind));
        (it.resources.clone(), damage.collect())
    });
    view! {
        <div class="page">
            {move || head.get().map(|it| view! { <Head it deployment runs design command=operations.command /> })}
            {move || outputs.get().map(|outputs| view! { <outputs::Outputs outputs=outputs.into_iter().collect() deployment /> })}
            <services::Services deployment />
            <Groups deployment />
            <items::Items deployment />
            <CheckSection checking=operations.checking />
            <snapshots::Snapshots deployment runs />
            <PermissionSection deployment />
            <Drawing operations />
            <live::OutdatedNote servers live />
            {move || resources.get().map(|(resources, damage)| {
                let id = deployment.peek().map(|it| it.id).unwrap_or_default();
                view! { <Resources resources damage deployment=id console=operations.console servers live /> }
            })}
            <OperationDialogs operations />
            <strays::Strays deployment />
            <runs::Runs deployment runs />
            <events::EventSection deployment />
        </div>
    }
}

fn part<T: PartialEq + Send + Sync + 'static>(
    deployment: Load<Deployment>,
    look: fn(&Deployment) -> T,
) -> Memo<Option<T>> {
    Memo::new(move |_| deployment.with(|it| it.map(look)))
}

#[component]
fn Head(
    it: Deployment,
    deployment: Load<Deployment>,
    runs: Load<Vec<Run>>,
    /// The state of its design.
    design: Load<Option<KnownDesign>>,
    /// The target of the dialog of a command.
    command: RwSignal<Option<CommandTarget>>,
) -> impl IntoView {
    let deployed = it.clone();
    let look = Memo::new(move |_| {
        runs.with(|runs| {
            let runs = runs.map(Vec::as_slice).unwrap_or_default();
            DeploymentLook::of(&deployed, runs)
        })
    });
    let version = it.design_version;
    let link = it.design.clone().map(|id| {
        view! { <span><DesignVersionLink id version known=design /></span> }
    });
    view! {
        <header class="page-head">
            <div>
                <h1>{it.name.clone()}</h1>
                <p class="deployment-line">
                    {move || view! { <StateBadge state=look.get() /> }}
                    <span>"by "{it.author.clone()}</span>
                    <span>"updated "<Ago time=it.updated.clone() /></span>
                    {link}
                </p>
            </div>
            <Actions it=it.clone() deployment runs design command />
        </header>
        <next_steps::NextSteps it runs />
    }
}

#[component]
fn Actions(
    it: Deployment,
    deployment: Load<Deployment>,
    runs: Load<Vec<Run>>,
    /// The state of its design.
    design: Load<Option<KnownDesign>>,
    /// The target of the dialog of a command.
    command: RwSignal<Option<CommandTarget>>,
) -> impl IntoView {
    let session = use_session();
    let locked = move || !session.can_change();
    let undeploy = undeploy::undeploy_action();
    let remove = remove::remove_action();
    let navigate = StoredValue::new_local(use_navigate());
    let to_list = Callback::new(move |()| {
        navigate.try_with_value(|navigate| navigate("/deployments", Default::default()));
    });
    let state = it.state;
    let to_change = it.design.as_ref().map(|design| {
        let link = DesignLink {
            design,
            deployment: Some(&it.id),
            ..DesignLink::default()
        };
        (link.editor(), link.plan())
    });
    let again = it.design.as_ref().map(|design| {
        let link = DesignLink {
            design,
            ..DesignLink::default()
        };
        link.plan()
    });
    let version = it.design_version;
    let is_deleted =
        Memo::new(move |_| design.with(|known| known == Some(&Some(KnownDesign::Deleted))));
    let is_outdated = Memo::new(move |_| {
        design.with(|known| {
            let known = known.and_then(Option::as_ref);
            known.is_some_and(|known| known.is_newer_than(version))
        })
    });
    let rolls_back = it.can_roll_back;
    let run = it.last_run.clone().map(|run| format!("/runs/{run}"));
    let ask = move |force: Force| {
        if let Some(deployment) = deployment.peek() {
            undeploy.run((deployment, force));
        }
    };
    // A failed undeploy can be repeated with force.
    let after_failed_undeploy = move || {
        state == DeploymentState::Failed
            && runs.with(|runs| {
                runs.and_then(|runs| {
                    runs.iter()
                        .filter(|run| !run.kind.keeps_deployment())
                        .max_by(|one, other| one.created.cmp(&other.created))
                })
                .is_some_and(|run| run.kind == api::RunKind::Undeploy)
            })
    };
    let is_changeable = matches!(state, DeploymentState::Deployed | DeploymentState::Failed);
    let exists = can_be_undeployed(state);
    view! {
        <div class="page-actions">
            {(state == DeploymentState::Running).then_some(run).flatten().map(|run| view! {
                <a class="button" data-look="primary" href=run><Icon name="eye" />"Watch the run"</a>
            })}
            {(is_changeable || state == DeploymentState::Running).then_some(to_change).flatten().map(|(editor, plan)| {
                let change = move || (!is_deleted.get()).then(|| view! {
                    <a class="button" href=editor.clone()><Icon name="pencil" />"Change"</a>
                });
                let update = move || (is_changeable && is_outdated.get()).then(|| view! {
                    <a class="button" href=plan.clone() title="Plan the update to the newest version of the design"><Icon name="rocket" />"Update"</a>
                });
                view! { {update}{change} }
            })}
            {(state == DeploymentState::Undeployed).then_some(again).flatten().map(|again| move || (!is_deleted.get()).then(|| view! {
                <a class="button" data-look="primary" href=again.clone()><Icon name="rocket" />"Deploy again"</a>
            }))}
            {(state == DeploymentState::Undeployed).then(|| view! {
                <button
                    type="button" class="button" data-look="danger-quiet" disabled=locked
                    on:click=move |_| if let Some(deployment) = deployment.peek() { remove.run((vec![deployment], to_list)) }
                >
                    <Icon name="trash-2" />
                    "Remove"
                </button>
            })}
            <CommandButton deployment target=command />
            <suspension::SuspensionButtons deployment runs />
            {rolls_back.then(|| view! { <roll_back::RollBackButton deployment runs /> })}
            {exists.then(|| view! {
                <button
                    type="button" class="button" data-look="danger-quiet" disabled=locked
                    on:click=move |_| ask(Force::No)
                >
                    <Icon name="trash-2" />
                    "Undeploy"
                </button>
            })}
            {move || after_failed_undeploy().then(|| view! {
                <button
                    type="button" class="button" data-look="danger" disabled=locked
                    on:click=move |_| ask(Force::Yes)
                >
                    "Force undeploy"
                </button>
            })}
        </div>
    }
}

#[component]
fn Drawing(operations: Operations) -> impl IntoView {
    let deployment = operations.deployment;
    let template = Memo::new(move |_| {
        deployment
            .with(|it| it.map(|it| it.template.clone()))
            .unwrap_or_default()
    });
    let layout = Memo::new(move |_| {
        deployment
            .with(|it| it.map(|it| it.layout.clone()))
            .unwrap_or_default()
    });
    let beside = Memo::new(move |_| {
        deployment
            .with(|it| it.map(|it| it.beside.clone()))
            .unwrap_or_default()
    });
    let states = Memo::new(move |_| operations.states());
    let selected = RwSignal::new(None::<String>);
    view! {
        <section class="section" aria-label="Drawing">
            <h2>"Drawing"</h2>
            <div class="panel deployment-board" on:wheel:capture=keep_scrolling><Board template beside layout states selected /></div>
            {move || selected.get().map(|name| view! {
                <div class="drawing-selection">
                    <strong>{name.clone()}</strong>
                    <ResourceOperations operations name />
                </div>
            })}
        </section>
    }
}

/// Scrolls the page by the wheel. With Ctrl the wheel zooms the drawing.
fn keep_scrolling(event: leptos::ev::WheelEvent) {
    if !event.ctrl_key() {
        event.stop_propagation();
    }
}

#[component]
fn Resources(
    resources: Vec<DeployedResource>,
    /// Damage that the last check has found, by resource name.
    damage: HashMap<String, FindingKind>,
    deployment: String,
    /// Name of the server whose console is shown.
    console: RwSignal<Option<String>>,
    /// The servers as the cloud has them.
    servers: Load<Vec<LiveServer>>,
    /// Other resources as the cloud has them.
    live: Load<LiveResources>,
) -> impl IntoView {
    let session = use_session();
    let count = resources.len();
    let rows = resources.into_iter().enumerate()
        .map(|(number, resource)| {
            let is_server = resource.resource_type == terminal::SERVER;
            let has_id = resource.physical_id.is_some();
            let has_console = is_server && has_id;
            let console_button = has_console.then(|| {
                let server = resource.name.clone();
                let label = format!("Console of {server}");
                move || session.can_change().then(|| {
                    let server = server.clone();
                    view! {
                        <button
                            type="button" class="button" data-size="small" aria-label=label.clone()
                            on:click=move |_| console.set(Some(server.clone()))
                        >
                            <Icon name="monitor" />
                            "Console"
                        </button>
                    }
                })
            });
            let id = resource.physical_id.map(|id| view! {
                <span class="id-cell"><code class="id">{id.clone()}</code><CopyButton text=id label=format!("Copy the id of {}", resource.name) /></span>
            });
            let has_terminal = is_server && resource.state == ResourceState::Ready;
            let terminal = has_terminal.then(|| {
                let (deployment, name) = (deployment.clone(), resource.name.clone());
                view! { <power::TerminalButton deployment name servers /> }
            });
            let is_suspended = resource.state == ResourceState::Suspended;
            let power = (has_console && !is_suspended).then(|| {
                let (deployment, name) = (deployment.clone(), resource.name.clone());
                view! { <power::PowerMenu deployment name number servers /> }
            });
            let server_state = has_console.then(|| view! { <power::LiveState name=resource.name.clone() is_suspended servers /> });
            let other_state = has_id.then(|| view! { <live::LiveNote name=resource.name.clone() live /> });
            let state = match damage.get(&resource.name) {
                Some(kind) => view! { <StateBadge state=*kind /> }.into_any(),
                None => view! { <StateBadge state=resource.state /> }.into_any(),
            };
            view! {
                <tr data-resource=resource.name.clone()>
                    <td>
                        {resource.name.clone()}
                        {resource.derived.then(|| view! { " "<span class="pill" data-tone="derived">"added for you"</span> })}
                    </td>
                    <td class="quiet">{resource.resource_type}</td>
                    <td>{state}{server_state}{other_state}</td>
                    <td>{id}</td>
                    <td class="fit"><div class="row-actions">{console_button}{terminal}{power}</div></td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section class="section" aria-label="Resources">
            <div class="section-head"><h2>"Resources"</h2><span class="meta">{count}</span></div>
            {if count == 0 {
                view! { <p class="quiet">"This deployment has no resources in the cloud. Its runs and their logs stay."</p> }.into_any()
            } else {
                data_table(["Name", "Type", "State", "Id in the cloud", ACTIONS], rows).into_any()
            }}
        </section>
    }
}

//! Operations on resources of a deployment: the ones that apply, their buttons, and their dialogs.

use std::collections::HashMap;

use api::{Deployment, Named as _, ResourceState};
use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

use super::{
    check::{Checking, FindingNote, damage},
    command::{
        CommandDialog, CommandTarget, exists, has_command_targets, servers_of, takes_commands,
    },
    console::ConsoleDialog,
    groups::{ScaleDialog, is_locked},
    service::ServiceNote,
};
use crate::{
    links,
    load::Load,
    session::{Session, use_session},
    ui::{Command, Icon, use_leaving, use_palette},
};

/// An operation on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sets the size of a group.
    Scale(String),
    /// Runs a command on servers, or a command of a component.
    Command(CommandTarget),
    /// Opens the terminal of a server.
    Terminal(String),
    /// Shows the console of a server.
    Console(String),
}

impl Operation {
    /// Icon of its button.
    pub fn icon(&self) -> &'static str {
        match self {
            Self::Scale(_) => "layers",
            Self::Command(_) => "play",
            Self::Terminal(_) => "terminal",
            Self::Console(_) => "monitor",
        }
    }

    /// Text of its button.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Scale(_) => "Scale",
            Self::Command(_) => "Run a command",
            Self::Terminal(_) => "Open a terminal",
            Self::Console(_) => "Show the console",
        }
    }
}

/// The operations on a deployment that a page offers, and the state of their dialogs.
#[derive(Clone, Copy)]
pub struct Operations {
    /// The deployment.
    pub deployment: Load<Deployment>,
    /// Its check and its repair.
    pub checking: Checking,
    /// Target of the open dialog of a command.
    pub command: RwSignal<Option<CommandTarget>>,
    /// The server whose console is shown.
    pub console: RwSignal<Option<String>>,
    /// The group whose dialog is open.
    scaling: RwSignal<Option<String>>,
    session: Session,
    navigate: Callback<String>,
}

impl Operations {
    /// Operations on the current page's deployment. The page shows their dialogs with [`OperationDialogs`].
    pub fn new(deployment: Load<Deployment>) -> Operations {
        let navigate = StoredValue::new_local(use_navigate());
        let leaving = use_leaving();
        let operations = Operations {
            deployment,
            checking: Checking::new(deployment),
            command: RwSignal::new(None),
            console: RwSignal::new(None),
            scaling: RwSignal::new(None),
            session: use_session(),
            navigate: Callback::new(move |address: String| {
                if leaving.can_leave() {
                    navigate.try_with_value(|navigate| {
                        navigate(&address, NavigateOptions::default());
                    });
                }
            }),
        };
        operations.register();
        operations
    }

    /// Adds commands to the command palette, until the page closes.
    fn register(self) {
        let check = Command::new(
            "Deployment",
            "refresh-cw",
            "Check the deployment",
            move || {
                self.checking.check();
            },
        );
        let repair = Command::new(
            "Deployment",
            "wrench",
            "Repair what the check found",
            move || self.checking.repair(),
        );
        let command = Command::new(
            "Deployment",
            "play",
            "Run a command on servers",
            move || {
                self.start(Operation::Command(CommandTarget::AllServers));
            },
        );
        use_palette().register(vec![
            check.when(move || self.checking.can_check()),
            repair.when(move || self.checking.can_repair()),
            command.when(move || {
                self.is_permitted()
                    && self
                        .deployment
                        .with(|it| it.is_some_and(has_command_targets))
            }),
        ]);
    }

    /// True if the user may start operations. Tracks.
    pub fn is_permitted(self) -> bool {
        self.session.can_change()
    }

    /// The operations that apply to the resources of these names. None for users who may not change anything. Tracks.
    pub fn on(self, names: &[String]) -> Vec<Operation> {
        if !self.is_permitted() {
            return Vec::new();
        }
        self.deployment
            .with(|it| it.map(|it| applicable(it, names)).unwrap_or_default())
    }

    /// Starts an operation, or opens its dialog.
    pub fn start(self, operation: Operation) {
        match operation {
            Operation::Scale(group) => {
                self.scaling.try_set(Some(group));
            }
            Operation::Command(target) => {
                self.command.try_set(Some(target));
            }
            Operation::Console(server) => {
                self.console.try_set(Some(server));
            }
            Operation::Terminal(server) => {
                if let Some(it) = self.deployment.peek() {
                    self.navigate.run(links::terminal(&it.id, &server));
                }
            }
        }
    }

    /// API names of the states of the resources, by name. Damage that the last check has found comes first. Tracks.
    pub fn states(self) -> HashMap<String, String> {
        self.deployment
            .with(|it| it.map(states).unwrap_or_default())
    }
}

/// The operations that apply to the resources of these names. Of several resources, only the servers have one in common.
fn applicable(deployment: &Deployment, names: &[String]) -> Vec<Operation> {
    let mut found = Vec::new();
    let single = match names {
        [name] => Some(name),
        _ => None,
    };
    if let Some(name) = single
        && !is_locked(deployment.state)
        && deployment.groups.iter().any(|group| group.name == *name)
    {
        found.push(Operation::Scale(name.clone()));
    }
    let resource = single.and_then(|name| {
        let mut resources = deployment.resources.iter();
        resources.find(|resource| resource.name == *name)
    });
    if takes_commands(deployment) {
        let mut servers = servers_of(deployment);
        servers.retain(|server| names.iter().any(|name| is_part_of(server, name)));
        if !servers.is_empty() {
            found.push(Operation::Command(CommandTarget::Servers(servers)));
        }
        if let Some(resource) = resource
            && resource.resource_type.starts_with(types::CATALOG)
            && exists(resource)
        {
            let target = CommandTarget::Component(resource.name.clone());
            found.push(Operation::Command(target));
        }
    }
    if let Some(server) = resource.filter(|one| one.resource_type == types::SERVER) {
        if server.state == ResourceState::Ready {
            found.push(Operation::Terminal(server.name.clone()));
        }
        if server.physical_id.is_some() {
            found.push(Operation::Console(server.name.clone()));
        }
    }
    found
}

/// True for a resource and for the members of a group: `web/0` is a part of `web`.
fn is_part_of(resource: &str, name: &str) -> bool {
    let rest = resource.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// API names of the states of drawn resources, by resource name.
fn states(deployment: &Deployment) -> HashMap<String, String> {
    let damage = damage(deployment);
    let resources = deployment.resources.iter();
    resources
        // Resources that a pass adds to members are not drawn.
        .filter(|resource| !resource.derived || !resource.name.contains('/'))
        .map(|resource| {
            let damage = damage.get(resource.name.as_str());
            let word = damage.map_or(resource.state.word(), |kind| kind.word());
            (resource.name.clone(), word.to_owned())
        })
        .collect()
}

/// The dialogs of a page's operations.
#[component]
pub fn OperationDialogs(
    /// The page's operations.
    operations: Operations,
) -> impl IntoView {
    let Operations {
        deployment,
        command,
        console,
        scaling,
        ..
    } = operations;
    let id = Memo::new(move |_| deployment.with(|it| it.map(|it| it.id.clone())));
    view! {
        <ScaleDialog deployment group=scaling />
        <CommandDialog deployment target=command />
        {move || id.get().map(|deployment| view! { <ConsoleDialog deployment server=console /> })}
    }
}

/// The finding of the last check on a resource, its service, and buttons for the operations that apply. Nothing without
/// all three.
#[component]
pub fn ResourceOperations(
    /// The page's operations.
    operations: Operations,
    /// Name of the resource.
    #[prop(into)]
    name: Signal<String>,
) -> impl IntoView {
    let found = Memo::new(move |_| operations.on(&[name.get()]));
    let buttons = move || {
        let found = found.get();
        (!found.is_empty()).then(|| {
            let buttons = found.into_iter().map(|operation| {
                let (icon, label) = (operation.icon(), operation.label());
                view! {
                    <button
                        type="button" class="button" data-size="small"
                        on:click=move |_| operations.start(operation.clone())
                    >
                        <Icon name=icon />
                        {label}
                    </button>
                }
            });
            view! { <div class="resource-operations" role="group" aria-label="Operations">{buttons.collect_view()}</div> }
        })
    };
    view! {
        <FindingNote deployment=operations.deployment name />
        <ServiceNote deployment=operations.deployment name />
        {buttons}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deployment with a server, a group of two servers, and a component.
    fn shop(state: &str) -> Deployment {
        let resource = |name: &str, resource_type: &str| {
            serde_json::json!({
                "name": name, "type": resource_type, "physical_id": "id", "state": "ready", "derived": false,
            })
        };
        let deployment = serde_json::json!({
            "id": "d", "name": "shop", "state": state, "created": "", "updated": "", "author": "ann", "last_run": null,
            "resources": [
                resource("web/0", types::SERVER),
                resource("web/1", types::SERVER),
                resource("db", types::SERVER),
                resource("mysql", "Stackloom::Catalog::MySQL"),
                resource("net", types::NET),
            ],
            "groups": [{"name": "web", "size": 2, "min_size": 1, "max_size": 5, "policies": []}],
        });
        serde_json::from_value(deployment).unwrap()
    }

    fn on(state: &str, names: &[&str]) -> Vec<Operation> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        applicable(&shop(state), &names)
    }

    fn command(servers: &[&str]) -> Operation {
        let servers = servers.iter().map(|&name| name.to_owned()).collect();
        Operation::Command(CommandTarget::Servers(servers))
    }

    #[test]
    fn each_resource_has_the_operations_of_its_type() {
        assert_eq!(
            on("deployed", &["web"]),
            [
                Operation::Scale("web".to_owned()),
                command(&["web/0", "web/1"])
            ]
        );
        assert_eq!(
            on("deployed", &["db"]),
            [
                command(&["db"]),
                Operation::Terminal("db".to_owned()),
                Operation::Console("db".to_owned()),
            ]
        );
        let component = CommandTarget::Component("mysql".to_owned());
        assert_eq!(on("deployed", &["mysql"]), [Operation::Command(component)]);
        assert!(on("deployed", &["net"]).is_empty());
    }

    #[test]
    fn several_resources_share_a_command_on_their_servers() {
        assert_eq!(
            on("deployed", &["net", "db", "web"]),
            [command(&["web/0", "web/1", "db"])]
        );
        assert!(on("deployed", &["net", "mysql"]).is_empty());
    }

    #[test]
    fn a_group_is_not_scaled_during_a_run_and_nothing_runs_while_suspended() {
        assert_eq!(on("running", &["web"]), [command(&["web/0", "web/1"])]);
        assert!(on("suspended", &["web"]).is_empty());
        assert!(on("suspended", &["mysql"]).is_empty());
    }

    #[test]
    fn damage_that_a_check_has_found_hides_the_recorded_state() {
        let mut deployment = shop("deployed");
        let check = serde_json::json!({
            "id": "c", "time": "2026-01-01T00:00:00Z", "author": "ann", "checked": 5,
            "findings": [
                {"resource": "db", "type": types::SERVER, "kind": "gone"},
                {"resource": "net", "type": types::NET, "kind": "not_compared"},
            ],
        });
        deployment.check = Some(serde_json::from_value(check).unwrap());
        let states = states(&deployment);
        assert_eq!(states["db"], "gone");
        assert_eq!(states["net"], "ready", "no damage");
        assert_eq!(states["mysql"], "ready");
    }
}

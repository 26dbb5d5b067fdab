//! Steps that delete resources, and their order.
//!
//! ```text
//! early removals -> creations, updates, moves -> late removals
//! ```
//! Removals are late by default: nothing is deleted before all new resources exist and the dependents of the old ones
//! have moved over, so that a failure leaves working resources. A removal is early if the resource conflicts with its
//! own successor ([`exclusive`](super::exclusive)) or with a copy that is restored; its dependents are deleted with it.
//! Within both parts, dependents are deleted first, by the deployed requirements, also through resources that stay.
//! Dependencies lead from left to right only, and each of the three parts is ordered by one graph without circles, so the
//! whole has none.
//!
//! There is one order beyond the requirements: a floating IP is deleted after the servers at its port. If it were
//! removed from an existing server, Nova would read the server's whole network again, which increases the work by half.
//!
//! Components are removed with their server, or from the stored state: in both cases the cloud has no object for them.
//! If the server stays, a component whose item brings a removal runs it, and so does a software deployment that acts on
//! DELETE ([`last_runs`](super::last_runs)).

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    exclusive::{self, LOAD_BALANCER},
    ordering::Nearest,
    time_limits::RESOURCE_SECONDS,
    *,
};
use crate::{
    members::is_parent,
    workflow::{Step, StepKind, copy_of},
};
use hot::expr::Expr;
use types::{CATALOG, FLOATING_IP, PORT, ROUTER_INTERFACE, SERVER};

/// Removal of one resource.
pub(super) struct Removal<'a> {
    /// Name of the resource at that time.
    pub name: String,
    /// The resource itself, or the resource that this is a copy of.
    resource: &'a str,
    /// Present name.
    row: &'a str,
    pub spec: &'a ResourceSpec,
    /// Id of the step.
    id: String,
    early: bool,
}

impl Removal<'_> {
    fn is(&self, resource_type: &str) -> bool {
        self.spec.resource_type == resource_type
    }

    /// True if the object in the cloud is deleted: false for retained and for external resources.
    fn is_removed(&self) -> bool {
        self.spec.external_id.is_none() && self.spec.deletion_policy.is_delete()
    }
}

/// One of the two parts of the removal steps.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum RemovalPhase {
    /// Before creations and updates.
    Early,
    /// After them.
    Late,
}

/// All resources to delete.
pub(super) struct Removals<'a> {
    all: Vec<Removal<'a>>,
    /// The older copy of each replaced resource.
    pub copies: HashMap<&'a str, String>,
    /// Ids of the removal steps that must be done before a resource is created or changed.
    before: HashMap<&'a str, Vec<String>>,
    /// Dependencies of the deployed resources, all by present names.
    required: HashMap<&'a str, Vec<&'a str>>,
    /// The removed resources that each removed one requires, directly or through resources that stay, by present names.
    required_removed: Nearest<'a>,
}

impl<'a> Removals<'a> {
    /// Removals for these changes, ordered.
    pub fn of(
        model: &'a Model,
        deployed: &'a Deployed,
        changes: &'a [Change],
        types: &Registry,
    ) -> Removals<'a> {
        let by_name: HashMap<&str, &Change> = changes
            .iter()
            .map(|change| (change.resource.as_str(), change))
            .collect();
        let action = |name: &str| by_name.get(name).map(|change| change.action);
        let is_component = |spec: &ResourceSpec| {
            types
                .get(&spec.resource_type)
                .is_some_and(|described| described.runs_on_server())
        };
        let mut copies = HashMap::new();
        let mut all = Vec::new();
        let mut required: HashMap<&str, Vec<&str>> = deployed
            .resources
            .iter()
            .map(|(name, spec)| (name.as_str(), required(deployed, name, spec)))
            .collect();
        let order = in_order(deployed, &mut required);
        for name in order.iter().rev().copied() {
            let spec = &deployed.resources[name];
            let new = model.get(name);
            match (new, action(name)) {
                (None, _) => {
                    if is_component(spec) {
                        // Removed with its server, unless the server stays.
                        let host = spec.host();
                        if host.is_none_or(|host| model.get(host).is_none()) {
                            continue;
                        }
                    }
                    all.push(Removal {
                        name: name.to_owned(),
                        resource: copy_of(name).unwrap_or(name),
                        row: name,
                        spec,
                        id: format!("{name}:delete"),
                        early: false,
                    });
                }
                (Some(_), _) if is_component(spec) => {}
                // A resource whose creation was not finished can exist nevertheless, as described at that time.
                (Some(new), Some(done @ (Action::Replace | Action::Create)))
                    if done == Action::Replace || new.properties != spec.properties =>
                {
                    let copy = deployed.next_copy(name);
                    copies.insert(name, copy.clone());
                    all.push(Removal {
                        name: copy,
                        resource: name,
                        row: name,
                        spec,
                        id: delete_old_id(name),
                        early: false,
                    });
                }
                _ => {}
            }
        }
        let going: HashSet<&str> = all.iter().map(|removal| removal.row).collect();
        let mut required_removed = Nearest::default();
        for row in order {
            let before = required[row].iter().copied();
            if going.contains(row) {
                let removed = required_removed.of(before);
                required_removed.add(row, removed);
            } else if !is_parent(&deployed.resources[row].resource_type) {
                // A group or nested template gives no order, as in Heat, which removes its members in its update.
                required_removed.skip(row, before);
            }
        }
        let mut removals = Removals {
            all,
            copies,
            before: HashMap::new(),
            required,
            required_removed,
        };
        removals.choose_early(model, deployed, changes, &by_name);
        removals
    }

    /// Marks removals as early that block something, with the resources that depend on them.
    fn choose_early(
        &mut self,
        model: &'a Model,
        deployed: &'a Deployed,
        changes: &'a [Change],
        by_name: &HashMap<&str, &'a Change>,
    ) {
        let is_replaced = |name: &str| {
            let change = by_name.get(name);
            change.is_some_and(|change| change.action == Action::Replace && !change.may)
        };
        let scope = exclusive::Scope {
            deployed,
            model,
            is_replaced: &is_replaced,
        };
        let going: Vec<&str> = self.all.iter().map(|removal| removal.row).collect();
        let mut first: HashMap<&str, Vec<&str>> = exclusive::early(&scope, &going, changes);
        for removal in &self.all {
            // A server that never became active holds ports that the other copy needs.
            let is_blocking = removal.resource != removal.row
                && removal.spec.resource_type == SERVER
                && !deployed.is_in_order(removal.row);
            if is_blocking {
                first.entry(removal.row).or_default().push(removal.resource);
            }
        }
        if first.is_empty() {
            return;
        }
        let mut early: HashMap<&str, &str> = HashMap::new();
        // Dependents come before their requirements, so one traversal from the end reaches all.
        for removal in self.all.iter_mut().rev() {
            let own = removal.spec.resource_type.as_str();
            let vanishes = self.copies.get(removal.resource) != Some(&removal.name);
            let hangs = self.required[removal.row].iter().any(|row| {
                let on = early.get(row);
                on.is_some_and(|on| vanishes || exclusive::is_held(own, on))
            });
            if hangs || first.contains_key(removal.row) {
                removal.early = true;
                early.insert(removal.row, own);
            }
        }
        for removal in self.all.iter().filter(|removal| removal.early) {
            let waiting_by_row = first.get(removal.row).into_iter().flatten().copied();
            let own = (self.copies.get(removal.resource) == Some(&removal.name))
                .then_some(removal.resource);
            // Its requirements that are updated in place are updated after it is deleted, for example a router's
            // gateway.
            let changed = self.required[removal.row].iter().copied().filter(|row| {
                let change = by_name.get(row);
                change.is_some_and(|change| change.action == Action::Update)
            });
            let waiting: BTreeSet<&str> = waiting_by_row.chain(own).chain(changed).collect();
            for name in waiting {
                let before = self.before.entry(name).or_default();
                before.push(removal.id.clone());
            }
        }
    }

    /// True if the old resource is deleted before all other steps.
    pub fn is_early(&self, resource: &str) -> bool {
        let copy = self.copies.get(resource);
        self.all
            .iter()
            .any(|removal| removal.early && Some(&removal.name) == copy)
    }

    /// Ids of the removal steps that must be done before the resource is created or changed.
    pub fn before(&self, resource: &str) -> &[String] {
        self.before.get(resource).map_or(&[], Vec::as_slice)
    }

    /// Appends the removal steps of one phase. `done` returns the step that completes a resource; `steps` contains the
    /// creations and updates.
    pub fn steps(
        &self,
        phase: RemovalPhase,
        done: &dyn Fn(&str) -> Option<String>,
        steps: &mut Vec<Step>,
    ) {
        let early = phase == RemovalPhase::Early;
        let final_steps = if early {
            Vec::new()
        } else {
            final_steps(steps)
        };
        let late: HashSet<&str> = self
            .all
            .iter()
            .filter(|removal| !removal.early)
            .map(|removal| removal.id.as_str())
            .collect();
        let removed: HashMap<&str, &Removal<'_>> = self
            .all
            .iter()
            .map(|removal| (removal.row, removal))
            .collect();
        let mut dependents: HashMap<&str, Vec<&str>> = HashMap::new();
        for (row, required) in &self.required {
            for required in required {
                dependents.entry(required).or_default().push(row);
            }
        }
        let mut first: HashMap<&str, Vec<&Removal<'_>>> = HashMap::new();
        for removal in &self.all {
            for row in self.required_removed.before(removal.row) {
                first.entry(row).or_default().push(removal);
            }
        }
        let deleted_with_balancer = self.deleted_with_balancer();
        let free = if early {
            HashSet::new()
        } else {
            self.free_addresses()
        };
        let waits_for = |removal: &Removal<'_>| {
            let on_it = || dependents.get(removal.row).into_iter().flatten();
            let first = first.get(removal.row).into_iter().flatten();
            let first = first.filter(|other| !early || other.early);
            let mut after: BTreeSet<String> = first.map(|other| other.id.clone()).collect();
            if early && removal.spec.resource_type == ROUTER_INTERFACE {
                // Floating IPs that depend on the interface are released when their ports are deleted.
                after.extend(self.ports_behind(removal).map(|port| port.id.clone()));
            }
            if free.contains(removal.row) {
                let ports = self.required[removal.row].iter();
                let ports =
                    ports.filter(|row| removed.get(*row).is_some_and(|other| other.is(PORT)));
                let at_them = ports.filter_map(|port| dependents.get(port)).flatten();
                let servers = at_them.filter_map(|row| removed.get(row));
                let servers = servers.filter(|other| other.is(SERVER) && !other.early);
                after.extend(servers.map(|server| server.id.clone()));
            }
            let waits = after.iter().any(|id| late.contains(id.as_str()));
            if !early {
                after.extend(on_it().filter_map(|row| done(copy_of(row).unwrap_or(row))));
                after.extend(done(removal.resource));
                if !waits {
                    after.extend(final_steps.iter().cloned());
                }
            }
            after
        };
        let start = steps.len();
        for removal in self.all.iter().filter(|removal| removal.early == early) {
            let mut after = waits_for(removal);
            if let Some(with) = deleted_with_balancer
                .get(removal.row)
                .and_then(|with| removed.get(with))
            {
                after = BTreeSet::from([with.id.clone()]);
            } else if removal.spec.resource_type == LOAD_BALANCER {
                let pieces = || {
                    let of_it = self.all.iter();
                    of_it.filter(|piece| deleted_with_balancer.get(piece.row) == Some(&removal.row))
                };
                after.extend(pieces().flat_map(&waits_for));
                for piece in pieces() {
                    after.remove(&piece.id);
                }
                after.remove(&removal.id);
            }
            let id = removal.id.clone();
            let after = after.into_iter().collect();
            steps.push(Step {
                // The old resource is deleted before its successor is created, so this step takes its name.
                replaces: (removal.early && removal.name != removal.resource)
                    .then(|| removal.name.clone())
                    .filter(|_| self.copies.get(removal.resource) == Some(&removal.name)),
                ..Step::new(
                    id,
                    StepKind::Delete,
                    Some(&removal.name),
                    after,
                    RESOURCE_SECONDS,
                )
            });
        }
        if early || !deleted_with_balancer.is_empty() || !free.is_empty() {
            sort(&mut steps[start..]);
        }
    }

    /// Parts of load balancers that are deleted as a whole, each with its load balancer.
    ///
    /// The deletion of a load balancer includes its parts. Deleted one by one, each part would wait for the lock of the
    /// previous one, and one part in state ERROR would block all of them. Parts are deleted one by one only if a
    /// resource of another kind is between two of them (a server that uses the address, and whose address a member
    /// has).
    fn deleted_with_balancer(&self) -> HashMap<&'a str, &'a str> {
        let mut deleted_with_balancer: HashMap<&str, &str> = HashMap::new();
        let balancers = self
            .all
            .iter()
            .filter(|removal| removal.spec.resource_type == LOAD_BALANCER && removal.is_removed());
        for balancer in balancers {
            let mut pieces: HashSet<&str> = HashSet::new();
            // Resources that depend on the load balancer or its parts and are not parts.
            let mut between: HashSet<&str> = HashSet::new();
            let mut together = true;
            for removal in self.all.iter().rev() {
                let is_of_it = |row: &&str| *row == balancer.row || pieces.contains(row);
                let on_it = self.required[removal.row].iter().any(is_of_it);
                let required = self.required_removed.before(removal.row);
                let behind_it = required.iter().any(is_of_it);
                let on_others = required.iter().any(|row| between.contains(row));
                let is_piece = removal.spec.resource_type.starts_with("OS::Octavia::");
                if on_it && is_piece {
                    together &= !on_others && removal.early == balancer.early;
                    together &= removal.is_removed();
                    pieces.insert(removal.row);
                } else if behind_it || on_others {
                    between.insert(removal.row);
                }
            }
            if together {
                deleted_with_balancer.extend(pieces.into_iter().map(|piece| (piece, balancer.row)));
            }
        }
        deleted_with_balancer
    }

    /// Floating IPs that are deleted late and depend on no deleted server. They can wait for servers, because no server
    /// waits for them.
    fn free_addresses(&self) -> HashSet<&'a str> {
        let mut behind_server: HashSet<&str> = HashSet::new();
        let mut free = HashSet::new();
        // Dependents come before their requirements, so one traversal from the end reaches all.
        for removal in self.all.iter().rev() {
            let behind = || {
                let mut required = self.required_removed.before(removal.row).iter();
                required.any(|row| behind_server.contains(row))
            };
            if removal.is(SERVER) || behind() {
                behind_server.insert(removal.row);
            } else if removal.is(FLOATING_IP) && !removal.early {
                free.insert(removal.row);
            }
        }
        free
    }

    /// Ports that are deleted early and have addresses of the subnet of a router interface. Ports that the interface
    /// depends on wait for the interface.
    fn ports_behind<'s>(&'s self, foot: &'s Removal<'a>) -> impl Iterator<Item = &'s Removal<'a>> {
        let subnet = foot.spec.properties.get("subnet").and_then(graph::target);
        self.all.iter().filter(move |port| {
            port.early
                && port.spec.resource_type == PORT
                && subnet.is_some_and(|subnet| self.required[port.row].contains(&subnet))
                && !self.depends_on(foot.row, port.row)
        })
    }

    /// True if `row` requires `other`, directly or indirectly.
    fn depends_on(&self, row: &str, other: &str) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![row];
        while let Some(row) = open.pop() {
            for required in self.required.get(row).into_iter().flatten() {
                if *required == other {
                    return true;
                }
                if seen.insert(*required) {
                    open.push(required);
                }
            }
        }
        false
    }

    /// Descriptions of the deleted resources, by their names at that time.
    pub fn into_resources(self) -> impl Iterator<Item = (String, ResourceSpec)> {
        self.all
            .into_iter()
            .map(|removal| (removal.name, removal.spec.clone()))
    }
}

/// Id of the step that deletes a replaced resource.
pub(super) fn delete_old_id(name: &str) -> String {
    format!("{name}:delete-old")
}

/// Dependencies of a resource: those in its description, among the copies of its time, and the resources whose ids it
/// was created from. Software also depends on components of which it has the address only: it is changed or removed before
/// they go.
pub(super) fn required<'a>(
    deployed: &'a Deployed,
    name: &'a str,
    spec: &'a ResourceSpec,
) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    let own = copy_of(name).unwrap_or(name);
    let is_component = spec.resource_type.starts_with(CATALOG);
    let values = spec.properties.values().filter(|_| is_component);
    let by_address = values.flat_map(Expr::resources);
    let by_address = by_address.filter(|name| !spec.requires.iter().any(|one| one == name));
    let required = spec.requires.iter().map(String::as_str);
    for wanted in required.chain(by_address).filter(|wanted| *wanted != own) {
        let mut copies = deployed.copies(wanted).peekable();
        let there = deployed.resources.get_key_value(wanted);
        let there = there.map(|(name, _)| name.as_str());
        if copies.peek().is_none() || copy_of(name).is_none() {
            found.extend(there);
        }
        for copy in copies {
            // If that name does not exist, a removal has renamed the resource and failed: it has the copy's name.
            if copy_of(name).is_some() || there.is_none() || deployed.is_made_from(name, copy) {
                found.push(copy);
            }
        }
    }
    found
}

/// Orders removals so that dependents come before their requirements. Resources were stored at different times, so the
/// explicit orders of two templates can contradict each other: `depends_on` was reversed, and one of the two resources
/// was unchanged. Components can have each other's addresses. The resources must be deleted nevertheless, so an explicit
/// order or one by address is dropped, but a dependency by value is not.
pub(super) fn in_order<'a>(
    deployed: &'a Deployed,
    required: &mut HashMap<&'a str, Vec<&'a str>>,
) -> Vec<&'a str> {
    let names: Vec<&str> = deployed.resources.keys().map(String::as_str).collect();
    loop {
        let requires: Vec<Vec<&str>> = names.iter().map(|name| required[name].clone()).collect();
        let circle = match graph::order(&names, &requires) {
            Ok(order) => return order.into_iter().map(|index| names[index]).collect(),
            Err(circle) => circle,
        };
        let on_it = |name: &str| circle.contains(&name);
        let is_required = |name: &str, other: &str| {
            let other = copy_of(other).unwrap_or(other);
            deployed.resources[name]
                .requires
                .iter()
                .any(|one| one == other)
        };
        let is_wish = |name: &str, other: &str| {
            on_it(other) && !(is_required(name, other) && deployed.is_made_from(name, other))
        };
        let wish = circle.iter().find_map(|name| {
            let other = required[name].iter().find(|other| is_wish(name, other));
            other.map(|other| (*name, *other))
        });
        // Dependencies by value form no circle, so every circle contains another one.
        let any = || {
            circle
                .iter()
                .find_map(|name| Some((*name, *required[name].iter().find(|other| on_it(other))?)))
        };
        let Some((name, other)) = wish.or_else(any) else {
            return names;
        };
        if let Some(others) = required.get_mut(name) {
            others.retain(|known| *known != other);
        }
    }
}

/// Sorts the steps so that predecessors come first.
pub(super) fn sort(steps: &mut [Step]) {
    let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let after = steps
        .iter()
        .map(|step| step.after.iter().map(String::as_str).collect());
    if let Ok(order) = graph::order(&ids, &after.collect::<Vec<_>>()) {
        let sorted: Vec<Step> = order.into_iter().map(|at| steps[at].clone()).collect();
        steps.clone_from_slice(&sorted);
    }
}

/// Steps that create or change something and that no other step waits for.
fn final_steps(steps: &[Step]) -> Vec<String> {
    let made = |step: &&Step| {
        matches!(
            step.kind,
            StepKind::Create | StepKind::Update | StepKind::Configure
        )
    };
    let waited_for: HashSet<&str> = steps
        .iter()
        .filter(made)
        .flat_map(|step| &step.after)
        .map(String::as_str)
        .collect();
    steps
        .iter()
        .filter(made)
        .filter(|step| !waited_for.contains(step.id.as_str()))
        .map(|step| step.id.clone())
        .collect()
}

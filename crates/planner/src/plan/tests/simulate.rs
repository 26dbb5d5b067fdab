//! A simulated cloud with two rules: a creation needs its requirements, and a resource in use cannot be deleted. A
//! workflow that succeeds here in any valid order of its steps reaches its target.

use std::collections::BTreeSet;

use serde_json::Map;

use super::*;
use crate::workflow::{ResourceSpec, Step, StepKind, copy_of};
use hot::expr::{Expr, Scope};

/// Existing resources.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    entries: BTreeMap<String, Entry>,
    made: u32,
}

#[derive(Clone, Debug)]
struct Entry {
    id: String,
    spec: ResourceSpec,
    made_from: BTreeMap<String, Value>,
    in_order: bool,
    /// The addresses and the settings of other components that a component was set up with.
    set_up_with: BTreeMap<String, String>,
}

impl Entry {
    /// As in the engine, a component refers to others by its name.
    fn reference(&self, name: &str) -> Value {
        if is_component(&self.spec) {
            json!(name)
        } else {
            json!(self.id)
        }
    }
}

fn is_component(spec: &ResourceSpec) -> bool {
    spec.resource_type.starts_with(types::CATALOG)
}

impl Scope for World {
    fn parameter(&self, name: &str) -> Option<Value> {
        Some(json!(format!("value of {name}")))
    }
    fn reference(&self, resource: &str) -> Option<Value> {
        let entry = self.entries.get(resource).filter(|entry| entry.in_order)?;
        Some(entry.reference(resource))
    }
    fn attribute(&self, resource: &str, name: &str) -> Option<Value> {
        let entry = self.entries.get(resource).filter(|entry| entry.in_order)?;
        Some(json!(format!("{name} of {}", entry.id)))
    }
}

impl World {
    /// Runs the workflow until a step of `failing`, or to its end.
    pub fn run(&mut self, workflow: &Workflow, failing: &[&str]) {
        let order: Vec<usize> = (0..workflow.steps.len()).collect();
        self.walk(workflow, &order, &|step| {
            failing.contains(&step.id.as_str())
        })
        .unwrap_or_else(|problem| panic!("{problem}\n{}", steps(workflow)));
    }

    /// Runs the workflow in the order of `priority`, as far as the dependencies allow.
    fn walk(
        &mut self,
        workflow: &Workflow,
        priority: &[usize],
        fails: &dyn Fn(&Step) -> bool,
    ) -> Result<(), String> {
        for (name, copy) in &workflow.restores {
            let (one, other) = (self.entries.remove(name), self.entries.remove(copy));
            self.entries.extend(one.map(|entry| (copy.clone(), entry)));
            self.entries
                .extend(other.map(|entry| (name.clone(), entry)));
        }
        let mut done: BTreeSet<&str> = BTreeSet::new();
        let mut waiting: Vec<usize> = priority.to_vec();
        while !waiting.is_empty() {
            let is_ready = |at: &usize| {
                workflow.steps[*at]
                    .after
                    .iter()
                    .all(|id| done.contains(id.as_str()))
            };
            let Some(next) = waiting.iter().position(is_ready) else {
                return Err("the rest waits for itself".to_owned());
            };
            let step = &workflow.steps[waiting.remove(next)];
            if fails(step) {
                self.fail(workflow, step);
                self.outdate(workflow, &done, step);
                return Ok(());
            }
            self.step(workflow, step)
                .map_err(|problem| format!("{}: {problem}", step.id))?;
            done.insert(&step.id);
        }
        Ok(())
    }

    fn retire(&mut self, step: &Step) {
        if let Some(copy) = &step.replaces
            && !self.entries.contains_key(copy)
            && let Some(resource) = copy_of(copy)
            && let Some(entry) = self.entries.remove(resource)
        {
            self.entries.insert(copy.clone(), entry);
        }
    }

    fn fail(&mut self, workflow: &Workflow, step: &Step) {
        self.retire(step);
        let Some(name) = &step.resource else { return };
        if !matches!(
            step.kind,
            StepKind::Create | StepKind::Update | StepKind::Configure | StepKind::Delete
        ) {
            return;
        }
        if step.kind == StepKind::Create {
            self.make(name, &workflow.resources[name]).ok();
        }
        if let Some(entry) = self.entries.get_mut(name) {
            entry.in_order = false;
        }
    }

    /// As in the engine: a resource is not in order if what it uses was changed and the run ended before its own step.
    fn outdate(&mut self, workflow: &Workflow, done: &BTreeSet<&str>, failed: &Step) {
        let steps = workflow.steps.iter();
        let (ended, left): (Vec<&Step>, Vec<&Step>) =
            steps.partition(|step| done.contains(step.id.as_str()));
        let tried = ended.into_iter().chain([failed]);
        let outdated: BTreeSet<&String> = tried.flat_map(|step| &step.outdates).collect();
        let own = left
            .into_iter()
            .filter(|step| matches!(step.kind, StepKind::Configure | StepKind::Update));
        for name in own.filter_map(|step| step.resource.as_ref()) {
            if outdated.contains(name)
                && let Some(entry) = self.entries.get_mut(name)
            {
                entry.in_order = false;
            }
        }
    }

    /// The addresses of a server: those that it and its ports were made with.
    fn addresses_of(&self, server: &str) -> Option<String> {
        let Entry { id, spec, .. } = self.entries.get(server)?;
        let networks = spec.properties.get("networks")?;
        let ports = networks.resources().into_iter().map(|port| {
            let entry = self.entries.get(port);
            entry.map(|entry| (&entry.id, entry.spec.properties.get("fixed_ips")))
        });
        Some(format!("{id} {networks:?} {:?}", ports.collect::<Vec<_>>()))
    }

    /// Addresses and settings that a component uses now, by name: the addresses of its host and of the hosts of the components
    /// that it refers to, and the settings of those that come before it.
    fn used(&self, spec: &ResourceSpec) -> BTreeMap<String, String> {
        if !is_component(spec) {
            return BTreeMap::new();
        }
        let host_of = |name: &str| self.entries.get(name)?.spec.host().map(str::to_owned);
        let referred = spec.properties.values().flat_map(Expr::resources);
        let hosts = spec.host().map(str::to_owned).into_iter();
        let addresses = hosts
            .chain(referred.filter_map(host_of))
            .filter_map(|server| Some((self.addresses_of(&server)?, server)))
            .map(|(addresses, server)| (server, addresses));
        let settings = spec.requires.iter().filter_map(|name| {
            let provider = &self.entries.get(name)?.spec;
            is_component(provider).then(|| (name.clone(), format!("{:?}", provider.properties)))
        });
        addresses.chain(settings).collect()
    }

    fn step(&mut self, workflow: &Workflow, step: &Step) -> Result<(), String> {
        let Some(name) = &step.resource else {
            return Ok(());
        };
        self.retire(step);
        match step.kind {
            StepKind::Create if self.entries.get(name).is_some_and(|entry| entry.in_order) => {
                Err("there is one already".to_owned())
            }
            StepKind::Create => self.make(name, &workflow.resources[name]),
            StepKind::Update | StepKind::Configure => {
                let id = self.entries.get(name).map(|entry| entry.id.clone());
                self.make(name, &workflow.resources[name])?;
                if let (Some(id), Some(entry)) = (id, self.entries.get_mut(name)) {
                    entry.id = id;
                }
                Ok(())
            }
            StepKind::Delete => {
                let Some(entry) = self.entries.remove(name) else {
                    return Ok(());
                };
                // Components are removed with their server.
                self.entries
                    .retain(|_, other| other.made_from.get("host") != Some(&json!(entry.id)));
                // Early removals come before all creations.
                let first = workflow
                    .steps
                    .iter()
                    .find(|step| step.kind != StepKind::Delete);
                let early = first.is_some_and(|first| {
                    let at = |id: &str| workflow.steps.iter().position(|step| step.id == id);
                    at(&step.id) < at(&first.id)
                });
                let user = self.entries.iter().find(|(_, other)| {
                    other
                        .made_from
                        .values()
                        .any(|value| value.to_string().contains(&format!("\"{}\"", entry.id)))
                });
                match user {
                    Some((user, _)) if !early => Err(format!("`{user}` still uses it")),
                    _ => Ok(()),
                }
            }
            StepKind::WaitForSsh
            | StepKind::Install
            | StepKind::OpenBastion
            | StepKind::CloseBastion
            | StepKind::Pause
            | StepKind::Hook
            | StepKind::Sweep
            | StepKind::Command
            | StepKind::Suspend
            | StepKind::Resume
            | StepKind::Snapshot
            | StepKind::Restore => Ok(()),
        }
    }

    fn make(&mut self, name: &str, spec: &ResourceSpec) -> Result<(), String> {
        for required in &spec.requires {
            if !self
                .entries
                .get(required)
                .is_some_and(|entry| entry.in_order)
            {
                return Err(format!("`{required}` is not there"));
            }
        }
        let mut made_from = BTreeMap::new();
        for (property, value) in &spec.properties {
            if !value.resources().is_empty() {
                let value = match value.resolve(self) {
                    Ok(value) => value,
                    // A component of which the address is needed can come later.
                    Err(_) if is_component(spec) => Value::Null,
                    Err(error) => return Err(error.to_string()),
                };
                made_from.insert(property.clone(), value);
            }
        }
        self.made += 1;
        let set_up_with = self.used(spec);
        let entry = Entry {
            set_up_with,
            id: format!("{name}#{}", self.made),
            spec: spec.clone(),
            made_from,
            in_order: true,
        };
        self.entries.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Deployed resources as input of a plan.
    pub fn deployed(&self) -> Deployed {
        let actual = self.entries.iter().map(|(name, entry)| {
            let attributes: Map<String, Value> = ["first_address", "url", "show"]
                .iter()
                .map(|attribute| {
                    (
                        (*attribute).to_owned(),
                        json!(format!("{attribute} of {}", entry.id)),
                    )
                })
                .collect();
            let actual = Actual {
                exists: true,
                in_order: entry.in_order,
                reference: entry.in_order.then(|| entry.reference(name)),
                attributes,
                made_from: entry.made_from.clone(),
            };
            (name.clone(), actual)
        });
        Deployed {
            actual: actual.collect(),
            ..Deployed::of(
                self.entries
                    .iter()
                    .map(|(name, entry)| (name.clone(), entry.spec.clone()))
                    .collect(),
            )
        }
    }

    /// Checks that exactly the planned resources exist, created from the present values of each other.
    fn is(&self, drawn: &Workflow, changes: &[Change]) -> Result<(), String> {
        let wanted: BTreeSet<&str> = changes
            .iter()
            .filter(|change| change.action != Action::Delete)
            .map(|change| change.resource.as_str())
            .collect();
        let there: BTreeSet<&str> = self.entries.keys().map(String::as_str).collect();
        if wanted != there {
            return Err(format!("wanted {wanted:?}, there is {there:?}"));
        }
        for (name, entry) in &self.entries {
            if !entry.in_order || entry.spec.properties != drawn.resources[name].properties {
                return Err(format!("`{name}` is not as drawn: {entry:?}"));
            }
            if entry.set_up_with != self.used(&entry.spec) {
                return Err(format!("`{name}` uses what there was before: {entry:?}"));
            }
            for (property, made) in &entry.made_from {
                let now = entry.spec.properties[property].resolve(self);
                if now.as_ref() != Ok(made) {
                    return Err(format!(
                        "`{name}.{property}` was made from {made}, which is {now:?} now"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Network with servers and software, each with a property that can change.
fn drawing(look: &[u8]) -> String {
    let at = |index: usize| look.get(index).copied().unwrap_or(0);
    let mut text = String::from("heat_template_version: 2021-04-16\nresources:\n");
    let zone = [
        "",
        ", properties: {availability_zone_hints: [nova]}",
        ", properties: {name: n}",
    ];
    text.push_str(&format!(
        "  net: {{type: OS::Neutron::Net{}}}\n",
        zone[usize::from(at(0) % 3)]
    ));
    let cidr = ["10.1.0.0/24", "10.2.0.0/24"][usize::from(at(1) % 2)];
    text.push_str(&format!("  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: {cidr}}}}}\n"));
    let network = "{network: {get_resource: net}}";
    let two = format!("{network}, {network}");
    let mut backends = Vec::new();
    for server in 0..usize::from(at(2) % 4) {
        let has_two = server == 0 && at(8) & 2 != 0;
        let networks = if has_two { two.as_str() } else { network };
        let kind = at(3 + server);
        let image = ["debian-12", "debian-12-id"][usize::from(kind % 2)];
        let public = kind & 2 != 0;
        let data = match server {
            0 => String::new(),
            _ if kind & 4 != 0 => format!(
                ", user_data: {{get_attr: [s{}, first_address]}}",
                server - 1
            ),
            _ => String::new(),
        };
        text.push_str(&format!("  s{server}: {{type: OS::Nova::Server, metadata: {{stackloom: {{public: {public}}}}}, properties: {{flavor: m1.small, image: {image}{data}, networks: [{networks}]}}}}\n"));
        if kind & 8 != 0 {
            text.push_str(&format!("  c{server}: {{type: 'Stackloom::Catalog::nginx', properties: {{host: {{get_resource: s{server}}}, listen_port: {}}}}}\n", 80 + u16::from(kind >> 4)));
            backends.push(format!("{{get_resource: c{server}}}"));
        }
    }
    if at(8) & 4 != 0 && !backends.is_empty() {
        let backends = backends.join(", ");
        text.push_str(&format!("  proxy: {{type: 'Stackloom::Catalog::haproxy', properties: {{host: {{get_resource: s0}}, listen_port: 8080, backends: [{backends}]}}}}\n"));
    }
    if at(7) % 2 == 1 {
        let public = ["A", "B"][usize::from(at(8) % 2)];
        text.push_str(&format!("  key: {{type: OS::Nova::KeyPair, properties: {{name: mine, public_key: ssh-ed25519 {public}}}}}\n"));
    }
    text
}

fn led_to(world: &World, text: &str) -> Option<(Plan, Workflow)> {
    let plan = plan_with(text, &[], &world.deployed());
    let workflow = plan.workflow.clone()?;
    check_order(&workflow);
    Some((plan, workflow))
}

/// Checks that the step of each changed resource waits for those of the nearest changed ones that it requires, also
/// through unchanged ones. The groups of the pass `access` have an order of their own there.
fn check_kept_order(workflow: &Workflow) {
    let completing = workflow.steps.iter().filter(|step| {
        matches!(
            step.kind,
            StepKind::Create | StepKind::Update | StepKind::Configure
        )
    });
    let done: BTreeMap<&str, &str> = completing
        .filter_map(|step| Some((step.resource.as_deref()?, step.id.as_str())))
        .collect();
    let mut needed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for step in &workflow.steps {
        let mut all = BTreeSet::new();
        for before in &step.after {
            all.insert(before.as_str());
            all.extend(&needed[before.as_str()]);
        }
        needed.insert(&step.id, all);
    }
    let requires = |name: &str| workflow.resources[name].requires.iter().map(String::as_str);
    for (name, step) in &done {
        let mut seen = BTreeSet::new();
        let mut open: Vec<&str> = requires(name).collect();
        while let Some(other) = open.pop() {
            match done.get(other) {
                Some(before) => assert!(
                    needed[step].contains(before),
                    "`{step}` does not wait for `{before}`\n{}",
                    steps(workflow)
                ),
                None if seen.insert(other) => {
                    open.extend(requires(other).filter(|name| !name.ends_with("_access")));
                }
                None => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_diff_applied_reaches_the_target_also_after_a_failure(
        one in prop::collection::vec(any::<u8>(), 9),
        other in prop::collection::vec(any::<u8>(), 9),
        order in any::<u64>(),
        failing in any::<prop::sample::Index>(),
        back in any::<bool>(),
    ) {
        let (one, other) = (drawing(&one), drawing(&other));
        let mut world = World::default();
        let Some((plan, first)) = led_to(&world, &one) else { return Ok(()) };
        world.run(&first, &[]);
        world.is(&first, &plan.changes).map_err(TestCaseError::fail)?;
        let same = plan_with(&one, &[], &world.deployed());
        prop_assert!(same.changes.iter().all(|change| change.action == Action::None), "{:?}", same.changes);

        let Some((plan, update)) = led_to(&world, &other) else { return Ok(()) };
        check_kept_order(&update);
        // Any valid order of the steps.
        let mut priority: Vec<usize> = (0..update.steps.len()).collect();
        priority.sort_by_key(|at| (*at as u64 + 1).wrapping_mul(order | 1) % 1009);
        let mut whole = world.clone();
        whole.walk(&update, &priority, &|_| false).map_err(|problem| TestCaseError::fail(format!("{problem}\n{}", steps(&update))))?;
        whole.is(&update, &plan.changes).map_err(TestCaseError::fail)?;

        if update.steps.is_empty() { return Ok(()) }
        let broken = update.steps[failing.index(update.steps.len())].id.clone();
        world.walk(&update, &priority, &|step| step.id == broken).map_err(TestCaseError::fail)?;
        let target = if back { &one } else { &other };
        let (plan, mended) = led_to(&world, target).ok_or_else(|| TestCaseError::fail("no plan after a failure"))?;
        let all: Vec<usize> = (0..mended.steps.len()).collect();
        world.walk(&mended, &all, &|_| false).map_err(|problem| TestCaseError::fail(format!("after {broken}: {problem}\n{}", steps(&mended))))?;
        world.is(&mended, &plan.changes).map_err(|problem| TestCaseError::fail(format!("after {broken}: {problem}\n{}", steps(&mended))))?;
    }
}

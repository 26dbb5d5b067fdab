//! Signals to wait conditions and policies, on a server that the cloud's servers cannot reach.
//!
//! The signals of servers in the template are fetched over SSH then, if the servers signal with `curl_cli` alone: it
//! becomes a command that leaves the signal on its server. Passes add what SSH needs, as for software.

mod uses;

use std::collections::{BTreeMap, BTreeSet};

use hot::{diagnostic::Diagnostic, expr::Expr, template::members::SCALING_POLICY, text::few};
use types::{Registry, UPDATE_WAIT_CONDITION_HANDLE, is_wait_condition, is_wait_condition_handle};

use crate::{
    cloud::CloudFacts,
    passes::{Dependents, Model},
    scaling,
    workflow::ResourceSpec,
};
use uses::Uses;

/// Code of these problems.
const CODE: &str = "signal-url-missing";

/// True for the types that [`unreachable`] looks at.
pub(crate) fn concerns(resource_type: &str) -> bool {
    is_wait_condition_handle(resource_type) || resource_type == SCALING_POLICY
}

/// Marks the handles whose signals are fetched over SSH, the waits on them, and the servers that signal. The waits then
/// require these servers. `deployed` handles keep the way that they have.
pub(crate) fn fetch_over_ssh(
    model: &mut Model,
    deployed: &BTreeMap<String, ResourceSpec>,
    types: &Registry,
    cloud: &CloudFacts,
) {
    let ways = {
        let model = &*model;
        let handles: Vec<_> = model
            .iter()
            .filter(|(_, spec)| is_signalled(spec))
            .collect();
        if handles.is_empty() {
            return;
        }
        let uses = Uses::of(model);
        let dependents = Dependents::of(model, types);
        let fetched = |(name, spec): (&str, &ResourceSpec)| {
            let senders = uses.senders(name);
            let waits = waits_on(model, name).map(|wait| {
                let later = dependents.of_resource(wait);
                let servers = senders.iter().filter(|server| !later.contains(*server));
                let servers: Vec<String> = servers.map(|server| (*server).to_owned()).collect();
                (wait.to_owned(), servers)
            });
            let waits: BTreeMap<String, Vec<String>> = waits.collect();
            let is_fetched = match kept(name, spec, deployed) {
                Some(before) => before.marks.signals_over_ssh,
                None => {
                    cloud.takes_signals == Some(false)
                        && !senders.is_empty()
                        && !uses.passes_address_on(name)
                        && waits.values().all(|servers| !servers.is_empty())
                }
            };
            is_fetched.then(|| (name.to_owned(), waits))
        };
        handles.into_iter().filter_map(fetched).collect::<Vec<_>>()
    };
    for (handle, waits) in ways {
        let mut mark = |name: &str, required: &[String]| {
            if let Some(spec) = model.get_mut(name) {
                spec.marks.signals_over_ssh = true;
                spec.requires.extend_from_slice(required);
            }
        };
        mark(&handle, &[]);
        for (wait, servers) in &waits {
            servers.iter().for_each(|server| mark(server, &[]));
            mark(wait, servers);
        }
    }
}

/// Wait conditions on a handle.
fn waits_on<'m>(model: &'m Model, handle: &str) -> impl Iterator<Item = &'m str> {
    let is_on = move |spec: &ResourceSpec| {
        let value = spec.properties.get("handle");
        value.is_some_and(|value| value.resources().contains(&handle))
    };
    let waits = model
        .iter()
        .filter(move |(_, spec)| is_wait_condition(&spec.resource_type) && is_on(spec));
    waits.map(|(name, _)| name)
}

/// The deployed resource of a handle, whose way of signalling stays.
fn kept<'d>(
    name: &str,
    spec: &ResourceSpec,
    deployed: &'d BTreeMap<String, ResourceSpec>,
) -> Option<&'d ResourceSpec> {
    let is_replaced = spec.resource_type == UPDATE_WAIT_CONDITION_HANDLE;
    let before = deployed.get(name).filter(|before| is_signalled(before));
    before.filter(|_| !is_replaced)
}

/// A note on handles whose signals are fetched over SSH, an error for those that nobody could signal, and a warning for
/// policies whose address is used, if the server has no URL for signals. `deployed` handles keep the address that they
/// have.
pub(crate) fn unreachable<'a>(
    model: &'a Model,
    outputs: impl Iterator<Item = &'a Expr>,
    deployed: &BTreeMap<String, ResourceSpec>,
    cloud: &CloudFacts,
) -> Vec<Diagnostic> {
    let mut found = without_address(model);
    if cloud.takes_signals != Some(false) {
        return found;
    }
    let (fetched, others): (Vec<_>, Vec<_>) = model
        .iter()
        .filter(|(_, spec)| is_signalled(spec))
        .partition(|(_, spec)| spec.marks.signals_over_ssh);
    let fetched: Vec<&str> = fetched.into_iter().map(|(name, _)| name).collect();
    let others = others.into_iter();
    let handles: Vec<&str> = others
        .filter(|(name, spec)| kept(name, spec, deployed).is_none())
        .map(|(name, _)| name)
        .collect();
    let policies: BTreeSet<&str> = model
        .of_type(SCALING_POLICY)
        .map(|(name, _)| name)
        .collect();
    let values = model.iter().flat_map(|(_, spec)| spec.properties.values());
    let used = scaling::passed_on(&policies, values.chain(outputs));
    let used: Vec<&str> = used.into_iter().collect();
    if let Some(first) = fetched.first() {
        let message = format!(
            "signals to {} are fetched over SSH from the servers that signal, because this server has no URL that they reach; so \
             these servers get a login, and the waits start when the servers answer over SSH. To let them signal over HTTP, ask the \
             operator to set STACKLOOM_SIGNAL_URL",
            few(&fetched)
        );
        found.push(Diagnostic::info(
            CODE,
            format!("resources.{first}"),
            message,
        ));
    }
    if let Some(first) = handles.first() {
        let uses = Uses::of(model);
        let way_out = if handles.iter().any(|name| uses.passes_address_on(name)) {
            ". If servers signal with `curl_cli` alone, the signals are fetched over SSH"
        } else {
            ""
        };
        let message = format!(
            "nothing could signal {}, because this server has no URL that the cloud's servers reach; ask its operator to set \
             STACKLOOM_SIGNAL_URL, or set `signal_transport: NO_SIGNAL` to wait for no signal{way_out}",
            few(&handles)
        );
        found.push(Diagnostic::error(
            CODE,
            format!("resources.{first}"),
            message,
        ));
    }
    if let Some(first) = used.first() {
        let message = format!(
            "no alarm could call {}, because this server has no URL that the cloud's servers reach; ask its operator to set \
             STACKLOOM_SIGNAL_URL, or scale by hand on the deployment's page",
            few(&used)
        );
        found.push(Diagnostic::warning(
            CODE,
            format!("resources.{first}"),
            message,
        ));
    }
    found
}

/// Errors for deployed handles whose signals are fetched over SSH and whose address is to be used from now on.
fn without_address(model: &Model) -> Vec<Diagnostic> {
    let is_fetched = |spec: &ResourceSpec| spec.marks.signals_over_ssh && is_signalled(spec);
    let fetched: Vec<_> = model.iter().filter(|(_, spec)| is_fetched(spec)).collect();
    if fetched.is_empty() {
        return Vec::new();
    }
    let uses = Uses::of(model);
    let with_use = fetched
        .into_iter()
        .filter(|(name, _)| uses.passes_address_on(name));
    let errors = with_use.map(|(name, _)| {
        let message = format!(
            "the signals to `{name}` are fetched over SSH, so it has no address, and its address is used; signal with its \
             `curl_cli`, or give the handle another name, so that a new one is created"
        );
        Diagnostic::error(CODE, format!("resources.{name}"), message)
    });
    errors.collect()
}

/// Warnings for waits among the resources that are created or changed (`begun`), if their signals are fetched over SSH and
/// no server before them signals. Signals that the handle already has can still end them.
pub(crate) fn unsent<'a>(model: &Model, begun: impl Iterator<Item = &'a str>) -> Vec<Diagnostic> {
    let waits = begun.filter_map(|name| {
        let spec = model.get(name)?;
        let mut servers = spec.signal_servers(move |name| model.get(name));
        let is_alone = spec.fetches_signals() && servers.next().is_none();
        is_alone.then_some((name, spec))
    });
    let warnings = waits.map(|(name, spec)| {
        let handle = spec.properties.get("handle");
        let handle = handle.and_then(|handle| handle.resources().into_iter().next());
        let message = format!(
            "`{name}` waits for signals to `{0}`, which are fetched over SSH, and no server that exists before the wait signals with \
             `curl_cli` of `{0}`; so it ends only if `{0}` has enough signals already, and fails at its `timeout` otherwise. Let a \
             server signal, or remove `{name}`",
            handle.unwrap_or("its handle"),
        );
        Diagnostic::warning(CODE, format!("resources.{name}"), message)
    });
    warnings.collect()
}

/// True for handles that are to be signalled.
fn is_signalled(spec: &ResourceSpec) -> bool {
    let transport = spec.properties.get("signal_transport");
    is_wait_condition_handle(&spec.resource_type)
        && transport.and_then(Expr::as_str) != Some("NO_SIGNAL")
}

#[cfg(test)]
mod tests {
    use hot::{bundle::Bundle, diagnostic::listing, document::Document};

    use super::*;
    use crate::{
        compose,
        plan::{Deployed, Plan, PlanInput, plan},
        testing::{cloud, resources, types},
    };

    const WAIT: &str = "  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 600}}
";

    const POLICY: &str = "  farm:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 2, resource: {type: OS::Heat::RandomString}}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: farm}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
";

    fn planned(text: &str, takes_signals: Option<bool>, deployed: &Deployed) -> (String, Plan) {
        let cloud = CloudFacts {
            takes_signals,
            ..cloud()
        };
        let document = Document::parse(resources(text));
        let (bundle, parameters, types) = (Bundle::default(), Default::default(), types());
        let plan = plan(&PlanInput {
            document: &document,
            bundle: &bundle,
            parameters: &parameters,
            deployed,
            types: &types,
            cloud: &cloud,
        });
        let checked = compose::validate(&document, &bundle, &types, &cloud, &parameters);
        (listing(&checked), plan)
    }

    #[test]
    fn a_wait_that_nothing_could_end_is_an_error_before_anything_is_created() {
        let (checked, plan) = planned(WAIT, Some(false), &Deployed::default());
        assert_eq!(
            checked,
            "3:3 Error signal-url-missing resources.handle: nothing could signal `handle`, because this server has no URL that the \
             cloud's servers reach; ask its operator to set STACKLOOM_SIGNAL_URL, or set `signal_transport: NO_SIGNAL` to wait for no \
             signal"
        );
        assert_eq!(listing(&plan.diagnostics), checked);
        assert!(plan.workflow.is_none());
        for takes_signals in [Some(true), None] {
            let (checked, plan) = planned(WAIT, takes_signals, &Deployed::default());
            assert_eq!(checked, "");
            assert!(plan.workflow.is_some());
        }
    }

    #[test]
    fn a_handle_without_signals_and_one_with_an_address_are_no_problem() {
        let silent = WAIT.replace(
            "WaitConditionHandle}",
            "WaitConditionHandle, properties: {signal_transport: NO_SIGNAL}}",
        );
        let (checked, plan) = planned(&silent, Some(false), &Deployed::default());
        assert_eq!(checked, "");
        assert!(plan.workflow.is_some());
        let (_, before) = planned(WAIT, Some(true), &Deployed::default());
        let deployed = Deployed {
            resources: before.workflow.unwrap().resources,
            ..Deployed::default()
        };
        let (_, plan) = planned(WAIT, Some(false), &deployed);
        assert_eq!(listing(&plan.diagnostics), "");
    }

    /// A private server behind a gate that signals, and a server that comes after the wait and signals, too.
    const SENDS: &str = "  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 600}}
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.1.0.0/24}}
  setup:
    type: OS::Heat::CloudConfig
    properties:
      cloud_config:
        runcmd: [{str_replace: {template: 'notify -d {}', params: {notify: {get_attr: [handle, curl_cli]}}}}]
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
      user_data_format: RAW
      user_data: {get_resource: setup}
  later:
    type: OS::Nova::Server
    depends_on: wait
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
      user_data_format: RAW
      user_data: {get_resource: setup}
";

    #[test]
    fn signals_of_servers_are_fetched_over_ssh_with_a_note() {
        let (checked, plan) = planned(SENDS, Some(false), &Deployed::default());
        assert!(
            checked.starts_with(
                "3:3 Info signal-url-missing resources.handle: signals to `handle` are fetched over SSH"
            ),
            "{checked}"
        );
        let found: Vec<_> = plan
            .diagnostics
            .iter()
            .map(|one| (one.code.as_str(), one.path.as_str()))
            .collect();
        assert!(found.contains(&(CODE, "resources.handle")), "{found:?}");
        assert!(
            found.contains(&("bastion-picked", "resources.gate")),
            "{found:?}"
        );
        let workflow = plan.workflow.unwrap();
        let after = |id: &str| {
            let step = workflow.steps.iter().find(|step| step.id == id);
            step.unwrap().after.clone()
        };
        assert!(after("wait:create").contains(&"web:ssh".to_owned()));
        assert!(after("web:ssh").contains(&"gate:ssh".to_owned()));
        assert!(after("bastion:close").contains(&"wait:create".to_owned()));
        assert!(after("later:create").contains(&"wait:create".to_owned()));
        let wait = &workflow.resources["wait"];
        let servers = wait.signal_servers(|name| workflow.resources.get(name));
        assert_eq!(servers.collect::<Vec<_>>(), ["web"]);
    }

    #[test]
    fn servers_whose_signals_are_fetched_get_a_key_and_a_rule_beside_their_groups() {
        let (_, plan) = planned(SENDS, Some(false), &Deployed::default());
        let resources = plan.workflow.unwrap().resources;
        let requires_key = |server: &str| {
            let key = "deployment_key".to_owned();
            resources[server].requires.contains(&key)
        };
        assert_eq!(
            ["gate", "web", "later"].map(requires_key),
            [true, true, false]
        );
        let groups = |port: &str| {
            let groups = resources[port].properties.get("security_groups");
            groups.map(Expr::to_json)
        };
        for server in ["gate", "web"] {
            let access = format!("{server}_access");
            let wanted = serde_json::json!(["default", {"get_resource": access}]);
            assert_eq!(groups(&format!("{server}_port")), Some(wanted));
        }
        assert_eq!(groups("later_port"), None);
        let rules = resources["web_access"].properties["rules"].to_json();
        assert_eq!(rules[0]["port_range_min"], 22);
        let from_gate = serde_json::json!({"get_resource": "gate_access"});
        assert_eq!(rules[0]["remote_group_id"], from_gate);
    }

    #[test]
    fn nothing_is_fetched_where_servers_reach_the_server() {
        for takes_signals in [Some(true), None] {
            let (checked, plan) = planned(SENDS, takes_signals, &Deployed::default());
            assert_eq!(checked, "");
            let resources = plan.workflow.unwrap().resources;
            assert!(!resources.contains_key("deployment_key"));
            assert!(!resources["handle"].marks.signals_over_ssh);
        }
    }

    #[test]
    fn a_deployed_handle_keeps_its_way() {
        let deployed = |takes_signals| {
            let (_, before) = planned(SENDS, Some(takes_signals), &Deployed::default());
            Deployed {
                resources: before.workflow.unwrap().resources,
                ..Deployed::default()
            }
        };
        let over_ssh = |takes_signals, deployed: &Deployed| {
            let (_, plan) = planned(SENDS, Some(takes_signals), deployed);
            let resources = plan.workflow.unwrap().resources;
            ["handle", "wait", "web"].map(|name| resources[name].marks.signals_over_ssh)
        };
        assert_eq!(over_ssh(true, &deployed(false)), [true; 3]);
        assert_eq!(over_ssh(false, &deployed(true)), [false; 3]);
    }

    #[test]
    fn a_new_wait_without_senders_is_a_warning() {
        let (_, before) = planned(SENDS, Some(false), &Deployed::default());
        let deployed = Deployed {
            resources: before.workflow.unwrap().resources,
            ..Deployed::default()
        };
        let warned = |text: &str, takes_signals| {
            let (_, plan) = planned(text, Some(takes_signals), &deployed);
            assert!(plan.workflow.is_some(), "{:?}", plan.diagnostics);
            let found = plan.diagnostics.into_iter();
            let found = found.filter(|one| one.code == CODE && one.message.contains("waits for"));
            found.map(|one| (one.path, one.message)).collect::<Vec<_>>()
        };
        // The servers are gone, and another wait comes.
        let senders = SENDS.find("  web:\n").unwrap();
        let again = "  again: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 600}}\n";
        let alone = format!("{}{again}", &SENDS[..senders]);
        for takes_signals in [true, false] {
            let found = warned(&alone, takes_signals);
            let [(path, message)] = &found[..] else {
                panic!("only the new wait is named: {found:?}");
            };
            assert_eq!(path, "resources.again");
            assert!(
                message.starts_with("`again` waits for signals to `handle`")
                    && message.contains("fails at its `timeout` otherwise"),
                "{message}"
            );
        }
        assert_eq!(warned(SENDS, false), []);
        assert_eq!(warned(&format!("{SENDS}{again}"), false), []);
    }

    #[test]
    fn a_deployed_handle_without_an_address_gets_none() {
        let (_, before) = planned(SENDS, Some(false), &Deployed::default());
        let deployed = Deployed {
            resources: before.workflow.unwrap().resources,
            ..Deployed::default()
        };
        let address = SENDS.replace("curl_cli", "endpoint");
        for takes_signals in [true, false] {
            let (_, plan) = planned(&address, Some(takes_signals), &deployed);
            let found = listing(&plan.diagnostics);
            assert!(
                found.contains("so it has no address, and its address is used"),
                "{found}"
            );
            assert!(plan.workflow.is_none());
        }
    }

    #[test]
    fn servers_that_take_the_address_cannot_signal_over_ssh() {
        let address = SENDS.replace("curl_cli", "endpoint");
        let (checked, plan) = planned(&address, Some(false), &Deployed::default());
        assert!(
            checked.starts_with("3:3 Error signal-url-missing")
                && checked.ends_with(
                    "If servers signal with `curl_cli` alone, the signals are fetched over SSH"
                ),
            "{checked}"
        );
        assert!(plan.workflow.is_none());
    }

    #[test]
    fn a_server_behind_the_wait_becomes_no_bastion_by_itself() {
        let both = SENDS.replace("  later:", "  aft:").replace(
            "    depends_on: wait\n",
            "    depends_on: wait\n    metadata: {stackloom: {public: true}}\n",
        );
        let (_, plan) = planned(&both, Some(false), &Deployed::default());
        let resources = plan.workflow.expect("no circle").resources;
        assert!(resources["gate"].marks.bastion);
        assert!(!resources["aft"].marks.bastion);
    }

    #[test]
    fn a_bastion_behind_the_wait_is_a_circle() {
        let only_later = SENDS
            .replace("    metadata: {stackloom: {public: true}}\n", "")
            .replace(
                "    depends_on: wait\n",
                "    depends_on: wait\n    metadata: {stackloom: {bastion: true, public: true}}\n",
            );
        let (_, plan) = planned(&only_later, Some(false), &Deployed::default());
        let found = listing(&plan.diagnostics);
        assert!(found.contains("circular-reference"), "{found}");
        assert!(plan.workflow.is_none());
    }

    #[test]
    fn a_policy_whose_address_is_used_is_a_warning() {
        let (checked, _) = planned(POLICY, Some(false), &Deployed::default());
        assert_eq!(checked, "", "nobody uses its address");
        let used = format!("{POLICY}outputs:\n  url: {{value: {{get_attr: [up, signal_url]}}}}\n");
        let (checked, plan) = planned(&used, Some(false), &Deployed::default());
        assert_eq!(
            checked,
            "6:3 Warning signal-url-missing resources.up: no alarm could call `up`, because this server has no URL that the cloud's \
             servers reach; ask its operator to set STACKLOOM_SIGNAL_URL, or scale by hand on the deployment's page"
        );
        assert_eq!(listing(&plan.diagnostics), checked);
        assert!(plan.workflow.is_some());
    }
}

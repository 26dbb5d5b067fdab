//! Retained resources (`deletion_policy: Retain`) that block deletions.
//!
//! The cloud refuses to delete a network while a port is in it. If a deletion would include a retained resource, as a
//! load balancer includes its listeners, our drivers refuse it. In both cases the deletion fails, so the plan contains
//! a warning.

use std::collections::{BTreeSet, HashMap};

use super::{
    exclusive::{LISTENER, POOL, is_held},
    *,
};
use crate::workflow::copy_of;

/// One warning for each resource whose deletion is blocked by a retained resource.
pub(super) fn blocked_by_retained(
    changes: &[Change],
    model: &Model,
    deployed: &Deployed,
) -> Vec<Diagnostic> {
    let actions: HashMap<&str, Action> = changes
        .iter()
        .map(|change| (change.resource.as_str(), change.action))
        .collect();
    let goes = |name: &str| match actions.get(name) {
        Some(action) => matches!(action, Action::Delete | Action::Replace),
        None => false,
    };
    let mut diagnostics = Vec::new();
    for (name, spec) in &deployed.resources {
        let is_kept = spec.deletion_policy == DeletionPolicy::Retain && deployed.exists(name);
        if !goes(name) || !is_kept {
            continue;
        }
        for other in blocked_dependencies(deployed, name) {
            let on = &deployed.resources[other];
            let is_removed = on.external_id.is_none() && on.deletion_policy.is_delete();
            if !(is_removed && goes(other) && deployed.exists(other)) {
                continue;
            }
            let path = match model.get(copy_of(other).unwrap_or(other)) {
                Some(_) => format!("resources.{other}"),
                None => String::new(),
            };
            let message = format!(
                "`{other}` cannot be removed while `{name}` is there, which is kept (`deletion_policy: Retain`): keep `{other}` too, \
                 or let both go"
            );
            diagnostics.push(Diagnostic::warning("kept-in-the-way", path, message));
        }
    }
    diagnostics
}

/// All resources that cannot be deleted before this one, directly or indirectly.
fn blocked_dependencies<'a>(deployed: &'a Deployed, name: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![name];
    while let Some(held_by) = open.pop() {
        let by = &deployed.resources[held_by];
        for required in &by.requires {
            let Some((other, on)) = deployed.resources.get_key_value(required) else {
                continue;
            };
            if !is_held(&by.resource_type, &on.resource_type) {
                continue;
            }
            // A listener is deleted without its default pool, which then stays in the load balancer.
            let goes_alone = by.resource_type == POOL && on.resource_type == LISTENER;
            let is_new = goes_alone || found.insert(other.as_str());
            if is_new {
                open.push(other);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::tests::made,
        testing::{plan_of, plan_with, resources},
    };
    use types::Registry;

    const BALANCED: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  lb: {type: OS::Octavia::LoadBalancer, properties: {vip_subnet: {get_resource: sub}}}
  door: {type: OS::Octavia::Listener, properties: {loadbalancer: {get_resource: lb}, protocol: HTTP, protocol_port: 80}}
  pool: {type: OS::Octavia::Pool, properties: {listener: {get_resource: door}, protocol: HTTP, lb_algorithm: ROUND_ROBIN}}
  member: {type: OS::Octavia::PoolMember, properties: {pool: {get_resource: pool}, address: 10.0.0.9, protocol_port: 80}}
";

    fn with_retained(resource_type: &str) -> String {
        let policy = format!("{resource_type}, deletion_policy: Retain,");
        resources(&BALANCED.replacen(&format!("{resource_type},"), &policy, 1))
    }

    fn refusals(plan: &Plan) -> Vec<String> {
        let of_it = plan
            .diagnostics
            .iter()
            .filter(|one| one.code == "kept-in-the-way");
        of_it
            .map(|one| {
                let names: Vec<&str> = one.message.split('`').collect();
                format!("{} by {}", names[1], names[3])
            })
            .collect()
    }

    #[test]
    fn a_retained_resource_blocks_the_deletion_of_its_dependencies() {
        let undeploy = |template: &str| {
            refusals(&plan_undeploy(
                &made(&plan_of(template)),
                &Registry::openstack(),
                &[],
            ))
        };
        assert_eq!(undeploy(&resources(BALANCED)), [""; 0]);
        assert_eq!(
            undeploy(&with_retained("OS::Octavia::Listener")),
            ["lb by door", "net by door", "sub by door"]
        );
        // The listener is deleted without its pool.
        assert_eq!(
            undeploy(&with_retained("OS::Octavia::Pool")),
            ["lb by pool", "net by pool", "sub by pool"]
        );
        assert_eq!(
            undeploy(&with_retained("OS::Octavia::PoolMember")),
            [
                "lb by member",
                "net by member",
                "pool by member",
                "sub by member"
            ]
        );
        assert_eq!(
            undeploy(&with_retained("OS::Neutron::Subnet")),
            ["net by sub"]
        );
        assert_eq!(undeploy(&with_retained("OS::Neutron::Net")), [""; 0]);
    }

    #[test]
    fn a_resource_that_was_never_created_blocks_nothing() {
        let mut deployed = made(&plan_of(&with_retained("OS::Octavia::Listener")));
        let door = Actual {
            exists: false,
            in_order: false,
            reference: None,
            attributes: serde_json::Map::new(),
            made_from: BTreeMap::new(),
        };
        deployed.actual.insert("door".to_owned(), door);
        let plan = plan_undeploy(&deployed, &Registry::openstack(), &[]);
        assert_eq!(refusals(&plan), [""; 0]);
    }

    #[test]
    fn an_update_warns_of_a_retained_resource_only_if_it_blocks_a_deletion() {
        let before = with_retained("OS::Octavia::Listener");
        let deployed = made(&plan_of(&before));
        assert_eq!(refusals(&plan_with(&before, &[], &deployed)), [""; 0]);
        let another = before.replace("vip_subnet: {get_resource: sub}", "vip_subnet: other");
        assert_eq!(
            refusals(&plan_with(&another, &[], &deployed)),
            ["lb by door"]
        );
        let gone = before.lines().filter(|line| {
            !line.contains(" door:") && !line.contains(" pool:") && !line.contains(" member:")
        });
        let gone: Vec<&str> = gone.collect();
        assert_eq!(
            refusals(&plan_with(&gone.join("\n"), &[], &deployed)),
            [""; 0]
        );
    }
}

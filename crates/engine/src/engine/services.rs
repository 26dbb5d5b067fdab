//! The services of a deployment. Pure: they follow from the resources, their catalogue items and the last check, so
//! there is nothing to keep in step with them.

use std::collections::BTreeMap;

use api::{Finding, FindingKind, ResourceState, Service, ServiceState};
use planner::workflow::copy_of;
use store::{DeploymentRow, LastHealth, ResourceRow};

use crate::{
    catalog::Catalog,
    resources::{Addresses, ResourceTable, address},
    run::parameters,
};

/// The services of a deployment, by component. Attributes of the resources are open.
pub(super) fn services(
    row: &DeploymentRow,
    resources: Vec<ResourceRow>,
    catalog: &Catalog,
) -> Vec<Service> {
    let read_at = |resource: &ResourceRow| Some((resource.name.clone(), resource.read_at.clone()?));
    let times: BTreeMap<String, String> = resources.iter().filter_map(read_at).collect();
    let health = |resource: &ResourceRow| Some((resource.name.clone(), resource.health.clone()?));
    let health: BTreeMap<String, LastHealth> = resources.iter().filter_map(health).collect();
    let known = ResourceTable::of(resources);
    let values = parameters(row, &BTreeMap::new());
    let scope = known.scope(&values);
    let findings = row.shown.present_check().map(|check| &check.findings[..]);
    let findings = findings.unwrap_or_default();
    let components = known.all().into_iter().filter_map(|(name, thing)| {
        let item = &catalog.of_type(&thing.spec.resource_type)?.described;
        let offers_nothing =
            item.listens.is_empty() && item.provides.is_empty() && item.health.is_empty();
        if copy_of(&name).is_some() || offers_nothing {
            return None;
        }
        let server = thing.spec.host()?.to_owned();
        let health = health.get(&name);
        let in_order = if item.health.is_empty() {
            ServiceState::Installed
        } else {
            of_health(health, row.shown.last_run.as_deref())
        };
        let (state, text) = match thing.state {
            ResourceState::Creating | ResourceState::Updating => (ServiceState::Starting, None),
            ResourceState::Removing | ResourceState::Removed => (ServiceState::Removing, None),
            ResourceState::Failed => (ServiceState::Failed, None),
            ResourceState::Ready | ResourceState::Suspended => {
                let host = known.get(&server);
                let sleeps = host.is_some_and(|host| host.state == ResourceState::Suspended);
                match trouble(&name, &server, findings) {
                    _ if sleeps => {
                        let text = format!("its server `{server}` is suspended");
                        (ServiceState::Unknown, Some(text))
                    }
                    Some((state, text)) => (state, Some(text)),
                    None => (in_order, None),
                }
            }
        };
        let since = match state {
            ServiceState::Healthy => health.and_then(|health| health.since.clone()),
            ServiceState::Installed => times.get(&name).cloned(),
            _ => None,
        };
        let addresses = Addresses::of(&known, &scope, &server);
        Some(Service {
            since,
            checked: health.map(|health| health.time.clone()),
            ports: address::ports(&thing, item, &scope),
            component: name,
            title: item.title.clone(),
            server,
            address: addresses.private,
            public_address: addresses.public,
            state,
            text: text.unwrap_or_default(),
        })
    });
    components.collect()
}

/// The state of a component by the last answers of its health checks. They count until another run begins.
fn of_health(health: Option<&LastHealth>, last_run: Option<&str>) -> ServiceState {
    let healthy = health.filter(|health| health.since.is_some());
    if healthy.is_some_and(|health| health.run.as_deref() == last_run) {
        ServiceState::Healthy
    } else {
        ServiceState::Unchecked
    }
}

/// Finding of the last check at a component or its server, as a state with the reason for users.
fn trouble(name: &str, server: &str, findings: &[Finding]) -> Option<(ServiceState, String)> {
    let found = |resource: &str| findings.iter().find(|finding| finding.resource == resource);
    if let Some(finding) = found(name) {
        let state = match finding.kind {
            FindingKind::NotCompared => ServiceState::Unknown,
            _ => ServiceState::Unhealthy,
        };
        return Some((state, finding.text.clone()));
    }
    let (state, why) = match found(server)?.kind {
        FindingKind::Gone => (ServiceState::Unhealthy, "is gone"),
        FindingKind::Broken => (ServiceState::Unhealthy, "is broken"),
        FindingKind::InTransition | FindingKind::NotCompared => {
            (ServiceState::Unknown, "was not asked")
        }
        // It is there, and its software was asked.
        FindingKind::Changed | FindingKind::Unhealthy => return None,
    };
    Some((state, format!("its server `{server}` {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(resource: &str, kind: FindingKind, text: &str) -> Finding {
        Finding {
            resource: resource.into(),
            resource_type: String::new(),
            kind,
            text: text.into(),
            differences: Vec::new(),
        }
    }

    #[test]
    fn a_healthy_answer_counts_until_another_run_begins() {
        let answer = |since: Option<&str>| LastHealth {
            since: since.map(str::to_owned),
            time: "2026-01-02T00:00:00Z".into(),
            run: Some("r1".into()),
        };
        let healthy = answer(Some("2026-01-01T00:00:00Z"));
        assert_eq!(of_health(Some(&healthy), Some("r1")), ServiceState::Healthy);
        for (health, last_run) in [
            (Some(&healthy), Some("r2")),
            (Some(&answer(None)), Some("r1")),
            (None, Some("r1")),
        ] {
            assert_eq!(of_health(health, last_run), ServiceState::Unchecked);
        }
    }

    #[test]
    fn a_service_is_as_the_last_check_found_it_or_its_server() {
        let of = |findings: &[Finding]| trouble("nginx", "web", findings);
        let unhealthy = finding("nginx", FindingKind::Unhealthy, "HTTP 503");
        let gone = finding("web", FindingKind::Gone, "");
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[finding("web", FindingKind::Changed, "")]), None);
        assert_eq!(of(&[finding("other", FindingKind::Gone, "")]), None);
        let told = (ServiceState::Unhealthy, "HTTP 503".to_owned());
        assert_eq!(of(&[gone.clone(), unhealthy]), Some(told));
        let told = "its server `web` is gone".to_owned();
        assert_eq!(of(&[gone]), Some((ServiceState::Unhealthy, told)));
        let silent = finding("nginx", FindingKind::NotCompared, "no answer");
        let told = (ServiceState::Unknown, "no answer".to_owned());
        assert_eq!(of(&[silent]), Some(told));
    }
}

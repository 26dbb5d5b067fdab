//! The services of a deployment. Pure: they follow from the resources, their catalogue items and the last check, so
//! there is nothing to keep in step with them.

use std::collections::BTreeMap;

use api::{Finding, FindingKind, ResourceState, Service, ServicePort, ServiceState};
use hot::expr::Scope;
use planner::workflow::copy_of;
use serde_json::Value;
use store::{DeploymentRow, ResourceRow};
use types::catalog::CatalogItem;

use crate::{
    catalog::Catalog,
    resources::{Addresses, ResourceEntry, ResourceTable, address},
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
        let (state, text) = state(&name, &server, &thing, item, findings);
        let is_in_order = matches!(state, ServiceState::Healthy | ServiceState::Installed);
        let addresses = Addresses::of(&known, &scope, &server);
        Some(Service {
            since: times.get(&name).filter(|_| is_in_order).cloned(),
            ports: ports(&thing, item, &scope),
            component: name,
            title: item.title.clone(),
            server,
            address: addresses.private,
            public_address: addresses.public,
            state,
            text,
        })
    });
    components.collect()
}

fn state(
    name: &str,
    server: &str,
    thing: &ResourceEntry,
    item: &CatalogItem,
    findings: &[Finding],
) -> (ServiceState, String) {
    let found = |resource: &str| findings.iter().find(|finding| finding.resource == resource);
    let in_order = match item.health.is_empty() {
        true => ServiceState::Installed,
        false => ServiceState::Healthy,
    };
    match thing.state {
        ResourceState::Creating | ResourceState::Updating => {
            (ServiceState::Starting, String::new())
        }
        ResourceState::Deleting | ResourceState::Deleted => (ServiceState::Removing, String::new()),
        ResourceState::Failed => (ServiceState::Failed, String::new()),
        ResourceState::Ready => match (found(name), found(server).map(|one| one.kind)) {
            (Some(one), _) if one.kind == FindingKind::Unknown => {
                (ServiceState::Unknown, one.text.clone())
            }
            (Some(one), _) => (ServiceState::Unhealthy, one.text.clone()),
            (None, Some(FindingKind::Gone)) => (
                ServiceState::Unhealthy,
                format!("its server `{server}` is gone"),
            ),
            (None, Some(FindingKind::Broken)) => (
                ServiceState::Unhealthy,
                format!("its server `{server}` is broken"),
            ),
            (None, Some(FindingKind::Transition | FindingKind::Unknown)) => (
                ServiceState::Unknown,
                format!("its server `{server}` was not asked"),
            ),
            _ => (in_order, String::new()),
        },
    }
}

fn ports(thing: &ResourceEntry, item: &CatalogItem, scope: &dyn Scope) -> Vec<ServicePort> {
    let given = thing.spec.properties.iter();
    let given = given
        .filter_map(|(name, value)| Some((name.clone(), value.resolve(scope).ok()?)))
        .collect();
    let inputs = address::inputs(item, &given);
    let number = |input: &str| {
        let number = match inputs.get(input)? {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        u16::try_from(number?).ok()
    };
    let capabilities = |port: u16| {
        let provided = item.provides.iter();
        let provided = provided.filter(|one| number(&one.port) == Some(port));
        provided.map(|one| one.name.clone()).collect()
    };
    let listens = item.listens.iter().filter_map(|listen| {
        let port = number(&listen.port)?;
        Some(ServicePort {
            port,
            protocol: listen.protocol.clone(),
            provides: capabilities(port),
        })
    });
    listens.collect()
}

//! OpenStack services that resources need, compared with the services in the cloud's catalogue.

use crate::{cloud::CloudFacts, passes::Model};
use hot::{diagnostic::Diagnostic, text::few};
use yaql::shown;

/// Service for resources of this type, by its name in the service types authority. `None` if no service is needed, or
/// if the service is unknown.
fn service_of(resource_type: &str) -> Option<&'static str> {
    let mut parts = resource_type.split("::");
    let (Some("OS"), Some(project)) = (parts.next(), parts.next()) else {
        return None;
    };
    Some(match project {
        "Nova" => "compute",
        "Neutron" => "network",
        "Cinder" => "block-storage",
        "Glance" => "image",
        "Barbican" => "key-manager",
        "Octavia" => "load-balancer",
        "Designate" => "dns",
        "Swift" => "object-store",
        "Aodh" => "alarm",
        _ => return None,
    })
}

/// Service that a resource type needs and that the cloud does not offer.
pub(crate) fn missing_for(resource_type: &str, cloud: &CloudFacts) -> Option<&'static str> {
    let offered = cloud.services.as_ref()?;
    service_of(resource_type).filter(|service| !offered.contains(*service))
}

/// One error per missing service, with the resources that need it.
pub(crate) fn missing(model: &Model, cloud: &CloudFacts) -> Vec<Diagnostic> {
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, spec) in model.iter() {
        let Some(service) = missing_for(&spec.resource_type, cloud) else {
            continue;
        };
        match missing.iter_mut().find(|(other, _)| *other == service) {
            Some((_, names)) => names.push(name),
            None => missing.push((service, vec![name])),
        }
    }
    let region = cloud.region.as_ref();
    let place = region.map_or_else(String::new, |region| {
        format!(" in region `{}`", shown(region))
    });
    let diagnostics = missing.into_iter().map(|(service, names)| {
        let need = if names.len() == 1 { "needs" } else { "need" };
        let message = format!(
            "{} {need} the {service} service, which the cloud does not offer{place}; remove what needs it, or ask the cloud's \
             administrator for the service",
            few(&names)
        );
        Diagnostic::error("service-missing", format!("resources.{}.type", names[0]), message)
    });
    diagnostics.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        compose,
        plan::{Deployed, PlanInput, plan},
        testing::{cloud, resources, types},
    };
    use hot::diagnostic::listing;
    use hot::{bundle::Bundle, document::Document};

    const TEMPLATE: &str = "  net: {type: OS::Neutron::Net}
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  more:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: OS::Cinder::Volume, properties: {size: 1}}
";

    fn both(services: &[&str]) -> (String, String) {
        let cloud = CloudFacts {
            services: Some(
                services
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect::<BTreeSet<_>>(),
            ),
            region: Some("RegionOne".to_owned()),
            ..cloud()
        };
        let document = Document::parse(resources(TEMPLATE));
        let (bundle, parameters, types) = (Bundle::default(), Default::default(), types());
        let plan = plan(&PlanInput {
            document: &document,
            bundle: &bundle,
            parameters: &parameters,
            deployed: &Deployed::default(),
            types: &types,
            cloud: &cloud,
        });
        assert_eq!(plan.workflow.is_some(), plan.diagnostics.is_empty());
        let checked = compose::validate(&document, &bundle, &types, &cloud, &parameters);
        (listing(&checked), listing(&plan.diagnostics))
    }

    #[test]
    fn a_missing_service_is_reported_before_anything_is_created() {
        let (checked, planned) = both(&["compute", "network"]);
        assert_eq!(
            checked,
            "4:10 Error service-missing resources.disk.type: `disk`, `more/0` and `more/1` need the block-storage service, which the cloud \
             does not offer in region `RegionOne`; remove what needs it, or ask the cloud's administrator for the service"
        );
        assert_eq!(planned, checked);
    }

    #[test]
    fn existing_services_are_not_reported() {
        let (checked, planned) = both(&["block-storage", "network"]);
        assert_eq!((checked.as_str(), planned.as_str()), ("", ""));
    }
}

//! Definitions of the servers of a group: launch configurations, launch templates, and servers with a launch template.

use serde_json::Value;

use super::{INSTANCE, LAUNCH, Resource};
use crate::import::context::Importer;

pub(crate) const TEMPLATE: &str = "AWS::EC2::LaunchTemplate";

/// The definition for a group or a server, if it is in the template. Its properties are read like a server's.
pub(super) fn definition<'a>(
    importer: &Importer<'a>,
    resource: &mut Resource<'_>,
) -> Option<Resource<'a>> {
    let mixed = resource.raw("MixedInstancesPolicy");
    let mixed = mixed.and_then(|one| one.pointer("/LaunchTemplate/LaunchTemplateSpecification"));
    if let Some(named) = resource.raw("LaunchTemplate").or(mixed) {
        let id = ["LaunchTemplateId", "LaunchTemplateName"];
        let id = id.iter().find_map(|key| named.get(*key))?;
        let named = || importer.launch_names.get(id.as_str()?).copied();
        let name = importer.referred(id, TEMPLATE).or_else(named)?;
        return Some(Resource::below(
            name,
            &importer.resources[name],
            "LaunchTemplateData",
        ));
    }
    let launch = resource.raw("LaunchConfigurationName");
    let launch = launch.and_then(|launch| importer.referred(launch, LAUNCH));
    let instance = resource.raw("InstanceId");
    let instance = instance.and_then(|one| importer.referred(one, INSTANCE));
    let name = launch.or(instance)?;
    Some(Resource::of(name, &importer.resources[name]))
}

/// Finds launch templates by their own `LaunchTemplateName`.
pub(super) fn find_names(importer: &mut Importer<'_>) {
    for (name, body) in importer.resources {
        let given = body.pointer("/Properties/LaunchTemplateName");
        if importer.type_of(name) == TEMPLATE
            && let Some(given) = given.and_then(Value::as_str)
        {
            importer.launch_names.insert(given, name);
        }
    }
}

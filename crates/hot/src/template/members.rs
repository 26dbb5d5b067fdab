//! Types of the members of groups and chains.

use super::Resource;
use crate::expr::Expr;

/// A group of identical members.
pub const GROUP: &str = "OS::Heat::ResourceGroup";
/// A group whose size changes with signals.
pub const SCALING_GROUP: &str = "OS::Heat::AutoScalingGroup";
/// A number of servers with the same launch configuration.
pub const INSTANCE_GROUP: &str = "OS::Heat::InstanceGroup";
/// Definition of the members of an [`INSTANCE_GROUP`].
pub const LAUNCH_CONFIGURATION: &str = "AWS::AutoScaling::LaunchConfiguration";
/// A change of a scaling group's size.
pub const SCALING_POLICY: &str = "OS::Heat::ScalingPolicy";
/// Members of several types, created one after the other.
pub const CHAIN: &str = "OS::Heat::ResourceChain";

/// Type of the members of a group of software deployments, one for each server. `None` for other types. The names with
/// `s` are former ones.
pub fn member_of_deployment_group(group: &str) -> Option<&'static str> {
    match group {
        "OS::Heat::SoftwareDeploymentGroup" | "OS::Heat::SoftwareDeployments" => {
            Some("OS::Heat::SoftwareDeployment")
        }
        "OS::Heat::StructuredDeploymentGroup" | "OS::Heat::StructuredDeployments" => {
            Some("OS::Heat::StructuredDeployment")
        }
        _ => None,
    }
}

impl Resource {
    /// Type of the resource, and the types of its members.
    pub fn types(&self) -> Vec<&str> {
        let mut types = vec![self.resource_type.as_str()];
        match self.resource_type.as_str() {
            GROUP => of_definition(self.property("resource_def"), &mut types),
            SCALING_GROUP => of_definition(self.property("resource"), &mut types),
            CHAIN => {
                if let Some(Expr::List(members)) = self.property("resources") {
                    types.extend(members.iter().filter_map(Expr::as_str));
                }
            }
            _ => {}
        }
        types
    }
}

/// Adds the type in a definition of members, and the types in a nested definition.
fn of_definition<'a>(definition: Option<&'a Expr>, types: &mut Vec<&'a str>) {
    let Some(written) = definition.and_then(|definition| definition.get("type")?.as_str()) else {
        return;
    };
    types.push(written);
    let inner = match written {
        GROUP => "resource_def",
        SCALING_GROUP => "resource",
        _ => return,
    };
    let properties = definition.and_then(|definition| definition.get("properties"));
    of_definition(
        properties.and_then(|properties| properties.get(inner)),
        types,
    );
}

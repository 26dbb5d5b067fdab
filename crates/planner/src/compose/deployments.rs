//! `OS::Heat::SoftwareDeploymentGroup` and `OS::Heat::StructuredDeploymentGroup`: one deployment for each server of a map.
//!
//! Members have the names of the map's keys. The servers must be known when the plan is made: a map of the template, or
//! `refs_map` of a group. Batches are those of a `ResourceGroup`. Source: Heat's `software_deployment.py`.

use super::{
    BTreeMap, Composer, Expr, Frame, Parent, Place, ResourceSpec,
    batches::{self, Batches},
};

const SERVERS: &str = "servers";

impl Composer<'_> {
    /// Adds a member of the type `member` for each server.
    pub(super) fn deployments(
        &mut self,
        frame: &Frame<'_>,
        name: &str,
        spec: ResourceSpec,
        member: &str,
    ) {
        let full = frame.full(name);
        let inherits = self.waits_for(frame, &spec);
        let first = self.resources.len();
        let servers = if self.may_nest(frame, name) {
            self.servers(frame, name, &spec)
        } else {
            Vec::new()
        };
        let members: Vec<String> = servers.iter().map(|(name, _)| name.clone()).collect();
        let batches = batches::of_policy(self, frame, name, members.len());
        let pause = batches.and_then(|batches| batches.pause(&full, &members));
        self.pauses.extend(pause);
        let mut shared = spec.properties.clone();
        shared.remove(SERVERS);
        for (number, (server_name, server)) in servers.into_iter().enumerate() {
            let short = format!("{name}/{server_name}");
            let mut properties = shared.clone();
            properties.insert("server".to_owned(), server);
            let made = ResourceSpec {
                resource_type: member.to_owned(),
                properties,
                requires: Vec::new(),
                ..spec.clone()
            };
            let place = Place {
                file: frame.file.map(str::to_owned),
                path: format!("resources.{name}"),
            };
            self.places.insert(frame.full(&short), place);
            let before =
                batches.map_or(&[][..], |batches: Batches| batches.before(number, &members));
            let mut inherits = inherits.clone();
            inherits.extend(before.iter().map(|other| format!("{full}/{other}")));
            self.resource(&frame.deeper(inherits), &short, made);
        }
        let parent = ResourceSpec {
            properties: BTreeMap::new(),
            ..spec
        };
        self.parent(
            full,
            parent,
            inherits,
            Parent::Deployments { members },
            first,
        );
    }

    /// Servers by name, in the order of the template.
    fn servers(
        &mut self,
        frame: &Frame<'_>,
        name: &str,
        spec: &ResourceSpec,
    ) -> Vec<(String, Expr)> {
        let full = frame.full(name);
        let path = format!("resources.{full}.properties.{SERVERS}");
        let Some(given) = spec.properties.get(SERVERS) else {
            return Vec::new();
        };
        match self.simplified(frame, given, &|| path.clone()) {
            Expr::Map(servers) => return servers,
            Expr::GetAttr(group, attribute) if attribute == [Expr::text("refs_map")] => {
                let group = frame.full(&group);
                if let Some(Parent::Group { members } | Parent::ScalingGroup { members }) =
                    self.parents.get(&group)
                {
                    let server = |member: &String| {
                        (
                            member.clone(),
                            Expr::GetResource(format!("{group}/{member}")),
                        )
                    };
                    return members.iter().map(server).collect();
                }
            }
            _ => {}
        }
        let message = format!(
            "the servers of `{full}` must be known when the plan is made: `{SERVERS}` is a map from names to `get_resource`, or \
             `get_attr: [GROUP, refs_map]` of a group of servers"
        );
        self.error("group-definition", path, message);
        Vec::new()
    }
}

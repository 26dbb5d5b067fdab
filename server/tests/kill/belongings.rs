//! Ids of a project's resources in its cloud.

use std::collections::BTreeSet;

use openstack::Session;
use openstack::network::{FloatingIp, Network, Port, Router, SecurityGroup, Subnet};

/// Kind and id of each resource, for the kinds in the test's template.
#[derive(Clone, Debug, PartialEq)]
pub struct Belongings(BTreeSet<(&'static str, String)>);

impl Belongings {
    /// The resources of the session's project, without ports that the cloud creates itself (DHCP, router interfaces).
    pub async fn of(session: &Session) -> Belongings {
        let mut all = BTreeSet::new();
        let servers = session.compute().server_list(&[]).await.unwrap();
        all.extend(servers.into_iter().map(|one| ("server", one.id)));
        let network = session.network();
        let project = session.project().unwrap().id.clone();
        let own = [("project_id", project.as_str())];
        macro_rules! add {
            ($($kind:ident),*) => {$(
                let found = network.list::<$kind>(&own).await.unwrap();
                all.extend(found.into_iter().map(|one| (stringify!($kind), one.id)));
            )*};
        }
        add!(Network, Subnet, Router, FloatingIp, SecurityGroup);
        let ports = network.list::<Port>(&own).await.unwrap().into_iter();
        let ports = ports.filter(|port| {
            let owner = serde_json::to_value(port).unwrap()["device_owner"].clone();
            !owner
                .as_str()
                .is_some_and(|owner| owner.starts_with("network:"))
        });
        all.extend(ports.map(|port| ("Port", port.id)));
        Belongings(all)
    }

    /// The resources that are not in `other`.
    pub fn without(&self, other: &Belongings) -> Belongings {
        Belongings(self.0.difference(&other.0).cloned().collect())
    }

    /// The resources whose id is not among `ids`.
    pub fn not_in(&self, ids: &BTreeSet<String>) -> Vec<(&'static str, String)> {
        let unknown = self.0.iter().filter(|(_, id)| !ids.contains(id));
        unknown.cloned().collect()
    }
}

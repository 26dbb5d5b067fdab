//! `OS::Neutron::ExtraRoute`: one static route of a router.

use super::extra_route_set::Routes;
use super::properties::Properties;

pub(super) static EXTRA_ROUTE: Routes = Routes {
    router: "router_id",
    read: |properties| {
        let properties = Properties::of(properties);
        let route = |name| properties.required(name);
        Ok(vec![(route("destination")?, route("nexthop")?)])
    },
};

//! Whose turn it is: the order in which resources are made and changed, hand-overs included.
//!
//! A resource comes after all that it requires, and after what gives up something that it takes
//! ([`alone::handed_over`]). Where that would make a circle, what a resource requires counts, and the other one lets go first.
//!
//! A new server comes after the new floating IPs of its ports. Nobody requires that, but Nova reads all about a server's
//! network anew, in half a dozen calls, each time that one of its ports gets an address: a hundred servers that get
//! theirs afterwards cost the services a third more calls. And what boots finds its public address in the metadata.

use std::collections::{HashMap, HashSet};

use super::{
    alone::{self, HandOver},
    compile::order,
    *,
};
use crate::{
    expr::Expr,
    types::{FLOATING_IP, FLOATING_IP_ASSOCIATION, SERVER},
};

/// Turns of the model's resources.
pub(super) struct Turns<'a> {
    /// Each after all that it waits for.
    pub order: Vec<&'a str>,
    /// What a resource waits for beyond what it requires.
    pub after: HashMap<&'a str, Vec<&'a str>>,
    /// Resources that let go before this one takes, and are changed later.
    pub takes_from: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Turns<'a> {
    /// The error is a circle of what is required.
    pub fn of(
        model: &'a Model,
        deployed: &'a Deployed,
        changes: &'a [Change],
    ) -> Result<Turns<'a>, Vec<String>> {
        let mut turns = Turns {
            order: order(model.iter())?,
            after: HashMap::new(),
            takes_from: HashMap::new(),
        };
        let replaced: HashSet<&str> = changes
            .iter()
            .filter(|change| change.action == Action::Replace && !change.may)
            .map(|change| change.resource.as_str())
            .collect();
        let is_replaced = |name: &str| replaced.contains(name);
        let site = alone::Site {
            deployed,
            model,
            is_replaced: &is_replaced,
        };
        let all = alone::handed_over(&site, changes);
        for HandOver { to, from } in &all {
            let (waits, on) = match turns.waits_for(model, from, to) {
                false => (to, from),
                true => {
                    turns.takes_from.entry(to).or_default().push(from);
                    (from, to)
                }
            };
            turns.after.entry(waits).or_default().push(on);
        }
        turns.addresses_first(model, changes);
        if !turns.after.is_empty() {
            let waits: Vec<Vec<&str>> = turns
                .order
                .iter()
                .map(|name| turns.all_before(model, name).collect())
                .collect();
            // What is new in it makes no circle, by its making.
            if let Ok(order) = graph::order(&turns.order, &waits) {
                turns.order = order.into_iter().map(|at| turns.order[at]).collect();
            }
        }
        Ok(turns)
    }

    /// New servers wait for the new floating IPs of their ports; not for one that itself waits for more than the network,
    /// because who wrote that wants the address when something else is done.
    fn addresses_first(&mut self, model: &'a Model, changes: &[Change]) {
        let made: HashSet<&str> = changes
            .iter()
            .filter(|change| change.action == Action::Create)
            .map(|change| change.resource.as_str())
            .collect();
        let mut of_port: HashMap<&str, Vec<&'a str>> = HashMap::new();
        for (name, spec) in model.iter() {
            let leads = [FLOATING_IP, FLOATING_IP_ASSOCIATION].contains(&&*spec.resource_type);
            if leads
                && made.contains(name)
                && let Some(port) = spec.properties.get("port_id").and_then(graph::target)
                && self.waits_for_the_network_alone(model, name)
            {
                of_port.entry(port).or_default().push(name);
            }
        }
        for (name, spec) in model.of_type(SERVER) {
            let Some(Expr::List(networks)) = spec.properties.get("networks") else {
                continue;
            };
            let ports = networks
                .iter()
                .filter_map(|entry| graph::target(entry.get("port")?));
            let addresses = ports.filter_map(|port| of_port.get(port)).flatten();
            let addresses: Vec<&str> = addresses.copied().collect();
            if made.contains(name) && !addresses.is_empty() {
                self.after.entry(name).or_default().extend(addresses);
            }
        }
    }

    fn waits_for_the_network_alone(&self, model: &'a Model, name: &'a str) -> bool {
        let of_the_network = |name: &str| {
            let spec = model.get(name);
            spec.is_none_or(|spec| spec.resource_type.starts_with("OS::Neutron::"))
        };
        self.all_it_waits_for(model, name).all(of_the_network)
    }

    /// What a resource waits for at once.
    pub fn all_before<'t>(
        &'t self,
        model: &'a Model,
        name: &str,
    ) -> impl Iterator<Item = &'a str> + use<'a, 't> {
        let required = model.get(name).map(|spec| spec.requires.as_slice());
        let after = self.after.get(name).map(Vec::as_slice);
        let required = required.unwrap_or_default().iter().map(String::as_str);
        required.chain(after.unwrap_or_default().iter().copied())
    }

    /// Whether one waits for another, near or far.
    fn waits_for(&self, model: &'a Model, name: &'a str, other: &str) -> bool {
        self.all_it_waits_for(model, name)
            .any(|before| before == other)
    }

    /// What a resource waits for, near and far.
    fn all_it_waits_for<'t>(
        &'t self,
        model: &'a Model,
        name: &'a str,
    ) -> impl Iterator<Item = &'a str> + use<'a, 't> {
        let mut seen = HashSet::new();
        let mut open: Vec<&'a str> = self.all_before(model, name).collect();
        std::iter::from_fn(move || {
            loop {
                let before = open.pop()?;
                if seen.insert(before) {
                    open.extend(self.all_before(model, before));
                    return Some(before);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        plan::tests::{from_to, steps},
        testing::{plan_of, resources},
    };

    const LED: &str = "
  net: {type: OS::Neutron::Net}
  one: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  two: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  first: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: one}}}
  second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
";

    #[test]
    fn who_gives_up_comes_before_who_takes() {
        let before = resources(LED);
        let after = before
            .replace("public, port_id: {get_resource: one}", "public")
            .replace("second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}",
                "second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: one}}");
        let (_, steps) = from_to(&before, &after);
        insta::assert_snapshot!(steps, @r"
        first:update <- 
        second:update <- first:update
        ");
    }

    #[test]
    fn one_of_two_that_swap_lets_go_first() {
        let before = resources(LED).replace(
            "second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}",
            "second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: two}}",
        );
        let after = before
            .replace("get_resource: one}}}", "get_resource: three}}}")
            .replace("get_resource: two}}}", "get_resource: one}}}")
            .replace("get_resource: three}}}", "get_resource: two}}}");
        let (_, steps) = from_to(&before, &after);
        insta::assert_snapshot!(steps, @r"
        second:update <- 
        first:update <- second:update
        ");
    }

    #[test]
    fn what_is_required_counts_more() {
        let before = resources(LED).replace("second: {type", "second: {depends_on: first, type");
        let after = before
            .replace("port_id: {get_resource: one}", "port_id: {get_resource: two}")
            .replace(
                "second: {depends_on: first, type: OS::Neutron::FloatingIP, properties: {floating_network: public}",
                "second: {depends_on: first, type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: one}}",
            );
        let (_, steps) = from_to(&before, &after);
        insta::assert_snapshot!(steps, @r"
        first:update <- 
        second:update <- first:update
        ");
    }

    fn first_steps(template: &str) -> String {
        let plan = plan_of(&resources(template));
        steps(&plan.workflow.expect("a plan"))
    }

    const PUBLIC: &str = "
  net: {type: OS::Neutron::Net}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  server: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{port: {get_resource: port}}]}}
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: port}}}
";

    #[test]
    fn a_new_server_comes_after_its_floating_ip() {
        let steps = first_steps(PUBLIC);
        assert!(
            steps.contains("server:create <- port:create net_subnet:create address:create"),
            "{steps}"
        );
    }

    #[test]
    fn a_server_does_not_wait_for_an_address_that_comes_later_on_purpose() {
        let late = PUBLIC.replace(
            "OS::Neutron::FloatingIP,",
            "OS::Neutron::FloatingIP, depends_on: pause,",
        ) + "  pause: {type: OS::Heat::Delay, properties: {min_wait: 5}}\n";
        let steps = first_steps(&late);
        assert!(steps.ends_with("\nserver:create <- port:create net_subnet:create\naddress:create <- port:create pause:create router:create net_subnet_interface:create"), "{steps}");
    }

    #[test]
    fn a_server_that_is_there_keeps_its_turn() {
        let without: Vec<&str> = PUBLIC
            .lines()
            .filter(|line| !line.contains("address:"))
            .collect();
        let (_, steps) = from_to(&resources(&without.join("\n")), &resources(PUBLIC));
        insta::assert_snapshot!(steps, @r"
        router:create <- 
        net_subnet_interface:create <- router:create
        address:create <- router:create net_subnet_interface:create
        ");
    }
}

//! `OS::Neutron::RouterInterface`: a router's interface in a subnet.
//!
//! Neutron has no resource for it, only a port of the router, so it has no marker. A router has at most one interface
//! in a subnet, and that is its identity. The physical id is Heat's: `<router>:subnet_id=<subnet>` or
//! `<router>:port_id=<port>`.
//!
//! Neutron refuses to delete an interface that floating IPs need. If the interface moves to another router, the
//! floating IPs keep their addresses: those of the deployment, and those associated with its ports, are disassociated,
//! and the plan associates them again once the new interface exists. Source: Networking API v2.0, "Add interface to
//! router", "Remove interface from router".

use async_trait::async_trait;
use openstack::network::{Entity, FloatingIp, Port, Router, Subnet};
use serde_json::{Map, Value, json};

use super::marker;
use super::properties::{Properties, if_valid};
use super::record::done_if_gone;
use crate::driver::{Context, Driver, DriverError, Duplicates, Progress, Ready};

pub(super) struct RouterInterface;

#[async_trait]
impl Driver for RouterInterface {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let interface = Interface::of_properties(context).await?;
        let network = context.session.network();
        let added = match &interface.attachment {
            Attachment::Subnet(subnet) => {
                network.router_add_subnet(&interface.router, subnet).await
            }
            Attachment::Port(port) => network.router_add_port(&interface.router, port).await,
        };
        match added {
            Ok(()) => Ok(interface.to_string()),
            // Neutron refuses an existing interface, which can be from an earlier attempt.
            Err(error) if matches!(error.status(), Some(400 | 409)) => {
                match interface.find(context).await? {
                    Some(_) => Ok(interface.to_string()),
                    None => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let Some(port) = Interface::parse(physical_id)?.find(context).await? else {
            return Ok(Progress::Failed("the router interface is gone".into()));
        };
        let mut attributes = Map::new();
        attributes.insert(
            "show".into(),
            serde_json::to_value(&port).unwrap_or(Value::Null),
        );
        Ok(Progress::Ready(Ready {
            reference: json!(physical_id),
            attributes,
        }))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let interface = match physical_id {
            Some(id) => Interface::parse(id)?,
            None => match if_valid(Interface::of_properties(context).await)? {
                Some(interface) => interface,
                None => return Ok(()),
            },
        };
        match interface.remove(context).await {
            Err(error)
                if is_needed(&error) && interface.disassociate_floating_ips(context).await? =>
            {
                done_if_gone(interface.remove(context).await)
            }
            other => done_if_gone(other),
        }
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        Ok(Interface::parse(physical_id)?
            .find(context)
            .await?
            .is_none())
    }
}

/// Recognizes the refusal `Router interface for subnet x on router y cannot be deleted, as it is required by one or
/// more floating IPs.`
fn is_needed(error: &openstack::Error) -> bool {
    let by_floating_ips = |message: &str| message.contains("floating IP");
    error.is_conflict() && error.message().is_some_and(by_floating_ips)
}

#[derive(Debug, PartialEq)]
struct Interface {
    router: String,
    attachment: Attachment,
}

#[derive(Debug, PartialEq)]
enum Attachment {
    Subnet(String),
    Port(String),
}

impl Interface {
    async fn of_properties(context: &Context<'_>) -> Result<Interface, DriverError> {
        let session = context.session;
        let properties = Properties::of(context.properties);
        let router = properties.required("router")?;
        let router = properties
            .id_named::<Router>(session, "router", &router)
            .await?;
        if let Some(port) = properties.id_of::<Port>(session, "port").await? {
            return Ok(Interface {
                router,
                attachment: Attachment::Port(port),
            });
        }
        match properties.id_of::<Subnet>(session, "subnet").await? {
            Some(subnet) => Ok(Interface {
                router,
                attachment: Attachment::Subnet(subnet),
            }),
            None => {
                Err(properties.wrong("subnet", "either `subnet` or `port` must be given".into()))
            }
        }
    }

    fn parse(physical_id: &str) -> Result<Interface, DriverError> {
        let wrong =
            || DriverError::Other(format!("`{physical_id}` is no id of a router interface"));
        let (router, attachment) = physical_id.split_once(':').ok_or_else(wrong)?;
        let attachment = match attachment.split_once('=') {
            Some(("subnet_id", subnet)) => Attachment::Subnet(subnet.into()),
            Some(("port_id", port)) => Attachment::Port(port.into()),
            _ => return Err(wrong()),
        };
        Ok(Interface {
            router: router.into(),
            attachment,
        })
    }

    async fn remove(&self, context: &Context<'_>) -> Result<(), openstack::Error> {
        let network = context.session.network();
        match &self.attachment {
            Attachment::Subnet(subnet) => network.router_remove_subnet(&self.router, subnet).await,
            Attachment::Port(port) => network.router_remove_port(&self.router, port).await,
        }
    }

    /// Disassociates the floating IPs of the deployment and of its ports that need this interface. Returns whether
    /// there was one.
    async fn disassociate_floating_ips(&self, context: &Context<'_>) -> Result<bool, DriverError> {
        let network = context.session.network();
        let Some(interface) = self.find(context).await? else {
            return Ok(false);
        };
        let subnets: Vec<&str> = interface
            .fixed_ips
            .iter()
            .map(|address| address.subnet_id.as_str())
            .collect();
        let addresses: Vec<FloatingIp> = network.list(&[("router_id", &self.router)]).await?;
        let mut found = false;
        for address in addresses {
            let Some(port) = &address.port_id else {
                continue;
            };
            let port: Port = match network.get(port).await {
                Ok(port) => port,
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error.into()),
            };
            let behind = port.fixed_ips.iter().any(|fixed| {
                subnets.contains(&fixed.subnet_id.as_str())
                    && address.fixed_ip_address.as_deref() == Some(fixed.ip_address.as_str())
            });
            let ours = |description: Option<&str>| {
                description.is_some_and(|text| marker::is_of_deployment(text, context.marker))
            };
            if behind && (ours(address.description()) || ours(port.description())) {
                let nowhere = json!({"port_id": null});
                let changed = network.update::<FloatingIp>(address.id(), &nowhere).await;
                done_if_gone(changed.map(drop))?;
                found = true;
            }
        }
        Ok(found)
    }

    /// The router's port of this interface.
    async fn find(&self, context: &Context<'_>) -> Result<Option<Port>, DriverError> {
        let ports: Vec<Port> = context
            .session
            .network()
            .list(&[("device_id", &self.router)])
            .await?;
        Ok(ports.into_iter().find(|port| {
            // The port of the external gateway belongs to the router too, but is no interface.
            let gateway = port.device_owner.as_deref() == Some("network:router_gateway");
            !gateway
                && match &self.attachment {
                    Attachment::Port(id) => port.id == *id,
                    Attachment::Subnet(subnet) => port
                        .fixed_ips
                        .iter()
                        .any(|address| address.subnet_id == *subnet),
                }
        }))
    }
}

impl std::fmt::Display for Interface {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.attachment {
            Attachment::Subnet(subnet) => write!(f, "{}:subnet_id={subnet}", self.router),
            Attachment::Port(port) => write!(f, "{}:port_id={port}", self.router),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_there_and_back() {
        for id in ["r1:subnet_id=s1", "r1:port_id=p1"] {
            assert_eq!(Interface::parse(id).unwrap().to_string(), id);
        }
        assert_eq!(
            Interface::parse("nonsense").unwrap_err().to_string(),
            "`nonsense` is no id of a router interface"
        );
    }
}

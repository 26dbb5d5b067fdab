//! Types that rules and passes know by name.

/// The deployment's own key.
pub const SSH_KEY: &str = "Stackloom::SSHKey";

pub(crate) const SERVER: &str = "OS::Nova::Server";
pub(crate) const KEY_PAIR: &str = "OS::Nova::KeyPair";
pub(crate) const NET: &str = "OS::Neutron::Net";
pub(crate) const SUBNET: &str = "OS::Neutron::Subnet";
pub(crate) const PORT: &str = "OS::Neutron::Port";
pub(crate) const ROUTER: &str = "OS::Neutron::Router";
pub(crate) const ROUTER_INTERFACE: &str = "OS::Neutron::RouterInterface";
pub(crate) const ROUTER_GATEWAY: &str = "OS::Neutron::RouterGateway";
pub(crate) const EXTRA_ROUTE: &str = "OS::Neutron::ExtraRoute";
pub(crate) const EXTRA_ROUTE_SET: &str = "OS::Neutron::ExtraRouteSet";
pub(crate) const FLOATING_IP: &str = "OS::Neutron::FloatingIP";
pub(crate) const FLOATING_IP_ASSOCIATION: &str = "OS::Neutron::FloatingIPAssociation";
pub(crate) const FLOATING_IP_PORT_FORWARD: &str = "OS::Neutron::FloatingIPPortForward";
pub(crate) const SECURITY_GROUP: &str = "OS::Neutron::SecurityGroup";
pub(crate) const SECURITY_GROUP_RULE: &str = "OS::Neutron::SecurityGroupRule";
pub(crate) const AWS_ROUTE_TABLE: &str = "AWS::EC2::RouteTable";
pub(crate) const AWS_GATEWAY_ATTACHMENT: &str = "AWS::EC2::VPCGatewayAttachment";
pub(crate) const SCALING_GROUP: &str = "OS::Heat::AutoScalingGroup";

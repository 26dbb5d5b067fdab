//! Names of types with special handling in rules and passes.

/// The SSH key of the deployment.
pub const SSH_KEY: &str = "Stackloom::SSHKey";

/// Random characters, often a password.
pub const RANDOM_STRING: &str = "OS::Heat::RandomString";
/// A virtual machine.
pub const SERVER: &str = "OS::Nova::Server";
/// A disk that outlives servers.
pub const VOLUME: &str = "OS::Cinder::Volume";
/// The attachment of a volume to a server. Its id in a deployment is `<server>:<volume>`.
pub const VOLUME_ATTACHMENT: &str = "OS::Cinder::VolumeAttachment";
/// A public SSH key.
pub const KEY_PAIR: &str = "OS::Nova::KeyPair";
/// A network.
pub const NET: &str = "OS::Neutron::Net";
/// An address range of a network.
pub const SUBNET: &str = "OS::Neutron::Subnet";
/// A port of a network.
pub const PORT: &str = "OS::Neutron::Port";
/// A router.
pub const ROUTER: &str = "OS::Neutron::Router";
/// A router's interface in a subnet.
pub const ROUTER_INTERFACE: &str = "OS::Neutron::RouterInterface";
/// A router's external gateway.
pub const ROUTER_GATEWAY: &str = "OS::Neutron::RouterGateway";
/// A static route of a router.
pub const EXTRA_ROUTE: &str = "OS::Neutron::ExtraRoute";
/// Static routes of a router.
pub const EXTRA_ROUTE_SET: &str = "OS::Neutron::ExtraRouteSet";
/// A floating IP.
pub const FLOATING_IP: &str = "OS::Neutron::FloatingIP";
/// The association of a floating IP with a port.
pub const FLOATING_IP_ASSOCIATION: &str = "OS::Neutron::FloatingIPAssociation";
/// A port forwarding of a floating IP.
pub const FLOATING_IP_PORT_FORWARD: &str = "OS::Neutron::FloatingIPPortForward";
/// A security group.
pub const SECURITY_GROUP: &str = "OS::Neutron::SecurityGroup";
/// A security group rule.
pub const SECURITY_GROUP_RULE: &str = "OS::Neutron::SecurityGroupRule";
/// Routes of a VPC.
pub const AWS_ROUTE_TABLE: &str = "AWS::EC2::RouteTable";
/// A VPC's gateway to the internet.
pub const AWS_GATEWAY_ATTACHMENT: &str = "AWS::EC2::VPCGatewayAttachment";
/// A configuration that runs on a server.
pub const SOFTWARE_DEPLOYMENT: &str = "OS::Heat::SoftwareDeployment";
/// A configuration in the form of a map that runs on a server.
pub const STRUCTURED_DEPLOYMENT: &str = "OS::Heat::StructuredDeployment";
/// A script or another configuration in the form of a text.
pub const SOFTWARE_CONFIG: &str = "OS::Heat::SoftwareConfig";
/// A configuration in the form of a map.
pub const STRUCTURED_CONFIG: &str = "OS::Heat::StructuredConfig";
/// Configurations for the stages of a component's life.
pub const SOFTWARE_COMPONENT: &str = "OS::Heat::SoftwareComponent";
/// A wait for signals.
pub const WAIT_CONDITION: &str = "OS::Heat::WaitCondition";
/// The same wait; in Heat, its signals go over object storage.
pub const SWIFT_SIGNAL: &str = "OS::Heat::SwiftSignal";
/// The target of signals that a wait condition waits for.
pub const WAIT_CONDITION_HANDLE: &str = "OS::Heat::WaitConditionHandle";
/// The handle of [`SWIFT_SIGNAL`].
pub const SWIFT_SIGNAL_HANDLE: &str = "OS::Heat::SwiftSignalHandle";
/// The target of a wait condition that is replaced at every update.
pub const UPDATE_WAIT_CONDITION_HANDLE: &str = "OS::Heat::UpdateWaitConditionHandle";
/// Prefix of the types of catalogue items.
pub const CATALOG: &str = "Stackloom::Catalog::";

/// True for software deployments: types that run a configuration on a server.
pub fn is_software_deployment(resource_type: &str) -> bool {
    matches!(resource_type, SOFTWARE_DEPLOYMENT | STRUCTURED_DEPLOYMENT)
}

/// True for waits for signals.
pub fn is_wait_condition(resource_type: &str) -> bool {
    matches!(resource_type, WAIT_CONDITION | SWIFT_SIGNAL)
}

/// True for the targets of signals that wait conditions wait for.
pub fn is_wait_condition_handle(resource_type: &str) -> bool {
    matches!(
        resource_type,
        WAIT_CONDITION_HANDLE | UPDATE_WAIT_CONDITION_HANDLE | SWIFT_SIGNAL_HANDLE
    )
}

/// The property that names the server of software: of a catalogue item, or of a software deployment.
pub fn host_property(resource_type: &str) -> &'static str {
    if is_software_deployment(resource_type) {
        "server"
    } else {
        "host"
    }
}

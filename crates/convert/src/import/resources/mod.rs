//! Converts resources: one file per family, and shared functions.
//!
//! [`all`] first finds the resources that become part of others, so that this is known when others are converted.
//! References to a resource are converted by [`reference`] and [`attribute`], because `Ref` returns an id for some
//! types and an IP address for others.

mod balancer;
mod balancer_v2;
mod compute;
mod launch;
mod network;
mod orchestration;
mod redirect;
mod scaling;
mod security;
mod storage;

use std::collections::BTreeSet;

use hot::template::is_name;
use serde_json::{Map, Value, json};
use types::Registry;

use crate::import::context::Importer;

pub(crate) const INSTANCE: &str = "AWS::EC2::Instance";
pub(crate) const ADDRESS: &str = "AWS::EC2::EIP";
pub(crate) const ASSOCIATION: &str = "AWS::EC2::EIPAssociation";
pub(crate) const VPC: &str = "AWS::EC2::VPC";
pub(crate) const SUBNET: &str = "AWS::EC2::Subnet";
pub(crate) const INTERFACE: &str = "AWS::EC2::NetworkInterface";
pub(crate) const GATEWAY_ATTACHMENT: &str = "AWS::EC2::VPCGatewayAttachment";
pub(crate) const GROUP: &str = "AWS::EC2::SecurityGroup";
pub(crate) const LAUNCH: &str = "AWS::AutoScaling::LaunchConfiguration";
pub(crate) const HANDLE: &str = "AWS::CloudFormation::WaitConditionHandle";
pub(crate) const BALANCER: &str = "AWS::ElasticLoadBalancing::LoadBalancer";

/// Converts one resource and adds the results.
type Convert = fn(&mut Importer<'_>, &mut Output, &mut Resource<'_>);

/// The converters, one for each family.
const CONVERTERS: [fn(&str) -> Option<Convert>; 8] = [
    compute::of,
    network::of,
    security::of,
    balancer::of,
    balancer_v2::of,
    scaling::of,
    orchestration::of,
    storage::of,
];

/// A type that accepts any property, has any attribute, and creates nothing.
pub(crate) const NOTHING: &str = "OS::Heat::None";

/// Types without their own counterpart, and their replacement.
const WITHOUT_COUNTERPART: [(&str, &str); 12] = [
    (
        "AWS::EC2::InternetGateway",
        "the router's gateway to the external network replaces it",
    ),
    (
        GATEWAY_ATTACHMENT,
        "the router's gateway to the external network replaces it",
    ),
    (
        "AWS::EC2::RouteTable",
        "a router routes between the networks of its interfaces",
    ),
    (
        "AWS::EC2::Route",
        "the router's gateway replaces routes to the internet. Add any other route as an `OS::Neutron::ExtraRouteSet`",
    ),
    (
        "AWS::EC2::NatGateway",
        "a router with a gateway translates the addresses of all its networks",
    ),
    (
        "AWS::EC2::SubnetRouteTableAssociation",
        "the subnet's router interface replaces it",
    ),
    (
        "AWS::EC2::DHCPOptions",
        "set `dns_nameservers` of the subnet instead",
    ),
    (
        "AWS::EC2::VPCDHCPOptionsAssociation",
        "set `dns_nameservers` of the subnet instead",
    ),
    (LAUNCH, "it is the definition of the group's members here"),
    (
        launch::TEMPLATE,
        "its properties are those of the servers that use it",
    ),
    (
        "AWS::CloudFormation::Interface",
        "it describes a form and creates nothing",
    ),
    (
        "AWS::CDK::Metadata",
        "it describes the tool that wrote the template",
    ),
];

/// The resources of the result.
pub(crate) struct Output {
    pub out: Map<String, Value>,
}

/// One resource during its conversion.
pub(crate) struct Resource<'a> {
    pub name: &'a str,
    /// Path of the resource, such as `Resources.Web`.
    pub path: String,
    pub body: &'a Value,
    /// The content of `Properties`, or a part of it.
    given: Option<&'a Value>,
    /// Path of `given`, such as `Resources.Web.Properties`.
    below: String,
    used: BTreeSet<String>,
}

impl<'a> Resource<'a> {
    pub(crate) fn of(name: &'a str, body: &'a Value) -> Resource<'a> {
        Resource {
            name,
            path: format!("Resources.{name}"),
            body,
            given: body.get("Properties"),
            below: format!("Resources.{name}.Properties"),
            used: BTreeSet::new(),
        }
    }

    /// A resource whose properties are nested inside a property.
    pub(crate) fn below(name: &'a str, body: &'a Value, property: &str) -> Resource<'a> {
        let whole = Resource::of(name, body);
        Resource {
            given: whole.given.and_then(|given| given.get(property)),
            below: whole.at(property),
            ..whole
        }
    }

    fn at(&self, property: &str) -> String {
        format!("{}.{property}", self.below)
    }

    /// A property as it is written. The property counts as read.
    pub(crate) fn raw(&mut self, property: &str) -> Option<&'a Value> {
        self.used.insert(property.to_owned());
        let value = self.given?.get(property)?;
        (!value.is_null() && !crate::import::read::is_no_value(value)).then_some(value)
    }

    /// A property converted to HOT.
    pub(crate) fn take(&mut self, importer: &mut Importer<'_>, property: &str) -> Option<Value> {
        let raw = self.raw(property)?;
        Some(importer.value(raw, &self.at(property)))
    }

    /// Converted properties under other names.
    pub(crate) fn renamed(
        &mut self,
        importer: &mut Importer<'_>,
        names: &[(&str, &str)],
    ) -> Map<String, Value> {
        let mut properties = Map::new();
        for (amazon, hot) in names {
            if let Some(value) = self.take(importer, amazon) {
                properties.insert((*hot).to_owned(), value);
            }
        }
        properties
    }

    /// `[{Key, Value}]` as a map.
    pub(crate) fn tags(&mut self, importer: &mut Importer<'_>, property: &str) -> Option<Value> {
        let raw = self.raw(property)?;
        let Some(items) = raw.as_array() else {
            let path = self.at(property);
            importer.left_out(
                &path,
                "The tags are a computed list. Set the metadata by hand",
            );
            return None;
        };
        let mut tags = Map::new();
        for item in items {
            let (Some(key), Some(value)) =
                (item.get("Key").and_then(Value::as_str), item.get("Value"))
            else {
                continue;
            };
            tags.insert(key.to_owned(), importer.value(value, &self.at(property)));
        }
        (!tags.is_empty()).then_some(Value::Object(tags))
    }

    /// Reports the unread properties.
    pub(crate) fn rest(&self, importer: &mut Importer<'_>) {
        let given = self.given.and_then(Value::as_object);
        for property in given.into_iter().flatten().map(|(name, _)| name) {
            if !self.used.contains(property) {
                let message = format!("OpenStack has no counterpart of `{property}`");
                importer.left_out(&self.at(property), message);
            }
        }
    }
}

impl Output {
    /// Adds a resource with the keys beside its properties: dependencies, condition, policies.
    pub(crate) fn put(
        &mut self,
        importer: &mut Importer<'_>,
        resource: &Resource<'_>,
        hot: &str,
        properties: Map<String, Value>,
    ) {
        let mut body = Map::new();
        body.insert("type".to_owned(), json!(hot));
        around(importer, resource, &mut body);
        if !properties.is_empty() {
            body.insert("properties".to_owned(), Value::Object(properties));
        }
        self.out
            .insert(resource.name.to_owned(), Value::Object(body));
        resource.rest(importer);
    }

    /// Adds a helper resource with the same condition as the other one.
    pub(crate) fn add(
        &mut self,
        importer: &mut Importer<'_>,
        resource: &Resource<'_>,
        suffix: &str,
        hot: &str,
        properties: Value,
    ) -> String {
        let mut name = format!("{}_{suffix}", resource.name);
        while self.out.contains_key(&name) || importer.resources.contains_key(&name) {
            name.push('_');
        }
        let mut body = json!({"type": hot});
        if let Some(condition) = resource.body.get("Condition") {
            body["condition"] = condition.clone();
        }
        body["properties"] = properties;
        if importer.spend(name.len() + crate::import::read::weight(&body)) {
            self.out.insert(name.clone(), body);
        }
        name
    }
}

/// Converts dependencies, condition, policies and metadata.
fn around(importer: &mut Importer<'_>, resource: &Resource<'_>, out: &mut Map<String, Value>) {
    let path = &resource.path;
    let get = |key: &str| resource.body.get(key);
    if let Some(condition) = get("Condition") {
        out.insert("condition".to_owned(), condition.clone());
    }
    let waits = match get("DependsOn") {
        Some(Value::Array(names)) => names.clone(),
        Some(name) => vec![name.clone()],
        None => Vec::new(),
    };
    let waits: Vec<Value> = waits
        .into_iter()
        .filter(|name| {
            let is_there = |name: &str| {
                importer.resources.contains_key(name) && !importer.dropped.contains(name)
            };
            name.as_str().is_some_and(is_there)
        })
        .collect();
    if !waits.is_empty() {
        out.insert("depends_on".to_owned(), Value::Array(waits));
    }
    if let Some(policy) = get("DeletionPolicy") {
        let policy = importer.value(policy, &format!("{path}.DeletionPolicy"));
        out.insert("deletion_policy".to_owned(), policy);
    }
    if let Some(metadata) = get("Metadata") {
        let at = format!("{path}.Metadata");
        if metadata.get("AWS::CloudFormation::Init").is_some() {
            importer.needed(
                &at,
                "Use an image with `cfn-init` (heat-cfntools) and a Heat that the servers can reach. They read this metadata",
            );
        }
        let metadata = importer.value(metadata, &at);
        out.insert("metadata".to_owned(), metadata);
    }
    for (key, why) in [
        (
            "CreationPolicy",
            "HOT has no creation policy. Add an `OS::Heat::WaitCondition` to wait for signals",
        ),
        (
            "UpdateReplacePolicy",
            "HOT has no policy for replaced resources. An update deletes them",
        ),
    ] {
        if get(key).is_some() {
            importer.left_out(&format!("{path}.{key}"), why);
        }
    }
    let is_group = out["type"] == "OS::Heat::AutoScalingGroup";
    if get("UpdatePolicy").is_some() && !is_group {
        importer.left_out(
            &format!("{path}.UpdatePolicy"),
            "Only scaling groups have an update policy in HOT",
        );
    }
}

/// Converts all resources, in the order of the text.
pub(crate) fn all(importer: &mut Importer<'_>) -> Map<String, Value> {
    let mut output = Output { out: Map::new() };
    let resources = importer.resources;
    // Heat's own groups use the definition directly.
    let is_plain_group = |body: &Value| body["Type"] == "OS::Heat::InstanceGroup";
    let keeps_launch = resources.values().any(is_plain_group);
    for (name, body) in resources {
        let written = body.get("Type").and_then(Value::as_str).unwrap_or("");
        if written.is_empty() || !is_name(name) {
            importer.dropped.insert(name.clone());
            let message = "A resource has a name of letters and digits and a map with a `Type`. Correct it and import again";
            importer.left_out(&format!("Resources.{name}"), message);
            continue;
        }
        if written == LAUNCH && keeps_launch {
            continue;
        }
        if let Some((_, why)) = WITHOUT_COUNTERPART
            .iter()
            .find(|(dropped, _)| *dropped == written)
        {
            importer.dropped.insert(name.clone());
            let message = format!("`{written}` has no direct counterpart: {why}");
            importer.changed(&format!("Resources.{name}"), message);
        }
    }
    network::find_addresses(importer);
    balancer_v2::find_balancers(importer);
    launch::find_names(importer);
    for (name, body) in resources {
        if importer.dropped.contains(name) {
            continue;
        }
        let mut resource = Resource::of(name, body);
        let written = importer.type_of(name);
        let convert = CONVERTERS.iter().find_map(|of| of(written));
        match convert {
            Some(convert) => convert(importer, &mut output, &mut resource),
            None => keep_type(importer, &mut output, &mut resource),
        }
    }
    // Removes dependencies on resources that were dropped during the conversion.
    let names: BTreeSet<String> = output.out.keys().cloned().collect();
    for body in output.out.values_mut() {
        if let Some(waits) = body.get_mut("depends_on").and_then(Value::as_array_mut) {
            waits.retain(|name| name.as_str().is_some_and(|name| names.contains(name)));
        }
    }
    output.out
}

/// Keeps a resource whose type Heat supports, or that is an OpenStack type of a later version.
fn keep_type(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let written = importer.type_of(resource.name);
    let types = Registry::openstack();
    let known = types.get(written);
    if known.is_none() && !written.starts_with("OS::") {
        placeholder(importer, output, resource);
        return;
    }
    if written.starts_with("AWS::") {
        let message = format!(
            "OpenStack has no direct counterpart of `{written}`. The resource is unchanged: Heat supports it. Replace it to use another service"
        );
        importer.changed(&resource.path, message);
    }
    let takes =
        |name: &str| known.is_none_or(|one| one.any_property || one.property(name).is_some());
    as_written(importer, output, resource, written, &takes);
}

/// A placeholder that creates nothing and keeps the original content, so that the user can replace it and references to
/// it stay valid.
fn placeholder(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let written = importer.type_of(resource.name);
    importer.left_out(
        &resource.path,
        format!("OpenStack has no direct counterpart of `{written}`. An `{NOTHING}`, which creates nothing, keeps its properties: replace it"),
    );
    as_written(importer, output, resource, NOTHING, &|_| true);
    if let Some(body) = output.out.get_mut(resource.name) {
        if let Some(properties) = body.get_mut("properties") {
            with_both_branches(properties);
        }
        if body.get("metadata").is_none() {
            body["metadata"] = json!({"cloudformation": {"type": written}});
        }
    }
}

/// Adds the second branch to every `if` without one. Heat cannot copy such an `if` to a resource that has no properties
/// of its own.
fn with_both_branches(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(with_both_branches),
        Value::Object(map) => {
            if let Some(Value::Array(branches)) = map.get_mut("if")
                && branches.len() == 2
            {
                branches.push(Value::Null);
            }
            map.values_mut().for_each(with_both_branches);
        }
        _ => {}
    }
}

fn as_written(
    importer: &mut Importer<'_>,
    output: &mut Output,
    resource: &mut Resource<'_>,
    hot: &str,
    takes: &dyn Fn(&str) -> bool,
) {
    let given = resource.given.and_then(Value::as_object);
    let mut properties = Map::new();
    for name in given.into_iter().flatten().map(|(name, _)| name) {
        if takes(name)
            && let Some(value) = resource.take(importer, name)
        {
            properties.insert(name.clone(), value);
        }
    }
    output.put(importer, resource, hot, properties);
}

/// The value of `Ref` for a resource.
pub(crate) fn reference(importer: &mut Importer<'_>, name: &str, path: &str) -> Value {
    if importer.dropped.contains(name) {
        let message = format!(
            "`{name}` is not a resource of the imported template, so the value is empty. Give it by hand"
        );
        importer.left_out(path, message);
        return Value::Null;
    }
    match importer.type_of(name) {
        ADDRESS => json!({"get_attr": [name, "floating_ip_address"]}),
        HANDLE => {
            importer.changed(
                path,
                format!(
                    "The URL is Heat's. Signals need a token in the header `X-Auth-Token`: use `get_attr: [{name}, token]`, or the attribute `curl_cli`"
                ),
            );
            json!({"get_attr": [name, "endpoint"]})
        }
        _ => json!({"get_resource": name}),
    }
}

/// Whether the value can be substituted: it refers to no resource, so substitution cannot recurse.
fn is_substitutable(importer: &Importer<'_>, value: &Value) -> bool {
    let one = |function: &str| value.get(function).filter(|_| is_single(value));
    if let Some(name) = one("Ref").and_then(Value::as_str) {
        return !importer.resources.contains_key(name);
    }
    match one("Fn::FindInMap").and_then(Value::as_array) {
        Some(keys) => keys.iter().all(|key| {
            key.is_string() || (key.get("Ref").is_some() && is_substitutable(importer, key))
        }),
        None => value.is_string(),
    }
}

fn is_single(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1)
}

/// The value of `Fn::GetAtt` for a resource.
pub(crate) fn attribute(
    importer: &mut Importer<'_>,
    name: &str,
    keys: &[Value],
    path: &str,
) -> Value {
    if importer.dropped.contains(name) {
        return reference(importer, name, path);
    }
    let key = keys.first().and_then(Value::as_str).unwrap_or_default();
    let of = |attribute: &str| json!({"get_attr": [name, attribute]});
    match (importer.type_of(name), key) {
        (INSTANCE, "PrivateIp") => of("first_address"),
        (INSTANCE, "PublicIp" | "PublicDnsName") => match importer.addresses.get(name) {
            Some(address) => json!({"get_attr": [address, "floating_ip_address"]}),
            None => {
                importer.changed(
                    path,
                    format!(
                        "`{name}` has no public address. The value is its first private address"
                    ),
                );
                of("first_address")
            }
        },
        (INSTANCE, "PrivateDnsName") => {
            importer.changed(
                path,
                format!("The value is the address of `{name}` instead of its name"),
            );
            of("first_address")
        }
        (INSTANCE, "AvailabilityZone") => {
            json!({"get_attr": [name, "show", "OS-EXT-AZ:availability_zone"]})
        }
        (ADDRESS, "AllocationId") | (GROUP, "GroupId") | (VPC, "VpcId") | (SUBNET, "SubnetId") => {
            json!({"get_resource": name})
        }
        (ADDRESS, "PublicIp") => of("floating_ip_address"),
        (INTERFACE, "PrimaryPrivateIpAddress") => {
            json!({"get_attr": [name, "fixed_ips", 0, "ip_address"]})
        }
        (VPC, "CidrBlock") => {
            let range = importer.resources[name].pointer("/Properties/CidrBlock");
            match range {
                Some(range) if is_substitutable(importer, range) => importer.value(range, path),
                _ => {
                    importer.left_out(path, "The VPC's address range is computed from a resource. Give the value by hand");
                    Value::Null
                }
            }
        }
        (VPC, "DefaultSecurityGroup") => json!("default"),
        (SUBNET, "CidrBlock") => of("cidr"),
        (SUBNET, "VpcId") => of("network_id"),
        (BALANCER | balancer_v2::BALANCER, "DNSName" | "CanonicalHostedZoneName") => {
            of("vip_address")
        }
        (balancer_v2::BALANCER, "LoadBalancerArn") | (balancer_v2::TARGETS, "TargetGroupArn") => {
            json!({"get_resource": name})
        }
        ("AWS::CloudFormation::WaitCondition", "Data") => of("data"),
        ("AWS::S3::Bucket", "Arn") => json!({"get_resource": name}),
        ("AWS::CloudFormation::Stack", output) => {
            let output = output
                .strip_prefix("Outputs.")
                .map(str::to_owned)
                .or_else(|| keys.get(1).and_then(Value::as_str).map(str::to_owned));
            of(&output.unwrap_or_default())
        }
        _ => {
            // `Outputs.Url` can be one text or several path elements.
            let path: Vec<Value> = std::iter::once(json!(name))
                .chain(keys.iter().cloned())
                .collect();
            json!({"get_attr": path})
        }
    }
}

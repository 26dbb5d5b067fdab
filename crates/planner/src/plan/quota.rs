//! Quota checks: the use by a workflow's steps, compared with the project's limits.
//!
//! The highest use during the run counts, not the use at its end: a successor is created before its predecessor is
//! deleted, so a project at its limit cannot replace anything. Steps are evaluated in the workflow's order, in which
//! early removals come first and all other removals last. Values that are unknown before the run, such as the flavor
//! behind a reference, are not counted. So a plan that fits can still fail, but a plan that does not fit will fail.
//!
//! Sources: Nova `limits` and `os-quota-sets`, Neutron `quotas/{project}/details.json`, Cinder
//! `os-quota-sets?usage=true`, Octavia `lbaas/quotas`.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Deployed;
use crate::{
    cloud::CloudFacts,
    workflow::{ResourceSpec, StepKind, Workflow, copy_of},
};
use hot::{diagnostic::Diagnostic, expr::Expr, template::DeletionPolicy, text::few};
use types::{
    FLOATING_IP, KEY_PAIR, NET, PORT, ROUTER, ROUTER_INTERFACE, SECURITY_GROUP,
    SECURITY_GROUP_RULE, SERVER, SUBNET,
};

/// Code of the warnings about quotas.
pub const QUOTA_EXCEEDED: &str = "quota-exceeded";

/// Quota whose use changes with a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUse {
    /// Name used by the service: `instances`, `floatingip`, `gigabytes_fast` ...
    pub name: String,
    /// The counted objects in the plural: `servers`, `GB of volumes`.
    pub counts: String,
    /// Maximum use. -1 means no limit.
    pub limit: i64,
    /// Current use.
    pub used: i64,
    /// Highest use during the run.
    pub peak: i64,
    /// Resources that increase the use, in the order of their steps. `at` is the first one that exceeds the limit.
    #[serde(skip)]
    by: Vec<String>,
    #[serde(skip)]
    at: Option<String>,
}

impl QuotaUse {
    /// True if the run stays within the limit.
    pub fn fits(&self) -> bool {
        self.limit < 0 || self.peak <= self.limit || self.peak <= self.used
    }
}

/// Use of all known quotas that the workflow changes, sorted by name. `deployed` contains the resources and their names
/// at the start of the run.
pub(super) fn quota_uses(
    workflow: &Workflow,
    deployed: &Deployed,
    cloud: &CloudFacts,
) -> Vec<QuotaUse> {
    if cloud.quotas.is_empty() {
        return Vec::new();
    }
    let mut uses: BTreeMap<String, (i64, QuotaUse)> = BTreeMap::new();
    for step in &workflow.steps {
        let Some(name) = step.resource.as_deref().filter(|_| !step.if_changed) else {
            continue;
        };
        let Some(spec) = workflow.resources.get(name) else {
            continue;
        };
        let mut amounts = Amounts {
            cloud,
            all: Vec::new(),
        };
        match step.kind {
            StepKind::Create => amounts.add(spec, 1),
            StepKind::Delete if is_removed(name, spec, deployed) => amounts.add(spec, -1),
            StepKind::Update => {
                let Some(old) = deployed.resources.get(name) else {
                    continue;
                };
                amounts.add(spec, 1);
                amounts.add(old, -1);
            }
            _ => continue,
        }
        for (quota, amount) in amounts.sums() {
            let Some(known) = cloud.quotas.get(quota.as_ref()) else {
                continue;
            };
            let (now, found) = uses.entry(quota.clone().into_owned()).or_insert_with(|| {
                let found = QuotaUse {
                    counts: counts(&quota),
                    name: quota.into_owned(),
                    limit: known.limit,
                    used: known.used,
                    peak: known.used,
                    by: Vec::new(),
                    at: None,
                };
                (known.used, found)
            });
            *now += amount;
            found.peak = found.peak.max(*now);
            if amount > 0 {
                found.by.push(name.to_owned());
                if found.at.is_none() && !found.fits() {
                    found.at = Some(name.to_owned());
                }
            }
        }
    }
    uses.into_values().map(|(_, found)| found).collect()
}

/// One warning per quota that the run would exceed.
pub(super) fn exceeded(uses: &[QuotaUse]) -> impl Iterator<Item = Diagnostic> {
    let beyond = uses.iter().filter(|one| !one.fits());
    beyond.map(|one| {
        let by: Vec<&str> = one.by.iter().map(String::as_str).collect();
        let message = format!(
            "not enough quota for {}: {} are needed and {} are left (`{}`: limit {}, in use {}). Needed by {}. Remove some of these, free \
             what the project no longer uses, or ask the cloud's administrator for a higher quota",
            one.counts,
            one.peak - one.used,
            (one.limit - one.used).max(0),
            one.name,
            one.limit,
            one.used,
            few(&by)
        );
        let path = one.at.as_ref().map(|name| format!("resources.{name}"));
        Diagnostic::warning(QUOTA_EXCEEDED, path.unwrap_or_default(), message)
    })
}

/// True if a removal frees quota: false for retained resources and for resources that were never created.
fn is_removed(name: &str, spec: &ResourceSpec, deployed: &Deployed) -> bool {
    let row = if deployed.resources.contains_key(name) {
        name
    } else {
        copy_of(name).unwrap_or(name)
    };
    deployed.exists(row) && spec.deletion_policy != DeletionPolicy::Retain
}

/// Names of quotas, and the objects that they count.
const COUNTED: [(&str, &str); 23] = [
    ("cores", "vCPUs"),
    ("floatingip", "floating IPs"),
    ("gigabytes", "GB of volumes"),
    ("health_monitor", "health monitors"),
    ("instances", "servers"),
    ("key_pairs", "key pairs"),
    ("l7policy", "L7 policies"),
    ("listener", "listeners"),
    ("load_balancer", "load balancers"),
    ("network", "networks"),
    ("pool", "load balancer pools"),
    ("port", "ports"),
    ("ram", "MiB of memory"),
    ("rbac_policy", "RBAC policies"),
    ("router", "routers"),
    ("security_group", "security groups"),
    ("security_group_rule", "security group rules"),
    ("server_groups", "server groups"),
    ("snapshots", "volume snapshots"),
    ("subnet", "subnets"),
    ("subnetpool", "subnet pools"),
    ("trunk", "trunks"),
    ("volumes", "volumes"),
];

fn counts(quota: &str) -> String {
    if let Some((_, counts)) = COUNTED.iter().find(|(name, _)| *name == quota) {
        return (*counts).to_owned();
    }
    // Cinder also has quotas per volume type.
    for (start, counts) in [("volumes_", "volumes"), ("gigabytes_", "GB of volumes")] {
        if let Some(volume_type) = quota.strip_prefix(start) {
            return format!("{counts} of type `{volume_type}`");
        }
    }
    quota.to_owned()
}

/// Amounts of quotas that resources use.
struct Amounts<'a> {
    cloud: &'a CloudFacts,
    all: Vec<(Cow<'static, str>, i64)>,
}

impl Amounts<'_> {
    /// Adds the use of a resource, multiplied by `sign`.
    fn add(&mut self, spec: &ResourceSpec, sign: i64) {
        if spec.external_id.is_some() {
            return;
        }
        let given = |name: &str| spec.properties.get(name).filter(|value| !value.is_null());
        let quota = match spec.resource_type.as_str() {
            SERVER => return self.server(spec, sign),
            SECURITY_GROUP => return self.security_group(spec, sign),
            "OS::Cinder::Volume" => {
                let size = given("size").and_then(whole);
                return self.volume(size, given("volume_type"), sign);
            }
            // The router's port.
            ROUTER_INTERFACE if given("port").is_none() => "port",
            KEY_PAIR => "key_pairs",
            "OS::Nova::ServerGroup" => "server_groups",
            NET | "OS::Neutron::ProviderNet" => "network",
            SUBNET => "subnet",
            "OS::Neutron::SubnetPool" => "subnetpool",
            PORT => "port",
            ROUTER => "router",
            FLOATING_IP => "floatingip",
            SECURITY_GROUP_RULE => "security_group_rule",
            "OS::Neutron::RBACPolicy" => "rbac_policy",
            "OS::Neutron::Trunk" => "trunk",
            "OS::Octavia::LoadBalancer" => {
                // The port of its address.
                self.put("port", sign);
                "load_balancer"
            }
            "OS::Octavia::Listener" => "listener",
            "OS::Octavia::Pool" => "pool",
            "OS::Octavia::HealthMonitor" => "health_monitor",
            "OS::Octavia::L7Policy" => "l7policy",
            _ => return,
        };
        self.put(quota, sign);
    }

    fn put(&mut self, quota: &'static str, amount: i64) {
        self.all.push((Cow::Borrowed(quota), amount));
    }

    fn server(&mut self, spec: &ResourceSpec, sign: i64) {
        self.put("instances", sign);
        let flavor = spec.properties.get("flavor").and_then(Expr::as_str);
        let flavors = self.cloud.flavors.iter().flatten();
        let known = flavor.and_then(|flavor| {
            let mut all = flavors;
            all.find(|one| one.name == flavor || one.id == flavor)
        });
        if let Some(flavor) = known {
            let (cores, ram) = (i64::from(flavor.vcpus), i64::from(flavor.ram_mib));
            self.put("cores", sign * cores);
            self.put("ram", sign * ram);
        }
        // Ports that Nova creates itself.
        let networks = list(spec, "networks").iter();
        let is_given = |entry: &Expr, key| entry.get(key).is_some_and(|value| !value.is_null());
        let made = networks.filter(|entry| {
            let network = is_given(entry, "network") || is_given(entry, "subnet");
            network && !is_given(entry, "port")
        });
        self.put("port", sign * count(made));
        // Volumes that Nova creates itself.
        for devices in ["block_device_mapping", "block_device_mapping_v2"] {
            for device in list(spec, devices) {
                let is_made = is_given(device, "image") || is_given(device, "snapshot_id");
                let size = device.get("volume_size").and_then(whole);
                if is_made && size.is_some() {
                    self.volume(size, device.get("volume_type"), sign);
                }
            }
        }
    }

    fn volume(&mut self, size: Option<i64>, volume_type: Option<&Expr>, sign: i64) {
        let size = size.unwrap_or(0) * sign;
        self.put("volumes", sign);
        self.put("gigabytes", size);
        let Some(wanted) = volume_type.and_then(Expr::as_str) else {
            return;
        };
        let mut types = self.cloud.volume_types.iter().flatten();
        if let Some(known) = types.find(|one| one.name == wanted || one.id == wanted) {
            let name = &known.name;
            self.all.push((format!("volumes_{name}").into(), sign));
            self.all.push((format!("gigabytes_{name}").into(), size));
        }
    }

    /// Counts a group with its inline rules, and the two rules that Neutron adds to every group unless the template has
    /// egress rules.
    fn security_group(&mut self, spec: &ResourceSpec, sign: i64) {
        self.put("security_group", sign);
        let rules = list(spec, "rules");
        let egress = |rule: &&Expr| rule.get("direction").and_then(Expr::as_str) == Some("egress");
        let of_neutron = if rules.iter().any(|rule| egress(&rule)) {
            0
        } else {
            2
        };
        self.put(
            "security_group_rule",
            sign * (count(rules.iter()) + of_neutron),
        );
    }

    /// Sum for each quota, without unchanged ones.
    fn sums(self) -> BTreeMap<Cow<'static, str>, i64> {
        let mut sums = BTreeMap::new();
        for (quota, amount) in self.all {
            *sums.entry(quota).or_insert(0) += amount;
        }
        sums.retain(|_, amount| *amount != 0);
        sums
    }
}

/// Entries of a list property.
fn list<'a>(spec: &'a ResourceSpec, property: &str) -> &'a [Expr] {
    match spec.properties.get(property) {
        Some(Expr::List(entries)) => entries,
        _ => &[],
    }
}

fn count(entries: impl Iterator) -> i64 {
    i64::try_from(entries.count()).unwrap_or(i64::MAX)
}

/// Integer, in any form that a template can use.
fn whole(value: &Expr) -> Option<i64> {
    match value {
        Expr::Literal(Value::Number(number)) => number.as_i64(),
        Expr::Literal(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cloud::Quota,
        plan::{Plan, PlanInput, plan},
        testing::{cloud, resources, types},
    };
    use hot::diagnostic::listing;
    use hot::{bundle::Bundle, document::Document};

    fn planned(text: &str, deployed: &Deployed, quotas: &[(&str, i64, i64)]) -> Plan {
        let quota = |(name, limit, used): &(&str, i64, i64)| {
            let (limit, used) = (*limit, *used);
            ((*name).to_owned(), Quota { limit, used })
        };
        let cloud = CloudFacts {
            quotas: quotas.iter().map(quota).collect(),
            ..cloud()
        };
        plan(&PlanInput {
            document: &Document::parse(resources(text)),
            bundle: &Bundle::default(),
            parameters: &BTreeMap::new(),
            deployed,
            types: &types(),
            cloud: &cloud,
        })
    }

    fn deployed(text: &str) -> Deployed {
        let before = planned(text, &Deployed::default(), &[]);
        Deployed::of(before.workflow.unwrap().resources)
    }

    /// `name: used -> peak of limit`, one line per quota.
    fn shown(plan: &Plan) -> String {
        let lines = plan.quotas.iter().map(|one| {
            let (used, peak, limit) = (one.used, one.peak, one.limit);
            format!("{}: {used} -> {peak} of {limit}", one.name)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    const FOUR: &str = "  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 4
      resource_def: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, networks: [{allocate_network: none}]}}
";

    #[test]
    fn an_exceeded_quota_names_the_resources_that_need_it() {
        let quotas = [("instances", 2, 0), ("cores", -1, 5), ("ram", 4096, 0)];
        let plan = planned(FOUR, &Deployed::default(), &quotas);
        assert_eq!(
            listing(&plan.diagnostics),
            "7:7 Warning quota-exceeded resources.group/2: not enough quota for servers: 4 are needed and 2 are left (`instances`: limit 2, \
             in use 0). Needed by `group/0`, `group/1`, `group/2` and `group/3`. Remove some of these, free what the project no longer \
             uses, or ask the cloud's administrator for a higher quota"
        );
        assert_eq!(
            shown(&plan),
            "cores: 5 -> 9 of -1\ninstances: 0 -> 4 of 2\nram: 0 -> 2048 of 4096"
        );
        // A user can deploy anyway.
        assert!(plan.workflow.is_some());
    }

    #[test]
    fn passes_and_services_use_quotas_too() {
        let text = "  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  group: {type: OS::Neutron::SecurityGroup, properties: {rules: [{protocol: tcp}, {protocol: udp}]}}
  disk: {type: OS::Cinder::Volume, properties: {size: '3', volume_type: fast-id}}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      flavor: m1.small
      networks: [{network: {get_resource: net}}]
      block_device_mapping_v2: [{image: debian-12, volume_size: 10, boot_index: 0}]
";
        let all = [
            "network",
            "subnet",
            "router",
            "port",
            "floatingip",
            "security_group",
            "security_group_rule",
            "volumes",
            "gigabytes",
            "gigabytes_fast",
            "volumes_fast",
            "instances",
        ];
        let quotas = all.map(|name| (name, 100, 0));
        let plan = planned(text, &Deployed::default(), &quotas);
        assert_eq!(
            shown(&plan),
            "floatingip: 0 -> 1 of 100\ngigabytes: 0 -> 13 of 100\ngigabytes_fast: 0 -> 3 of 100\ninstances: 0 -> 1 of 100\n\
             network: 0 -> 1 of 100\nport: 0 -> 2 of 100\nrouter: 0 -> 1 of 100\nsecurity_group: 0 -> 1 of 100\n\
             security_group_rule: 0 -> 4 of 100\nsubnet: 0 -> 1 of 100\nvolumes: 0 -> 2 of 100\nvolumes_fast: 0 -> 1 of 100"
        );
    }

    #[test]
    fn a_change_uses_the_difference() {
        let disks = |sizes: &[i64]| {
            let line = |(index, size)| {
                format!(
                    "  disk{index}: {{type: OS::Cinder::Volume, properties: {{size: {size}}}}}\n"
                )
            };
            sizes.iter().enumerate().map(line).collect::<String>()
        };
        let quotas = [("volumes", 3, 2), ("gigabytes", 20, 10)];
        let before = deployed(&disks(&[5, 5]));
        // One volume grows, one is added: three volumes, and four plus three GB more.
        let plan = planned(&disks(&[9, 5, 3]), &before, &quotas);
        assert_eq!(
            shown(&plan),
            "gigabytes: 10 -> 17 of 20\nvolumes: 2 -> 3 of 3"
        );
        assert_eq!(listing(&plan.diagnostics), "");
        // Removals free quota at the end only. A project above its limit that needs no more gets no warning.
        let plan = planned(&disks(&[5]), &before, &[("volumes", 1, 2)]);
        assert_eq!(shown(&plan), "volumes: 2 -> 2 of 1");
        assert_eq!(listing(&plan.diagnostics), "");
    }

    #[test]
    fn a_successor_counts_in_the_quota_beside_its_predecessor() {
        let disk = |zone: &str| {
            format!(
                "  disk: {{type: OS::Cinder::Volume, properties: {{size: 5, availability_zone: {zone}}}}}\n"
            )
        };
        let quotas = [("volumes", 1, 1)];
        let plan = planned(&disk("b"), &deployed(&disk("a")), &quotas);
        assert_eq!(shown(&plan), "volumes: 1 -> 2 of 1");
        // A resource that was never created leaves no predecessor.
        let mut failed = deployed(&disk("a"));
        failed.actual.insert(
            "disk".to_owned(),
            serde_json::from_value(serde_json::json!({"exists": false, "in_order": false}))
                .unwrap(),
        );
        let plan = planned(&disk("b"), &failed, &[("volumes", 1, 0)]);
        assert_eq!(shown(&plan), "volumes: 0 -> 1 of 1");
    }

    #[test]
    fn an_unknown_quota_is_no_limit() {
        let plan = planned(FOUR, &Deployed::default(), &[("volumes", 0, 0)]);
        assert_eq!(
            (shown(&plan), listing(&plan.diagnostics)),
            (String::new(), String::new())
        );
    }
}

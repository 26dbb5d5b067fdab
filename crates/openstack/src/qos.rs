//! Neutron: the rules of QoS policies. They live inside their policy, below a path of their kind, without name and
//! description. Source: Networking API v2.0, "Quality of Service".

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::network::NetworkService;
use crate::session::Call;
use crate::{Error, Service, pages};

/// A kind of rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosRuleKind {
    /// Traffic at most.
    BandwidthLimit,
    /// A mark for the network behind.
    DscpMarking,
    /// Traffic at least.
    MinimumBandwidth,
    /// Packets at least.
    MinimumPacketRate,
}

impl QosRuleKind {
    /// All of them.
    pub const ALL: [QosRuleKind; 4] = [
        QosRuleKind::BandwidthLimit,
        QosRuleKind::DscpMarking,
        QosRuleKind::MinimumBandwidth,
        QosRuleKind::MinimumPacketRate,
    ];

    /// The word for one in bodies.
    fn one(self) -> &'static str {
        match self {
            QosRuleKind::BandwidthLimit => "bandwidth_limit_rule",
            QosRuleKind::DscpMarking => "dscp_marking_rule",
            QosRuleKind::MinimumBandwidth => "minimum_bandwidth_rule",
            QosRuleKind::MinimumPacketRate => "minimum_packet_rate_rule",
        }
    }

    /// The word for many, in bodies and paths.
    fn many(self) -> &'static str {
        match self {
            QosRuleKind::BandwidthLimit => "bandwidth_limit_rules",
            QosRuleKind::DscpMarking => "dscp_marking_rules",
            QosRuleKind::MinimumBandwidth => "minimum_bandwidth_rules",
            QosRuleKind::MinimumPacketRate => "minimum_packet_rate_rules",
        }
    }
}

/// A rule as Neutron says it; its id is under `id`.
pub type QosRule = Map<String, Value>;

impl NetworkService<'_> {
    fn qos_rules(
        &self,
        method: Method,
        policy: &str,
        kind: QosRuleKind,
        rest: &[&str],
    ) -> Call<'_> {
        let mut path = vec!["qos", "policies", policy, kind.many()];
        path.extend(rest);
        self.0.call(Service::Network, method, &path)
    }

    /// All rules of a kind in a policy.
    pub async fn qos_rule_list(
        &self,
        policy: &str,
        kind: QosRuleKind,
    ) -> Result<Vec<QosRule>, Error> {
        let path = ["qos", "policies", policy, kind.many()];
        pages::list(self.0, Service::Network, &path, kind.many(), &[], None).await
    }

    /// One rule.
    pub async fn qos_rule_get(
        &self,
        policy: &str,
        kind: QosRuleKind,
        id: &str,
    ) -> Result<QosRule, Error> {
        let call = self.qos_rules(Method::GET, policy, kind, &[id]);
        call.fetch(kind.one()).await
    }

    /// Put a rule into a policy.
    pub async fn qos_rule_create(
        &self,
        policy: &str,
        kind: QosRuleKind,
        fields: &Value,
    ) -> Result<QosRule, Error> {
        let call = self.qos_rules(Method::POST, policy, kind, &[]);
        call.json(&json!({kind.one(): fields}))
            .fetch(kind.one())
            .await
    }

    /// Change a rule.
    pub async fn qos_rule_update(
        &self,
        policy: &str,
        kind: QosRuleKind,
        id: &str,
        fields: &Value,
    ) -> Result<QosRule, Error> {
        let call = self.qos_rules(Method::PUT, policy, kind, &[id]);
        call.json(&json!({kind.one(): fields}))
            .fetch(kind.one())
            .await
    }

    /// Take a rule out of a policy. Not there is an error of status 404.
    pub async fn qos_rule_delete(
        &self,
        policy: &str,
        kind: QosRuleKind,
        id: &str,
    ) -> Result<(), Error> {
        let call = self.qos_rules(Method::DELETE, policy, kind, &[id]);
        call.send().await.map(drop)
    }
}

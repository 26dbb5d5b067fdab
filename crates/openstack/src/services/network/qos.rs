//! Neutron: the rules of QoS policies. They live inside their policy, below a path of their kind, without name and
//! description. Source: Networking API v2.0, "Quality of Service".

use super::NetworkService;
use super::inside::Inside;

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

impl<'a> NetworkService<'a> {
    /// The rules of a kind in a policy.
    pub fn qos_rules(&self, policy: &str, kind: QosRuleKind) -> Inside<'a> {
        let owner = ["qos", "policies", policy];
        Inside::of(self.0, &owner, kind.one(), kind.many())
    }
}

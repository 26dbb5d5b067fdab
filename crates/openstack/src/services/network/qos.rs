//! Neutron's rules of QoS policies: nested resources of their policy, with a path per rule type and without name and
//! description. Source: Networking API v2.0, "Quality of Service".

use super::NetworkService;
use super::nested::NestedCollection;

/// Type of a QoS rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosRuleKind {
    /// Maximum bandwidth.
    BandwidthLimit,
    /// DSCP mark of outgoing packets.
    DscpMarking,
    /// Minimum bandwidth.
    MinimumBandwidth,
    /// Minimum packet rate.
    MinimumPacketRate,
}

impl QosRuleKind {
    /// All rule types.
    pub const ALL: [QosRuleKind; 4] = [
        QosRuleKind::BandwidthLimit,
        QosRuleKind::DscpMarking,
        QosRuleKind::MinimumBandwidth,
        QosRuleKind::MinimumPacketRate,
    ];

    /// Key of one rule in bodies.
    fn one(self) -> &'static str {
        match self {
            QosRuleKind::BandwidthLimit => "bandwidth_limit_rule",
            QosRuleKind::DscpMarking => "dscp_marking_rule",
            QosRuleKind::MinimumBandwidth => "minimum_bandwidth_rule",
            QosRuleKind::MinimumPacketRate => "minimum_packet_rate_rule",
        }
    }

    /// Key of several rules, in bodies and paths.
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
    /// Calls to the rules of a type in a policy.
    pub fn qos_rules(&self, policy: &str, kind: QosRuleKind) -> NestedCollection<'a> {
        let owner = ["qos", "policies", policy];
        NestedCollection::of(self.0, &owner, kind.one(), kind.many())
    }
}

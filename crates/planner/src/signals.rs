//! Signals to wait conditions and policies, on a server that the cloud's servers cannot reach.

use std::collections::{BTreeMap, BTreeSet};

use hot::{diagnostic::Diagnostic, expr::Expr, template::members::SCALING_POLICY, text::few};
use types::{UPDATE_WAIT_CONDITION_HANDLE, is_wait_condition_handle};

use crate::{cloud::CloudFacts, passes::Model, scaling, workflow::ResourceSpec};

/// Code of these problems.
const CODE: &str = "signal-url-missing";

/// True for the types that [`unreachable`] looks at.
pub(crate) fn concerns(resource_type: &str) -> bool {
    is_wait_condition_handle(resource_type) || resource_type == SCALING_POLICY
}

/// An error for handles that nobody could signal, and a warning for policies whose address is used, if the server has
/// no URL for signals. `deployed` handles keep the address that they have.
pub(crate) fn unreachable<'a>(
    model: &'a Model,
    outputs: impl Iterator<Item = &'a Expr>,
    deployed: &BTreeMap<String, ResourceSpec>,
    cloud: &CloudFacts,
) -> Vec<Diagnostic> {
    if cloud.takes_signals != Some(false) {
        return Vec::new();
    }
    let has_address = |name: &str, spec: &ResourceSpec| {
        let is_replaced = spec.resource_type == UPDATE_WAIT_CONDITION_HANDLE;
        !is_replaced && deployed.contains_key(name)
    };
    let handles: Vec<&str> = model
        .iter()
        .filter(|(name, spec)| is_signalled(spec) && !has_address(name, spec))
        .map(|(name, _)| name)
        .collect();
    let policies: BTreeSet<&str> = model
        .of_type(SCALING_POLICY)
        .map(|(name, _)| name)
        .collect();
    let values = model.iter().flat_map(|(_, spec)| spec.properties.values());
    let used = scaling::passed_on(&policies, values.chain(outputs));
    let used: Vec<&str> = used.into_iter().collect();
    let mut found = Vec::new();
    if let Some(first) = handles.first() {
        let message = format!(
            "nothing could signal {}, because this server has no URL that the cloud's servers reach; ask its operator to set \
             STACKLOOM_SIGNAL_URL, or set `signal_transport: NO_SIGNAL` to wait for no signal",
            few(&handles)
        );
        found.push(Diagnostic::error(
            CODE,
            format!("resources.{first}"),
            message,
        ));
    }
    if let Some(first) = used.first() {
        let message = format!(
            "no alarm could call {}, because this server has no URL that the cloud's servers reach; ask its operator to set \
             STACKLOOM_SIGNAL_URL, or scale by hand on the deployment's page",
            few(&used)
        );
        found.push(Diagnostic::warning(
            CODE,
            format!("resources.{first}"),
            message,
        ));
    }
    found
}

/// True for handles that are to be signalled.
fn is_signalled(spec: &ResourceSpec) -> bool {
    let transport = spec.properties.get("signal_transport");
    is_wait_condition_handle(&spec.resource_type)
        && transport.and_then(Expr::as_str) != Some("NO_SIGNAL")
}

#[cfg(test)]
mod tests {
    use hot::{bundle::Bundle, diagnostic::listing, document::Document};

    use super::*;
    use crate::{
        compose,
        plan::{Deployed, Plan, PlanInput, plan},
        testing::{cloud, resources, types},
    };

    const WAIT: &str = "  handle: {type: OS::Heat::WaitConditionHandle}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 600}}
";

    const POLICY: &str = "  farm:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 2, resource: {type: OS::Heat::RandomString}}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: farm}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
";

    fn planned(text: &str, takes_signals: Option<bool>, deployed: &Deployed) -> (String, Plan) {
        let cloud = CloudFacts {
            takes_signals,
            ..cloud()
        };
        let document = Document::parse(resources(text));
        let (bundle, parameters, types) = (Bundle::default(), Default::default(), types());
        let plan = plan(&PlanInput {
            document: &document,
            bundle: &bundle,
            parameters: &parameters,
            deployed,
            types: &types,
            cloud: &cloud,
        });
        let checked = compose::validate(&document, &bundle, &types, &cloud, &parameters);
        (listing(&checked), plan)
    }

    #[test]
    fn a_wait_that_nothing_could_end_is_an_error_before_anything_is_created() {
        let (checked, plan) = planned(WAIT, Some(false), &Deployed::default());
        assert_eq!(
            checked,
            "3:3 Error signal-url-missing resources.handle: nothing could signal `handle`, because this server has no URL that the \
             cloud's servers reach; ask its operator to set STACKLOOM_SIGNAL_URL, or set `signal_transport: NO_SIGNAL` to wait for no \
             signal"
        );
        assert_eq!(listing(&plan.diagnostics), checked);
        assert!(plan.workflow.is_none());
        for takes_signals in [Some(true), None] {
            let (checked, plan) = planned(WAIT, takes_signals, &Deployed::default());
            assert_eq!(checked, "");
            assert!(plan.workflow.is_some());
        }
    }

    #[test]
    fn a_handle_without_signals_and_one_with_an_address_are_no_problem() {
        let silent = WAIT.replace(
            "WaitConditionHandle}",
            "WaitConditionHandle, properties: {signal_transport: NO_SIGNAL}}",
        );
        let (checked, plan) = planned(&silent, Some(false), &Deployed::default());
        assert_eq!(checked, "");
        assert!(plan.workflow.is_some());
        let (_, before) = planned(WAIT, Some(true), &Deployed::default());
        let deployed = Deployed {
            resources: before.workflow.unwrap().resources,
            ..Deployed::default()
        };
        let (_, plan) = planned(WAIT, Some(false), &deployed);
        assert_eq!(listing(&plan.diagnostics), "");
    }

    #[test]
    fn a_policy_whose_address_is_used_is_a_warning() {
        let (checked, _) = planned(POLICY, Some(false), &Deployed::default());
        assert_eq!(checked, "", "nobody uses its address");
        let used = format!("{POLICY}outputs:\n  url: {{value: {{get_attr: [up, signal_url]}}}}\n");
        let (checked, plan) = planned(&used, Some(false), &Deployed::default());
        assert_eq!(
            checked,
            "6:3 Warning signal-url-missing resources.up: no alarm could call `up`, because this server has no URL that the cloud's \
             servers reach; ask its operator to set STACKLOOM_SIGNAL_URL, or scale by hand on the deployment's page"
        );
        assert_eq!(listing(&plan.diagnostics), checked);
        assert!(plan.workflow.is_some());
    }
}

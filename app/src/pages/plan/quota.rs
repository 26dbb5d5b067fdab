//! Quotas used by the plan, as computed by the server.

use api::{Plan, QuotaUse};
use leptos::prelude::*;

use crate::{load::Loaded, ui::Icon};

/// Quotas that are always displayed if the plan uses them.
const SHOWN: [&str; 3] = ["instances", "cores", "ram"];

/// True if the plan fits all known quotas, or if there is no plan yet.
pub fn fits(plan: &Loaded<Plan>) -> bool {
    match plan {
        Loaded::Ready(plan) => plan.quotas.iter().all(QuotaUse::fits),
        _ => true,
    }
}

/// Servers, cores, memory and every exceeded quota. Nothing if no quota is known.
#[component]
pub fn QuotaLine(
    /// The plan.
    plan: RwSignal<Loaded<Plan>>,
) -> impl IntoView {
    move || {
        let uses = plan.with(|plan| match plan {
            Loaded::Ready(plan) => shown(&plan.quotas),
            _ => Vec::new(),
        });
        if uses.is_empty() {
            return ().into_any();
        }
        let fits = uses.iter().all(QuotaUse::fits);
        let limited = uses.iter().any(|one| one.limit >= 0);
        let (icon, says) = match (fits, limited) {
            (false, _) => ("triangle-alert", "Does not fit the quota:"),
            (true, true) => ("circle-check", "Fits the quota:"),
            (true, false) => ("circle-check", "Unlimited quota:"),
        };
        view! {
            <p class="plan-quota" data-fits=fits.to_string()>
                <Icon name=icon />
                {says}
                {uses.into_iter().map(|one| view! { <span data-fits=one.fits().to_string()>{text(&one)}</span> }).collect_view()}
            </p>
        }
        .into_any()
    }
}

/// Displayed quotas: those of [`SHOWN`] in that order, then other exceeded ones.
fn shown(uses: &[QuotaUse]) -> Vec<QuotaUse> {
    let named = |name: &&str| uses.iter().find(|one| one.name == **name);
    let usual = SHOWN.iter().filter_map(named);
    let others = uses
        .iter()
        .filter(|one| !one.fits() && !SHOWN.contains(&one.name.as_str()));
    usual.chain(others).cloned().collect()
}

/// Text for a quota: `3 of 10 servers`.
fn text(one: &QuotaUse) -> String {
    match one.limit {
        ..0 => format!("{} {}", one.peak, one.counts),
        limit => format!("{} of {limit} {}", one.peak, one.counts),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn common_quotas_come_first_and_others_are_shown_only_if_exceeded() {
        let uses: Vec<QuotaUse> = serde_json::from_value(json!([
            {"name": "cores", "counts": "vCPUs", "limit": -1, "used": 1, "peak": 3},
            {"name": "instances", "counts": "servers", "limit": 10, "used": 1, "peak": 3},
            {"name": "network", "counts": "networks", "limit": 10, "used": 1, "peak": 2},
            {"name": "port", "counts": "ports", "limit": 2, "used": 1, "peak": 3},
        ]))
        .unwrap();
        let texts: Vec<String> = shown(&uses).iter().map(text).collect();
        assert_eq!(texts, ["3 of 10 servers", "3 vCPUs", "3 of 2 ports"]);
    }
}

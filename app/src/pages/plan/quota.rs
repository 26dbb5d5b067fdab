//! Does it fit? What the plan's new servers take, beside what the project may have.

use std::collections::BTreeMap;

use api::{Action, CloudFacts, Plan, Quota};
use leptos::prelude::*;
use topology::expr::Expr;

use crate::{client, load::Load, load::Loaded, session::use_session, ui::Icon};

/// What one quota says about a plan.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: &'static str,
    after: i64,
    limit: i64,
}

impl Line {
    fn fits(&self) -> bool {
        self.limit < 0 || self.after <= self.limit
    }
}

/// Servers, cores and memory; nothing where the cloud did not tell.
#[component]
pub fn QuotaLine(
    /// The plan.
    plan: RwSignal<Loaded<Plan>>,
) -> impl IntoView {
    let session = use_session();
    let facts = Load::new(client::cloud_facts);
    move || {
        let quotas = session
            .me
            .with(|me| me.as_ref().map(|me| me.quotas.clone()))
            .unwrap_or_default();
        let lines = plan.with(|plan| match plan {
            Loaded::Ready(plan) => facts.with(|facts| lines(plan, &quotas, facts)),
            _ => Vec::new(),
        });
        if lines.is_empty() {
            return ().into_any();
        }
        let fits = lines.iter().all(Line::fits);
        let limited = lines.iter().any(|line| line.limit >= 0);
        let (icon, says) = match (fits, limited) {
            (false, _) => ("triangle-alert", "Does not fit the quota:"),
            (true, true) => ("circle-check", "Fits the quota:"),
            (true, false) => ("circle-check", "No quota stands in the way:"),
        };
        view! {
            <p class="plan-quota" data-fits=fits.to_string()>
                <Icon name=icon />
                {says}
                {lines.into_iter().map(|line| {
                    let limit = if line.limit < 0 { String::new() } else { format!(" of {}", line.limit) };
                    view! { <span data-fits=line.fits().to_string()>{format!("{}{limit} {}", line.after, line.name)}</span> }
                }).collect_view()}
            </p>
        }
        .into_any()
    }
}

fn lines(plan: &Plan, quotas: &BTreeMap<String, Quota>, facts: Option<&CloudFacts>) -> Vec<Line> {
    let (mut servers, mut cores, mut ram_mib, mut all_known) = (0, 0, 0, true);
    for change in plan
        .changes
        .iter()
        .filter(|change| change.resource_type == "OS::Nova::Server")
    {
        let sign = match change.action {
            Action::Create => 1,
            Action::Delete => -1,
            _ => continue,
        };
        servers += sign;
        let flavor = plan.workflow.as_ref().and_then(|workflow| {
            match workflow
                .resources
                .get(&change.resource)?
                .properties
                .get("flavor")?
            {
                Expr::Literal(name) => name.as_str(),
                _ => None,
            }
        });
        let known = flavor.and_then(|flavor| {
            facts?
                .flavors
                .as_ref()?
                .iter()
                .find(|known| known.name == flavor || known.id == flavor)
        });
        match known {
            Some(flavor) => {
                cores += sign * i64::from(flavor.vcpus);
                ram_mib += sign * i64::from(flavor.ram_mib);
            }
            None => all_known = false,
        }
    }
    let line = |name, key: &str, more: i64| {
        let quota = quotas.get(key)?;
        Some(Line {
            name,
            after: quota.used + more,
            limit: quota.limit,
        })
    };
    let mut lines: Vec<Line> = line("servers", "instances", servers).into_iter().collect();
    if all_known {
        lines.extend(line("vCPUs", "cores", cores));
        lines.extend(line("MiB of memory", "ram", ram_mib));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn a_negative_limit_is_none() {
        assert!(
            Line {
                name: "servers",
                after: 99,
                limit: -1
            }
            .fits()
        );
        assert!(
            Line {
                name: "servers",
                after: 10,
                limit: 10
            }
            .fits()
        );
        assert!(
            !Line {
                name: "servers",
                after: 11,
                limit: 10
            }
            .fits()
        );
    }
}

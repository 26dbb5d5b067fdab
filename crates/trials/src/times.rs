//! Time from a template's text to a workflow: parse, validate, passes, plan, compile.
//!
//! Also the time from a keystroke to new diagnostics, which is parse and validate. Each figure is the mean of several
//! rounds, in processor time: a single thread works without waiting, so that is the time on an idle machine, and a busy
//! one gives the same figure. Types that cannot be deployed are treated as deployable, because only the planning is
//! measured.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hot::document::Document;
use planner::cloud::{CloudFacts, Named};
use planner::plan::{Deployed, PlanInput, plan};
use planner::validate::validate;
use types::catalog::CatalogItem;
use types::{Executable, Registry, ResourceType};

use crate::shapes;

/// Measures each template and returns lines `<name> <milliseconds>`. Unknown words are skipped.
///
/// A word is `network:2005`, `servers:1000` or `drawn:75` (text to workflow), or `keystroke:75` (text to diagnostics).
pub fn run(words: &[String]) -> Vec<String> {
    let described = Registry::openstack();
    let makeable = described.iter().cloned().map(|described| ResourceType {
        executable: Executable::Driver,
        ..described
    });
    let types = Registry::of(makeable).with_catalog(catalog());
    let cloud = cloud();
    let mut lines = Vec::new();
    for word in words {
        let Some((shape, size)) = word.split_once(':') else {
            continue;
        };
        let Ok(size) = size.parse::<usize>() else {
            continue;
        };
        let time = match shape {
            "network" => compile(
                &shapes::network_stack(size.saturating_sub(5) / 4),
                &types,
                &cloud,
            ),
            "servers" => compile(&shapes::plain_servers(size), &types, &cloud),
            "drawn" => compile(&shapes::drawn(size), &types, &cloud),
            "keystroke" => keystroke(&shapes::drawn(size), &types, &cloud),
            _ => continue,
        };
        match time {
            Ok(time_ms) => lines.push(format!("{word} {time_ms:.2}")),
            Err(message) => eprintln!("{word}: {message}"),
        }
    }
    lines
}

/// Milliseconds from text to workflow.
fn compile(text: &str, types: &Registry, cloud: &CloudFacts) -> Result<f64, String> {
    let parameters = BTreeMap::new();
    let deployed = Deployed::default();
    mean(|| {
        let document = Document::parse(text);
        let plan = plan(&PlanInput {
            document: &document,
            bundle: &Default::default(),
            parameters: &parameters,
            deployed: &deployed,
            types,
            cloud,
        });
        match plan.workflow {
            Some(_) => Ok(()),
            None => Err(plan
                .diagnostics
                .iter()
                .find(|one| one.is_error())
                .map_or("no workflow".to_owned(), |one| one.message.clone())),
        }
    })
}

/// Milliseconds from text to diagnostics.
fn keystroke(text: &str, types: &Registry, cloud: &CloudFacts) -> Result<f64, String> {
    mean(|| {
        let document = Document::parse(text);
        match validate(&document, types, cloud)
            .iter()
            .find(|one| one.is_error())
        {
            Some(error) => Err(error.message.clone()),
            None => Ok(()),
        }
    })
}

/// The mean of enough rounds, after one that fills the caches.
fn mean(mut what: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
    const LEAST: Duration = Duration::from_millis(400);
    what()?;
    let (begin, worked) = (Instant::now(), processor_time());
    let mut rounds = 0;
    while rounds < 5 || begin.elapsed() < LEAST {
        what()?;
        rounds += 1;
    }
    let time = match (worked, processor_time()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => begin.elapsed(),
    };
    Ok(time.as_secs_f64() * 1000.0 / f64::from(rounds))
}

/// Processor time of this thread, if the system reports it.
fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(stat.split(' ').next()?.parse().ok()?))
}

fn catalog() -> Vec<CatalogItem> {
    let items = [
        (
            include_str!("../../../catalog/nginx/item.yml"),
            include_str!("../../../catalog/nginx/meta/argument_specs.yml"),
        ),
        (
            include_str!("../../../catalog/haproxy/item.yml"),
            include_str!("../../../catalog/haproxy/meta/argument_specs.yml"),
        ),
    ];
    items
        .into_iter()
        .map(|(manifest, specs)| {
            CatalogItem::parse(manifest, specs).expect("our own items are right")
        })
        .collect()
}

fn cloud() -> CloudFacts {
    let named = |name: &str| {
        Some(vec![Named {
            id: name.to_owned(),
            name: name.to_owned(),
        }])
    };
    CloudFacts {
        external_networks: named("public"),
        images: named("debian-12"),
        ..CloudFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_templates_compile() {
        let words = ["servers:10", "drawn:20", "keystroke:20", "nothing:1", "x"];
        let lines = run(&words.map(str::to_owned));
        let names: Vec<&str> = lines
            .iter()
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(names, ["servers:10", "drawn:20", "keystroke:20"]);
    }

    /// Four times the resources take about four times the time. Twice that is allowed, which excludes quadratic growth.
    #[test]
    fn time_grows_nearly_as_the_template_does() {
        for (small, large) in [
            ("network:505", "network:2005"),
            ("servers:250", "servers:1000"),
        ] {
            let lines = run(&[small, large].map(str::to_owned));
            let times: Vec<f64> = lines
                .iter()
                .filter_map(|line| line.split(' ').nth(1)?.parse().ok())
                .collect();
            assert!(times[1] < 8.0 * times[0], "{lines:?}");
        }
    }

    #[test]
    fn a_generated_stack_has_the_given_size() {
        for (k, size) in [(25, 105), (500, 2005)] {
            let document = Document::parse(shapes::network_stack(k));
            assert_eq!(document.template().resources.len(), size);
        }
    }
}

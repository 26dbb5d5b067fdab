//! The measurements as tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use super::bare::{Floor, Part};
use super::meter::Taken;
use super::{Both, design};

/// Minimum share of a kind of calls. Rarer kinds are summed up.
const SHARE_MIN: f64 = 0.01;

/// The head of the table.
pub const HEAD: &str = "\
| servers (resources) | ours: create, delete | Heat: create, delete | ratio | calls at the services: ours; Heat | client's processor time: ours; Heat | the services': ours; Heat | the machine's: ours; Heat |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";

/// The line of one size.
pub fn line(size: usize, ours: &Both, heats: &Both) -> String {
    let pair = |both: &Both, of: &dyn Fn(&Taken) -> String| {
        let (create, delete) = (of(&both.create), of(&both.delete));
        format!("{create}, {delete}")
    };
    let each = |of: &dyn Fn(&Taken) -> String| format!("{}; {}", pair(ours, of), pair(heats, of));
    let wall = |taken: &Taken| {
        let mark = if taken.well { "" } else { " (failed)" };
        format!("{}{mark}", seconds(taken.wall))
    };
    let ratio = |ours: &Taken, heats: &Taken| {
        if ours.wall.is_zero() || heats.wall.is_zero() {
            return "-".to_owned();
        }
        format!("{:.1}", heats.wall.as_secs_f64() / ours.wall.as_secs_f64())
    };
    format!(
        "| {size} ({}) | {} | {} | {}, {} | {} | {} | {} | {} |",
        design::resources(size),
        pair(ours, &wall),
        pair(heats, &wall),
        ratio(&ours.create, &heats.create),
        ratio(&ours.delete, &heats.delete),
        each(&|taken| taken
            .all_calls()
            .map_or_else(|| "-".into(), |calls| calls.to_string())),
        each(&|taken| seconds(taken.client)),
        each(&|taken| seconds(taken.all_services())),
        each(&|taken| seconds(taken.machine)),
    )
}

/// The details of a size: each service's processor time, and calls by kind.
pub fn details(size: usize, ours: &Both, heats: &Both) -> String {
    let columns = [&ours.create, &heats.create, &ours.delete, &heats.delete];
    let mut text = format!(
        "| {size} servers | create: ours | Heat | delete: ours | Heat |\n| :--- | ---: | ---: | ---: | ---: |\n"
    );
    let mut row = |name: &str, cells: [String; 4]| {
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    let services: BTreeSet<&str> = columns
        .iter()
        .flat_map(|taken| taken.services.keys().copied())
        .collect();
    for service in services {
        let of = |taken: &Taken| taken.services.get(service).copied().unwrap_or_default();
        row(service, columns.map(|taken| seconds(of(taken))));
    }
    let nothing = BTreeMap::new();
    let calls = columns.map(|taken| taken.calls.as_ref().unwrap_or(&nothing));
    let is_many = |kind: &&String| {
        calls.iter().any(|calls| {
            let all: usize = calls.values().sum();
            let count = calls.get(*kind).copied().unwrap_or_default();
            count as f64 > all as f64 * SHARE_MIN
        })
    };
    let kinds: BTreeSet<&String> = calls.iter().flat_map(|calls| calls.keys()).collect();
    let (many, few): (Vec<&String>, Vec<&String>) = kinds.into_iter().partition(is_many);
    let counted = |kinds: &[&String]| {
        calls.map(|calls| {
            let each = kinds.iter().filter_map(|kind| calls.get(*kind));
            each.sum::<usize>().to_string()
        })
    };
    for kind in many {
        row(kind, counted(&[kind]));
    }
    row("all others", counted(&few));
    text
}

/// The services' time for the minimum of calls.
pub fn floor(size: usize, floor: &Floor) -> String {
    let mut text = format!(
        "| {size} servers, by bare calls | the services' processor time, all | each | calls that arrive, all |\n| :--- | ---: | ---: | ---: |\n"
    );
    for (what, parts) in [("create", &floor.create), ("delete", &floor.delete)] {
        let mut row = |name: &str, spent: Duration, things: usize, calls: usize| {
            let each = spent / u32::try_from(things.max(1)).unwrap_or(u32::MAX);
            let each = format!("{} ms", each.as_millis());
            let _ = writeln!(
                text,
                "| {what}: {name} | {} | {each} | {calls} |",
                seconds(spent)
            );
        };
        let calls = |part: &Part| part.taken.all_calls().unwrap_or_default();
        for part in parts {
            let spent = part.taken.all_services();
            row(part.what, spent, part.things, calls(part));
        }
        let spent = parts.iter().map(|part| part.taken.all_services()).sum();
        row("all", spent, size, parts.iter().map(calls).sum());
    }
    text
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

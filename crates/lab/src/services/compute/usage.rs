//! Nova v2.1: `os-simple-tenant-usage`: hours of servers, processors, memory and disk within a period.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, reply};
use crate::kit::microversion::Microversion;
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::services::compute::policy;
use crate::services::compute::server::{Server, Status};
use crate::services::{App, Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/os-simple-tenant-usage", list)
        .get("/os-simple-tenant-usage/{project}", show)
}

/// A period. It does not reach into the future.
struct Period {
    start: Timestamp,
    stop: Timestamp,
}

impl Period {
    fn query_value(asked: &[(String, String)]) -> Result<Self, Refusal> {
        // Without a time it is now, and the end is read after the start.
        let time = |name: &str| match query::value(asked, name) {
            None | Some("") => Ok(Timestamp::now()),
            Some(text) => read(text),
        };
        let (start, stop) = (time("start")?, time("end")?);
        if start >= stop {
            return Err(Refusal::bad_request(
                "Invalid start time. The start time cannot occur after the end time.",
            ));
        }
        Ok(Self {
            start,
            stop: stop.min(Timestamp::now()),
        })
    }

    /// Hours within the period between a launch and an end.
    fn hours(&self, launched: Timestamp, ended: Option<Timestamp>) -> f64 {
        let stop = ended.map_or(self.stop, |ended| ended.min(self.stop));
        let seconds = stop.duration_since(self.start.max(launched)).as_secs_f64();
        seconds.max(0.0) / 3600.0
    }
}

fn read(text: &str) -> Result<Timestamp, Refusal> {
    let forms = [
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M:%S.%f",
        "%Y-%m-%d %H:%M:%S.%f",
    ];
    let mut times = forms
        .iter()
        .filter_map(|form| DateTime::strptime(form, text).ok());
    let time = times.find_map(|time| time.to_zoned(TimeZone::UTC).ok());
    time.map(|time| time.timestamp()).ok_or_else(|| {
        Refusal::bad_request("Invalid datetime string: Datetime is in invalid format")
    })
}

/// A time without a zone, as Nova writes it here.
fn shown(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6f").to_string()
}

/// A server within a period.
struct Usage {
    project: String,
    hours: f64,
    memory_mb: f64,
    local_gb: f64,
    vcpus: f64,
    document: Value,
}

impl Usage {
    /// None for a server that did not run within the period.
    fn of(model: &Model, server: &Server, period: &Period) -> Option<Self> {
        let launched: Timestamp = server.launched_at.as_ref()?.parse().ok()?;
        let ended = match server.status {
            Status::Deleted => Some(server.updated.parse::<Timestamp>().ok()?),
            _ => None,
        };
        if launched >= period.stop || ended.is_some_and(|ended| ended <= period.start) {
            return None;
        }
        let flavor = model.flavors.get(&server.flavor_id);
        let size = |of: fn(&crate::services::compute::flavor::Flavor) -> u32| flavor.map_or(0, of);
        let (memory, vcpus) = (size(|flavor| flavor.ram), size(|flavor| flavor.vcpus));
        let disk = size(|flavor| flavor.disk + flavor.ephemeral_gib);
        let uptime = ended
            .unwrap_or_else(Timestamp::now)
            .duration_since(launched);
        let hours = period.hours(launched, ended);
        Some(Self {
            project: server.project_id.clone(),
            hours,
            memory_mb: memory.into(),
            local_gb: disk.into(),
            vcpus: vcpus.into(),
            document: json!({
                "hours": hours,
                "flavor": flavor.map_or("", |flavor| flavor.name.as_str()),
                "instance_id": server.id,
                "name": server.name,
                "tenant_id": server.project_id,
                "memory_mb": memory,
                "local_gb": disk,
                "vcpus": vcpus,
                "started_at": shown(launched),
                "ended_at": ended.map(shown),
                "state": match ended {
                    Some(_) => "terminated",
                    None => server.status.vm_state(),
                },
                "uptime": uptime.as_secs(),
            }),
        })
    }
}

/// The sums of a project, and its servers if they are asked for.
fn summary(project: &str, usages: &[Usage], period: &Period, detail: Detail) -> Value {
    let mine = || usages.iter().filter(|one| one.project == project);
    let sum = |of: fn(&Usage) -> f64| mine().map(|one| of(one) * one.hours).sum::<f64>();
    let mut summary = json!({
        "tenant_id": project,
        "total_local_gb_usage": sum(|one| one.local_gb),
        "total_vcpus_usage": sum(|one| one.vcpus),
        "total_memory_mb_usage": sum(|one| one.memory_mb),
        "total_hours": sum(|_| 1.0),
        "start": shown(period.start),
        "stop": shown(period.stop),
    });
    if detail == Detail::Servers {
        summary["server_usages"] = mine().map(|one| one.document.clone()).collect();
    }
    summary
}

/// Whether a summary lists the servers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Sums,
    Servers,
}

/// Usages of a page of servers, and the last server's id if more follow. Pages came with 2.40.
fn usages(
    app: &App,
    project: Option<&str>,
    period: &Period,
    asked: &[(String, String)],
    version: Microversion,
) -> Result<(Vec<Usage>, Option<String>), Refusal> {
    let paged = if version >= Microversion(2, 40) {
        asked
    } else {
        &[]
    };
    app.read(|model| {
        let all = model.servers.iter().chain(model.deleted_servers.iter());
        let rows = all.filter(|row| {
            let mine = project.is_none_or(|project| row.project_id == project);
            mine && Usage::of(model, row, period).is_some()
        });
        let page = query::page_rows(rows.collect(), paged, 1_000, |row| &row.id);
        let (rows, next) = page.ok_or_else(|| {
            let marker = query::value(asked, "marker").unwrap_or_default();
            Refusal::bad_request(format!("Marker {marker} could not be found."))
        })?;
        let usages = rows
            .into_iter()
            .filter_map(|row| Usage::of(model, row, period));
        Ok((usages.collect(), next))
    })
}

/// The link to the next page.
fn links(base: &str, path: &str, asked: &[(String, String)], next: &str) -> Value {
    let words = query::with_marker(asked, next);
    let href = format!("{base}/compute/v2.1/os-simple-tenant-usage{path}?{words}");
    json!([{"rel": "next", "href": href}])
}

async fn show(call: Call) -> Answer {
    let project = call.part("project");
    if !call.member()?.can_access(project) {
        return Err(policy("os-simple-tenant-usage:show"));
    }
    let period = Period::query_value(&call.query)?;
    let (usages, next) = usages(&call.app, Some(project), &period, &call.query, call.version)?;
    let usage = if usages.is_empty() {
        json!({})
    } else {
        summary(project, &usages, &period, Detail::Servers)
    };
    let mut body = json!({ "tenant_usage": usage });
    if let Some(next) = next {
        let path = format!("/{project}");
        body["tenant_usage_links"] = links(&call.base, &path, &call.query, &next);
    }
    reply(200, body)
}

/// All projects, for administrators.
async fn list(call: Call) -> Answer {
    if !call.member()?.admin {
        return Err(policy("os-simple-tenant-usage:list"));
    }
    let period = Period::query_value(&call.query)?;
    let detail = match call.query_value("detailed") {
        Some("1") => Detail::Servers,
        _ => Detail::Sums,
    };
    let (usages, next) = usages(&call.app, None, &period, &call.query, call.version)?;
    let mut projects: Vec<&str> = Vec::new();
    for usage in &usages {
        if !projects.contains(&usage.project.as_str()) {
            projects.push(&usage.project);
        }
    }
    let summaries = projects.iter();
    let summaries = summaries.map(|project| summary(project, &usages, &period, detail));
    let mut body = json!({ "tenant_usages": summaries.collect::<Vec<Value>>() });
    if let Some(next) = next {
        body["tenant_usages_links"] = links(&call.base, "", &call.query, &next);
    }
    reply(200, body)
}

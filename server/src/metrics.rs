//! Metrics in the format of Prometheus.
//!
//! Some are of this server, others of the database, which servers share: the same on all of them.
//!
//! Written by hand, because a few counters do not need a registry, a recorder and a macro. Labels are route patterns
//! and never paths, so their number is bounded and they contain no ids or names.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::Response,
};
use engine::Workload;
use store::Operator;
use time::OffsetDateTime;

/// Counters of requests since the start, and the way to the database's counts.
#[derive(Clone)]
pub struct Metrics {
    requests: Arc<Mutex<BTreeMap<Labels, Requests>>>,
    /// Access to counts across tenants. Private, so that routes get only the rendered text.
    operator: Operator,
}

/// Method, route, status.
type Labels = (String, String, u16);

#[derive(Clone, Copy, Default)]
struct Requests {
    count: u64,
    seconds: f64,
}

/// Middleware that counts every request after its response.
pub async fn count(State(metrics): State<Metrics>, request: Request, next: Next) -> Response {
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "(none)".to_owned(), |path| path.as_str().to_owned());
    let method = request.method().clone();
    let start = Instant::now();
    let response = next.run(request).await;
    metrics.record(
        &method,
        route,
        response.status(),
        start.elapsed().as_secs_f64(),
    );
    response
}

impl Metrics {
    /// Metrics without requests.
    pub fn new(operator: Operator) -> Metrics {
        Metrics {
            requests: Arc::default(),
            operator,
        }
    }

    /// Renders the text format of Prometheus.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn render(&self, workload: Workload) -> store::Result<String> {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let sessions = self.operator.session_count(now).await?;
        let runs = self.operator.run_count_by_state().await?;
        let log_bytes = self.operator.log_bytes().await?;
        let runs = runs
            .into_iter()
            .map(|(state, count)| (Some(("state", store::to_text(&state))), count));
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let bytes = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let sandboxes = [
            ("running", workload.sandboxes),
            ("waiting", workload.waiting_sandboxes),
        ];
        let sandboxes =
            sandboxes.map(|(state, count)| (Some(("state", state.to_owned())), number(count)));
        Ok(self.render_with(&[
            Metric::gauge(
                "stackloom_sessions",
                "Users who are logged in.",
                vec![(None, sessions)],
            ),
            Metric::gauge(
                "stackloom_runs",
                "Runs by state, since the database was created.",
                runs.collect(),
            ),
            Metric::gauge(
                "stackloom_log_bytes",
                "Text of all stored log lines.",
                vec![(None, log_bytes)],
            ),
            Metric::gauge(
                "stackloom_held_runs",
                "Runs that this server works on.",
                vec![(None, number(workload.runs))],
            ),
            Metric::gauge(
                "stackloom_sandboxes",
                "Sandboxes of this server that run, and that wait for a slot.",
                sandboxes.into(),
            ),
            Metric::gauge(
                "stackloom_disk_free_bytes",
                "Free space of the disk with the data folder.",
                vec![(None, bytes(workload.disk_free_bytes))],
            ),
            Metric::gauge(
                "stackloom_disk_reserve_bytes",
                "Free space below which new work is refused.",
                vec![(None, bytes(workload.disk_reserve_bytes))],
            ),
            Metric::gauge(
                "stackloom_lease_seconds",
                "Rest of this server's lease. 0 if it is lost.",
                vec![(None, workload.lease.as_secs().cast_signed())],
            ),
            Metric {
                kind: "counter",
                ..Metric::gauge(
                    "stackloom_leases_lost_total",
                    "Leases that this server has lost.",
                    vec![(None, workload.lost_leases.cast_signed())],
                )
            },
        ]))
    }

    fn record(&self, method: &Method, route: String, status: StatusCode, seconds: f64) {
        // Clients can send any method name, so unknown ones share a label.
        let method = match *method {
            Method::GET | Method::HEAD | Method::OPTIONS | Method::PATCH => method.as_str(),
            Method::POST | Method::PUT | Method::DELETE | Method::CONNECT => method.as_str(),
            _ => "(other)",
        };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = requests
            .entry((method.to_owned(), route, status.as_u16()))
            .or_default();
        entry.count += 1;
        entry.seconds += seconds;
    }

    fn render_with(&self, metrics: &[Metric]) -> String {
        let requests = self
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut text = String::new();
        header(
            &mut text,
            "stackloom_http_requests_total",
            "counter",
            "Answered requests.",
        );
        for ((method, route, status), requests) in &requests {
            let labels = format!(r#"method="{method}",route="{route}",status="{status}""#);
            line(
                &mut text,
                &format!(
                    "stackloom_http_requests_total{{{labels}}} {}",
                    requests.count
                ),
            );
        }
        header(
            &mut text,
            "stackloom_http_request_seconds_total",
            "counter",
            "Total time until requests were answered.",
        );
        for ((method, route, status), requests) in &requests {
            let labels = format!(r#"method="{method}",route="{route}",status="{status}""#);
            line(
                &mut text,
                &format!(
                    "stackloom_http_request_seconds_total{{{labels}}} {:.6}",
                    requests.seconds
                ),
            );
        }
        for metric in metrics {
            header(&mut text, metric.name, metric.kind, metric.help);
            for (label, value) in &metric.values {
                match label {
                    Some((key, label)) => line(
                        &mut text,
                        &format!("{}{{{key}=\"{label}\"}} {value}", metric.name),
                    ),
                    None => line(&mut text, &format!("{} {value}", metric.name)),
                }
            }
        }
        text
    }
}

/// Values of a metric: pairs of an optional label and the value.
type Values = Vec<(Option<(&'static str, String)>, i64)>;

/// A metric that is read when it is asked for.
struct Metric {
    /// Name of the metric.
    name: &'static str,
    /// Prometheus' type.
    kind: &'static str,
    /// Description, one sentence.
    help: &'static str,
    values: Values,
}

impl Metric {
    fn gauge(name: &'static str, help: &'static str, values: Values) -> Metric {
        Metric {
            name,
            kind: "gauge",
            help,
            values,
        }
    }
}

fn header(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, &format!("# HELP {name} {help}"));
    line(text, &format!("# TYPE {name} {kind}"));
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn methods_that_are_made_up_take_no_room() {
        let metrics = Metrics::new(store::testing::memory().await);
        for number in 0..100 {
            let method = format!("M{number}").parse().unwrap();
            metrics.record(&method, "/".into(), StatusCode::METHOD_NOT_ALLOWED, 0.1);
        }
        let text = metrics.render_with(&[]);
        assert!(text.contains(r#"{method="(other)",route="/",status="405"} 100"#));
        assert_eq!(text.lines().count(), 6, "{text}");
    }

    #[tokio::test]
    async fn prometheus_can_read_it() {
        let metrics = Metrics::new(store::testing::memory().await);
        metrics.record(
            &Method::GET,
            "/api/v1/runs/{id}".into(),
            StatusCode::OK,
            0.25,
        );
        metrics.record(
            &Method::GET,
            "/api/v1/runs/{id}".into(),
            StatusCode::OK,
            0.25,
        );
        let values = vec![(Some(("state", "running".into())), 2)];
        let text = metrics.render_with(&[Metric::gauge("stackloom_runs", "Runs.", values)]);
        assert!(text.contains(r#"stackloom_http_requests_total{method="GET",route="/api/v1/runs/{id}",status="200"} 2"#));
        assert!(text.contains(r#"status="200"} 0.500000"#));
        assert!(
            text.contains("# TYPE stackloom_runs gauge\nstackloom_runs{state=\"running\"} 2\n")
        );
    }

    /// The metrics of a server at work.
    async fn text() -> String {
        let metrics = Metrics::new(store::testing::memory().await);
        let workload = Workload {
            runs: 3,
            sandboxes: 2,
            waiting_sandboxes: 5,
            lease: Duration::from_millis(74_900),
            lost_leases: 1,
            disk_free_bytes: 700,
            disk_reserve_bytes: 800,
        };
        metrics.render(workload).await.unwrap()
    }

    #[tokio::test]
    async fn the_work_of_this_server_is_among_them() {
        let text = text().await;
        for line in [
            "stackloom_held_runs 3",
            "stackloom_sandboxes{state=\"running\"} 2",
            "stackloom_sandboxes{state=\"waiting\"} 5",
            "stackloom_lease_seconds 74",
            "# TYPE stackloom_leases_lost_total counter",
            "stackloom_leases_lost_total 1",
            "stackloom_log_bytes 0",
            "stackloom_disk_free_bytes 700",
            "stackloom_disk_reserve_bytes 800",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
    }

    #[tokio::test]
    async fn the_guide_names_existing_metrics() {
        let (guide, text) = (include_str!("../../docs/production.md"), text().await);
        let words = guide.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
        let named = words.filter(|word| word.starts_with("stackloom_"));
        let named: Vec<&str> = named.collect();
        assert!(named.len() > 5, "{named:?}");
        for name in named {
            assert!(text.contains(&format!("# TYPE {name} ")), "{name}: {text}");
        }
    }
}

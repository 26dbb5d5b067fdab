//! Metrics in the format of Prometheus.
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
use store::Operator;
use time::OffsetDateTime;

/// Counters since the start, and gauges from the database.
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
    pub async fn render(&self) -> store::Result<String> {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let sessions = self.operator.session_count(now).await?;
        let runs = self.operator.run_count_by_state().await?;
        Ok(self.render_with(&[
            Gauge {
                name: "stackloom_sessions",
                help: "Users who are logged in.",
                values: vec![(None, sessions)],
            },
            Gauge {
                name: "stackloom_runs",
                help: "Runs by state, since the database was created.",
                values: runs
                    .into_iter()
                    .map(|(state, count)| (Some(("state", store::to_text(&state))), count))
                    .collect(),
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

    fn render_with(&self, gauges: &[Gauge]) -> String {
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
        for gauge in gauges {
            header(&mut text, gauge.name, "gauge", gauge.help);
            for (label, value) in &gauge.values {
                match label {
                    Some((key, label)) => line(
                        &mut text,
                        &format!("{}{{{key}=\"{label}\"}} {value}", gauge.name),
                    ),
                    None => line(&mut text, &format!("{} {value}", gauge.name)),
                }
            }
        }
        text
    }
}

/// A gauge.
struct Gauge {
    /// Name of the metric.
    name: &'static str,
    /// Description, one sentence.
    help: &'static str,
    /// Pairs of an optional label and the value.
    values: Vec<(Option<(&'static str, String)>, i64)>,
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
        let gauge = Gauge {
            name: "stackloom_runs",
            help: "Runs.",
            values: vec![(Some(("state", "running".into())), 2)],
        };
        let text = metrics.render_with(&[gauge]);
        assert!(text.contains(r#"stackloom_http_requests_total{method="GET",route="/api/v1/runs/{id}",status="200"} 2"#));
        assert!(text.contains(r#"status="200"} 0.500000"#));
        assert!(
            text.contains("# TYPE stackloom_runs gauge\nstackloom_runs{state=\"running\"} 2\n")
        );
    }
}

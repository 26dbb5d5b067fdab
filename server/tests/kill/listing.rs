//! The list of a project with a thousand deployments, for `cargo xtask bench engine`: the time until it is answered and
//! read. The search in it is measured in the browser, by `cargo xtask bench browser`.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    clouds_file, demo,
    program::{self, Program},
    text,
};

/// The long tests, which are a debug build, have a tenth.
const DEPLOYMENTS: usize = if cfg!(debug_assertions) { 100 } else { 1000 };

/// Deployments that are made at the same time.
const AT_ONCE: usize = 50;

/// Rows that the page shows first.
const ROWS: usize = 50;

/// Requests of each kind. The figure is their median.
const REQUESTS: usize = 21;

fn template(nth: usize) -> String {
    let (high, low) = (nth / 250, nth % 250);
    format!(
        "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  subnet: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.{high}.{low}.0/24}}}}
  web: {{type: OS::Nova::Server, properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: net}}}}]}}}}
"
    )
}

/// The median time of the requests for these paths, one after the other, with this number of rows altogether.
async fn time_of(program: &Program, paths: &[String], rows: usize) -> Duration {
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let began = Instant::now();
        let mut found = 0;
        for path in paths {
            found += program.get(path).await.as_array().unwrap().len();
        }
        times.push(began.elapsed());
        assert_eq!(found, rows);
    }
    times.sort();
    times[REQUESTS / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement of a minute"]
async fn a_thousand_deployments_are_listed() {
    program::install_tls_provider();
    let lab = lab::Lab::memory().await.unwrap();
    let clouds = clouds_file(&lab);
    let folder = tempfile::tempdir().unwrap();
    let settings = vec![("STACKLOOM_PROJECT_DEPLOYMENTS", DEPLOYMENTS.to_string())];
    let horizon = Duration::from_secs(3);
    let mut program = Program::start_with(folder.path(), &clouds, horizon, settings).await;
    program.login(&demo()).await;
    for first in (0..DEPLOYMENTS).step_by(AT_ONCE) {
        let mut runs = Vec::new();
        for nth in first..first + AT_ONCE {
            let name = format!("many-{nth}");
            let body = json!({"name": name, "template": template(nth), "parameters": {}});
            let started = program.post("/api/v1/deployments", &body).await;
            runs.push(text(&started, "run"));
        }
        for run in runs {
            program.until_over(&run).await;
        }
    }

    let path =
        |rows: usize, offset: usize| format!("/api/v1/deployments?limit={rows}&offset={offset}");
    // As the page asks for it.
    let half = DEPLOYMENTS / 2;
    let whole = time_of(&program, &[path(half, 0), path(half, half)], DEPLOYMENTS).await;
    let page = time_of(&program, &[path(ROWS, 0)], ROWS).await;
    for (what, time, aim_ms) in [("all of them", whole, 500), ("a page of 50", page, 50)] {
        println!(
            "server, {DEPLOYMENTS} deployments, {what} over the API\t{:.1}\tms\t{aim_ms}",
            time.as_secs_f64() * 1e3
        );
    }
}

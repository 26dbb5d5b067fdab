//! Builds the server: database, engine, router. Used by `main` and by the tests.

use std::{
    fs::{self, OpenOptions},
    io::ErrorKind,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use axum::{
    Router,
    body::Body,
    http::{HeaderName, Request},
    middleware,
};
use engine::{LogQuota, compute::Limits, slots::Slots};
use store::Operator;
use tokio::{net::TcpListener, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tower::ServiceBuilder;
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::CompressionLayer,
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, RequestId, SetRequestIdLayer},
    trace::TraceLayer,
};
use tower_sessions::{SessionManagerLayer, cookie::SameSite};

use crate::{
    attempts::Attempts, audit, auth, config::Config, designs::Designs, doors::Doors, facts::Facts,
    headers, metrics, origin, pages, problem, rates::Rates, routes, serve, services::Services,
    session_store::SealedStore, token_logins::TokenLogins, unattended,
};

const SWEEP_EVERY: Duration = Duration::from_secs(600);
/// Time for which a paused run keeps its sealed secrets. A user who resumes it later brings a new token, and hidden
/// parameters come from the deployment's own store.
const PAUSED_SECRETS_KEPT: jiff::SignedDuration = jiff::SignedDuration::from_hours(14 * 24);
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A server that is ready to accept connections.
pub struct Server {
    router: Router,
    /// Routes of the address for signals only.
    signals: Router,
    services: Services,
}

/// Opens the database, starts the engine (which resumes unfinished runs) and builds the router.
///
/// # Errors
/// If the data folder cannot be written, the clouds' configuration cannot be read, or the database is newer than the
/// program.
pub async fn build(config: Config) -> anyhow::Result<Server> {
    let config = Arc::new(config);
    fs::create_dir_all(&config.data)
        .with_context(|| format!("cannot create the folder {}", config.data.display()))?;
    fs::set_permissions(&config.data, fs::Permissions::from_mode(0o700))
        .with_context(|| format!("cannot protect the folder {}", config.data.display()))?;
    let clouds = clouds(&config)?;
    let operator = open_database(&config).await?;
    let store = operator.store().clone();
    let engine = engine::Engine::start(engine_config(&config, &clouds), operator.clone())
        .await
        .context("the engine did not start")?;
    let services = Services {
        clouds,
        sessions: SealedStore::new(store.clone(), config.session_idle.0),
        tokens: TokenLogins::default(),
        attempts: Attempts::new(config.address_failures),
        wrong_signals: Attempts::new(config.address_failures),
        signals: Rates::new(routes::SIGNAL_BURST, routes::SIGNAL_EVERY),
        policy_signals: Rates::new(routes::POLICY_BURST, routes::POLICY_EVERY),
        stored_signals: Rates::new(audit::SIGNAL_BURST, audit::SIGNAL_EVERY),
        stored_refusals: Rates::new(audit::REFUSED_BURST, audit::REFUSED_EVERY),
        doors: Doors::new(config.logins, config.address_logins),
        designs: Designs::new(
            store.clone(),
            engine.clone(),
            config.project_designs,
            config.project_design_mib,
        ),
        sockets: Slots::new(config.project_sockets),
        uploads: Slots::new(config.project_uploads),
        facts: Facts::new(engine.clone(), config.signal_url().is_some()),
        engine,
        metrics: metrics::Metrics::new(operator.clone()),
        leptos: pages::options(&config),
        closing: CancellationToken::new(),
        store,
        config,
    };
    tokio::spawn(check_regions(services.clouds.clone()));
    tokio::spawn(unattended::check_deployments(services.clone()));
    let days = (services.config.audit_days, services.config.log_days);
    let (sessions, closing) = (services.sessions.clone(), services.closing.clone());
    tokio::spawn(sweep(operator, sessions, days, closing));
    Ok(Server {
        router: router(services.clone()),
        signals: layered(routes::signals(), services.clone()),
        services,
    })
}

impl Server {
    /// Serves the connections of a listener until [`Server::closing`] is cancelled and all requests are complete.
    pub fn serve(&self, listener: TcpListener) -> impl Future<Output = ()> + Send + use<> {
        let config = self.services.config.clone();
        serve::serve(listener, self.router.clone(), config, self.closing())
    }

    /// Serves signals only: all other paths are not found.
    pub fn serve_signals(&self, listener: TcpListener) -> impl Future<Output = ()> + Send + use<> {
        let config = self.services.config.clone();
        serve::serve(listener, self.signals.clone(), config, self.closing())
    }

    /// Token that is cancelled to close the sockets; see [`Server::stop`].
    pub fn closing(&self) -> CancellationToken {
        self.services.closing.clone()
    }

    /// Releases the runs, which resume at the next start, and closes the database.
    pub async fn stop(&self) {
        self.services.closing.cancel();
        self.services.engine.shutdown().await;
        self.services.store.close().await;
    }
}

fn clouds(config: &Config) -> anyhow::Result<openstack::Clouds> {
    let clouds = match &config.clouds {
        Some(path) => openstack::Clouds::from_file(path)
            .with_context(|| format!("cannot read {}", path.display()))?,
        None => openstack::Clouds::load().context("cannot read the clouds' configuration")?,
    };
    Ok(clouds.with(|cloud| {
        cloud.login_timeout = config.login_timeout.0;
        cloud.connection.parallel_calls = config.cloud_calls;
        cloud.connection.parallel_changes = config.cloud_changes;
    }))
}

/// Warns of clouds whose service catalogue does not contain the configured region. Checks only clouds with credentials
/// in the configuration.
async fn check_regions(clouds: openstack::Clouds) {
    for cloud in clouds.iter() {
        let Some(credentials) = &cloud.credentials else {
            continue;
        };
        match openstack::Session::login(cloud, credentials, cloud.scope.as_ref()).await {
            Ok(session) => {
                // A configured token stays valid, because it belongs to the user.
                if !matches!(credentials, openstack::Credentials::Token { .. }) {
                    let ended = session.revoke().await;
                    let _ = ended.inspect_err(|error| tracing::debug!("a token stays: {error}"));
                }
            }
            Err(error @ openstack::Error::UnknownRegion { .. }) => {
                tracing::warn!(cloud = cloud.name, "nobody can log in: {error}");
            }
            Err(error) => {
                tracing::debug!(cloud = cloud.name, "the region is not checked: {error}");
            }
        }
    }
}

async fn open_database(config: &Config) -> anyhow::Result<Operator> {
    if let Some(url) = &config.database {
        return store::connect(url)
            .await
            .with_context(|| format!("cannot use the database {url}"));
    }
    let file = config.data.join("stackloom.db");
    protect(&file)?;
    store::open(&file)
        .await
        .with_context(|| format!("cannot open {}", file.display()))
}

/// Restricts the database file to the server's own user. Creates it before SQLite does, because SQLite copies its
/// permissions to the files beside it.
fn protect(file: &Path) -> anyhow::Result<()> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    match made {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(error).with_context(|| format!("cannot create {}", file.display()));
        }
    }
    for beside in ["", "-wal", "-shm"] {
        let file = PathBuf::from(format!("{}{beside}", file.display()));
        match fs::set_permissions(&file, fs::Permissions::from_mode(0o600)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot protect {}", file.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

fn engine_config(config: &Config, clouds: &openstack::Clouds) -> engine::Config {
    let mut engine = engine::Config::new(&config.data, &config.catalog, clouds.clone());
    engine.git_hosts.clone_from(&config.git_hosts);
    engine.git_authority.clone_from(&config.git_ca);
    engine.sandbox_image = config.sandbox_image.clone();
    engine.docker_hosts.clone_from(&config.docker);
    engine.parallel_sandboxes = config.sandboxes;
    engine.orchestrator_address = config.orchestrator_address;
    engine.signal_url = config.signal_url().map(str::to_owned);
    engine.ssh_timeout = config.ssh_timeout.0;
    engine.commit_horizon = config.commit_horizon.0;
    engine.lease = config.lease.0;
    engine.grace = config.grace.0;
    engine.retry_pause = config.retry_pause.0;
    engine.keys = config.key_source();
    engine.despite_lost_keys = config.despite_lost_keys;
    engine.parallel_steps = config.parallel_steps;
    engine.project_deployments = config.project_deployments;
    engine.project_undeployed = config.project_undeployed;
    engine.project_runs = config.project_runs;
    engine.deployment_snapshots = config.deployment_snapshots;
    engine.log_quota = LogQuota {
        step_bytes: config.step_log_mib << 20,
        project_bytes: config.project_log_mib << 20,
    };
    engine.disk_reserve_bytes = config.disk_reserve_mib << 20;
    engine.project_ssh_attempts = config.project_ssh_attempts;
    engine.project_terminals = config.project_terminals;
    engine.person_terminals = config.person_terminals;
    engine.terminal_idle = config.terminal_idle.0;
    engine.computations = Limits {
        parallel: config.computations,
        per_project: config.project_computations,
        patience: config.computation_wait.0,
        deadline: config.computation_timeout.0,
    };
    engine
}

fn router(services: Services) -> Router {
    let sessions = SessionManagerLayer::new(services.sessions.clone())
        .with_name(if services.config.is_https() {
            auth::TLS_COOKIE
        } else {
            auth::COOKIE
        })
        .with_same_site(SameSite::Lax) // links from other sites to a run keep the login
        .with_secure(services.config.is_https());
    let routes = Router::new()
        .merge(routes::api(&services))
        .merge(pages::routes(&services))
        .layer(sessions)
        .layer(middleware::from_fn_with_state(
            services.config.clone(),
            origin::own_host,
        ))
        .merge(routes::public())
        .merge(pages::files(&services.config));
    layered(routes, services)
}

/// Routes with what surrounds all of them: request ids, log lines, metrics, headers and limits.
fn layered(routes: Router<Services>, services: Services) -> Router {
    let around = ServiceBuilder::new()
        .layer(SetRequestIdLayer::new(REQUEST_ID, MakeRequestUuid))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_request(())
                .on_failure(()),
        )
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(middleware::from_fn_with_state(
            services.metrics.clone(),
            metrics::count,
        ))
        .layer(middleware::from_fn_with_state(
            services.config.clone(),
            headers::secure,
        ))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(CatchPanicLayer::custom(problem::of_panic))
        .layer(middleware::from_fn_with_state(
            services.config.clone(),
            serve::limit_body,
        ));
    routes.layer(around).with_state(services)
}

/// The span of a request: method, path and id. Never the query, headers or a body.
fn span(request: &Request<Body>) -> tracing::Span {
    let id = request
        .extensions()
        .get::<RequestId>()
        .and_then(|id| id.header_value().to_str().ok())
        .unwrap_or_default();
    tracing::info_span!("http", method = %request.method(), path = request.uri().path(), request_id = id)
}

/// Deletes expired sessions, old audit events and old logs.
async fn sweep(
    operator: Operator,
    sessions: SealedStore,
    (audit_days, log_days): (u32, u32),
    closing: CancellationToken,
) {
    let mut every = tokio::time::interval(SWEEP_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while closing.run_until_cancelled(every.tick()).await.is_some() {
        match operator.session_sweep(sessions.open_now()).await {
            Ok(0) => {}
            Ok(swept) => tracing::info!(swept, "expired sessions were removed"),
            Err(error) => tracing::warn!("expired sessions could not be removed: {error}"),
        }
        let retention = jiff::SignedDuration::from_hours(24 * i64::from(audit_days));
        let before = (jiff::Timestamp::now() - retention).to_string();
        if let Err(error) = operator.audit_sweep(&before, audit::EVENTS_MAX).await {
            tracing::warn!("old audit events could not be removed: {error}");
        }
        let before = (jiff::Timestamp::now() - PAUSED_SECRETS_KEPT).to_string();
        match operator.sealed_sweep_paused(&before).await {
            Ok(0) => {}
            Ok(swept) => tracing::info!(swept, "secrets of long paused runs were removed"),
            Err(error) => tracing::warn!("secrets of paused runs could not be removed: {error}"),
        }
        if log_days == 0 {
            continue;
        }
        let before =
            jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * i64::from(log_days));
        match operator.log_sweep(before).await {
            Ok(0) => {}
            Ok(runs) => tracing::info!(runs, log_days, "the logs of old runs were deleted"),
            Err(error) => tracing::warn!("the logs of old runs could not be deleted: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::{Extension, http::StatusCode, routing::post};
    use clap::Parser as _;
    use engine::Tenant;
    use openstack::ConnectionSettings;
    use store::Page;
    use tower::ServiceExt as _;

    use super::*;
    use crate::audit::{Recorder, Who};

    async fn fails() -> StatusCode {
        panic!("a fault of the handler")
    }

    /// A server in a folder, with a cloud that does not answer.
    async fn server(folder: &Path) -> Server {
        let text = "clouds:\n  test:\n    auth: {auth_url: 'http://127.0.0.1:9/v3'}\n";
        fs::write(folder.join("clouds.yaml"), text).unwrap();
        let setting = |name: &str, file: &str| format!("--{name}={}", folder.join(file).display());
        let settings = [
            "stackloom".to_owned(),
            setting("clouds", "clouds.yaml"),
            setting("data", "data"),
            setting("site", "site"),
            concat!("--catalog=", env!("CARGO_MANIFEST_DIR"), "/../catalog").to_owned(),
        ];
        build(Config::parse_from(settings)).await.unwrap()
    }

    fn tenant() -> Tenant {
        Tenant {
            cloud: "test".to_owned(),
            project_id: "shop".to_owned(),
        }
    }

    /// The audit events of the project, newest first.
    async fn trail(server: &Server) -> Vec<api::AuditEvent> {
        let names = [(); 3].map(|()| String::new());
        let store = &server.services.store;
        let events = store.audit_list(&tenant(), &names, None, Page::ALL).await;
        events.unwrap()
    }

    #[tokio::test]
    async fn a_flood_of_refused_signals_keeps_no_scaling_out_of_the_audit_trail() {
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path()).await;
        let recorder = Recorder::unattended(&server.services, "d");
        let signal = async |status| {
            let tenant = tenant();
            let who = ("demo", &tenant);
            recorder
                .record_signal(who, "up", "signal to `up`", (status, None))
                .await;
        };
        for _ in 0..audit::SIGNAL_BURST + 20 {
            signal(StatusCode::FORBIDDEN).await;
        }
        signal(StatusCode::ACCEPTED).await;
        let events = trail(&server).await;
        assert_eq!(events[0].status, 202);
        let refused = events.iter().filter(|event| event.status == 403).count();
        assert_eq!(refused, audit::SIGNAL_BURST as usize);
        server.stop().await;
    }

    #[tokio::test]
    async fn a_change_whose_handler_panics_is_answered_and_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let server = server(folder.path()).await;
        let owner = tenant();
        let broken = move |Extension(who): Extension<Who>| {
            who.is("demo", &owner);
            fails()
        };
        let routes = Router::new().route("/designs", post(broken));
        let routes = routes::recorded(routes, &server.services);
        let router = layered(
            Router::new().nest("/api/v1", routes),
            server.services.clone(),
        );

        let request = Request::post("/api/v1/designs")
            .body(Body::empty())
            .unwrap();
        let answer = router.oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let events = trail(&server).await;
        let [event] = events.as_slice() else {
            panic!("one event: {events:?}");
        };
        assert_eq!(
            (event.user.as_str(), event.action.as_str(), event.status),
            ("demo", "POST /api/v1/designs", 500)
        );
        assert_eq!(event.code.as_deref(), Some("internal-error"));
        server.stop().await;
    }

    #[test]
    fn settings_of_calls_hold_in_each_region_of_each_cloud() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("clouds.yaml");
        let text = "clouds:\n  one:\n    auth: {auth_url: 'https://one.example.org/v3'}\n  two:\n    auth: {auth_url: 'https://two.example.org/v3'}\n    \
            regions: [near, {name: far, values: {api_timeout: 5}}]\n";
        fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let read = |settings: &[&str]| {
            let settings = [&["stackloom", "--clouds", &file], settings].concat();
            let clouds = clouds(&Config::parse_from(settings)).unwrap();
            let two = clouds.get("two").unwrap();
            let all = [
                clouds.get("one").unwrap().clone(),
                two.with_region("near"),
                two.with_region("far"),
            ];
            assert_eq!(all[2].connection.timeout, Duration::from_secs(5));
            all.map(|cloud| {
                let ConnectionSettings {
                    parallel_calls,
                    parallel_changes,
                    ..
                } = cloud.connection;
                (parallel_calls, parallel_changes, cloud.login_timeout)
            })
        };
        let usual = (32, 16, openstack::config::LOGIN_TIMEOUT);
        assert_eq!(read(&[]), [usual; 3]);
        let given = ["--cloud-calls=5", "--cloud-changes=3", "--login-timeout=7"];
        assert_eq!(read(&given), [(5, 3, Duration::from_secs(7)); 3]);
    }

    #[test]
    fn a_step_that_may_store_more_may_print_more() {
        let clouds = openstack::Clouds::default();
        let limit = |mib: &str| {
            let config = Config::parse_from(["stackloom", "--step-log-mib", mib]);
            engine_config(&config, &clouds).output_limits().bytes_max
        };
        assert_eq!([limit("1"), limit("500")], [1 << 20, 500 << 20]);
    }
}

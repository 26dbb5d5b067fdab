//! Signals to the resources of deployments, from servers and alarms without a login.
//!
//! The signature is checked first, because that is cheaper than any limit. So wrong signatures at an address, such as
//! those of a server whose handle was replaced, do not delay right ones from there.
//!
//! A signal to a policy scales its group with the standing permission of the deployment.
//!
//! Signals with a valid signature are audit events if they have an effect or the engine refuses them. Their sender has no
//! name ([`SENDER`]).

use std::time::{Duration, Instant};

use api::Started;
use axum::{
    Extension,
    body::Body,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use engine::{PolicySignal, SignalReceiver};
use serde::Deserialize;
use store::SignalTarget;
use tower_http::request_id::RequestId;
use tracing::Instrument;

use crate::{
    attempts::AddressKey,
    audit::{Recorder, outcome},
    auth::TOKEN_HEADER,
    client::ClientAddress,
    codes,
    extract::read,
    problem::{Error, Result, sentence},
    services::Services,
};

/// Signals to one resource at once: a group of servers that boot together has one handle.
pub const BURST: u32 = 100;
/// Interval of the signals to one resource after that.
pub const EVERY: Duration = Duration::from_millis(50);
/// Signals to one policy at once. Each can cost the cloud a login.
pub const POLICY_BURST: u32 = 10;
/// Interval of the signals to one policy after that.
pub const POLICY_EVERY: Duration = Duration::from_secs(6);

/// Time after which a sender can repeat a signal that came during a run.
const RUNS_FOR: Duration = Duration::from_secs(30);

/// Largest body of a signal to a policy, in bytes. Alertmanager sends all alerts of a group in one.
const ALARM_BYTES_MAX: usize = 256 * 1024;

/// The user of a signal in the audit trail. A signal that scales a group has the user of the deployment's permission.
const SENDER: &str = "(signed address)";

/// The signature in the query, for senders that set no headers.
#[derive(Deserialize)]
pub struct Signature {
    signature: Option<String>,
}

/// Receives a signal at a signed address.
pub async fn receive(
    State(services): State<Services>,
    ClientAddress(address): ClientAddress,
    Extension(request_id): Extension<RequestId>,
    Path(name): Path<String>,
    Query(query): Query<Signature>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response> {
    let now = Instant::now();
    let header = headers.get(TOKEN_HEADER);
    let header = header.and_then(|token| token.to_str().ok());
    let token = query.signature.as_deref().or(header).unwrap_or_default();
    // The address of a resource that is gone counts as wrong, too.
    let refused =
        |error: Error| match services
            .wrong_signals
            .begin_at(AddressKey::of(address), None, now)
        {
            Ok(()) => error,
            Err(wait) => too_many(wait),
        };
    let failed = |error: engine::Error| match error {
        engine::Error::SignalRefused => refused(error.into()),
        engine::Error::Busy(_) => Error::from(error).retry_after(RUNS_FOR),
        _ => error.into(),
    };
    let target = services.engine.signal_target(&name, token);
    let target = target.map_err(failed)?;
    services.signals.take(name.clone(), now).map_err(too_many)?;
    let receiver = services.engine.signal_receiver(&target).await;
    let receiver = receiver.map_err(failed)?;
    let (bytes_max, hint) = match receiver {
        SignalReceiver::Handle => {
            let hint = "Leave the data of the signal on the server.";
            (engine::SIGNAL_BYTES_MAX, hint)
        }
        SignalReceiver::Policy => {
            services.policy_signals.take(name, now).map_err(too_many)?;
            let hint = "Group the alerts into smaller notifications.";
            (ALARM_BYTES_MAX, hint)
        }
    };
    let body = read(body, bytes_max, hint).await?;
    let recorder = Recorder::of_signal(&services, &target.deployment, address, &request_id);
    // A sender that does not wait for the answer must end neither the work nor its record.
    let work = act(services.clone(), recorder, target, receiver, body);
    let done = tokio::spawn(work.in_current_span()).await;
    let done = done.map_err(|error| Error::internal("receiving a signal", error))?;
    done?.map_err(failed)
}

/// Acts on a signal and records it. The outer error is that of reading the cloud's facts.
async fn act(
    services: Services,
    recorder: Recorder,
    target: SignalTarget,
    receiver: SignalReceiver,
    body: Vec<u8>,
) -> Result<engine::Result<Response>> {
    let engine = &services.engine;
    let done = match receiver {
        SignalReceiver::Handle => {
            let stored = engine.signal(&target, &body).await;
            stored.map(|()| "signalled\n".into_response())
        }
        SignalReceiver::Policy => match engine.policy_signal(&target, &body).await {
            Ok(PolicySignal::Nothing(why)) => return Ok(Ok(plain_text(StatusCode::OK, &why))),
            Ok(PolicySignal::Scaling(scaling)) => {
                return scale(&services, &recorder, &target, *scaling).await;
            }
            Err(error) => Err(error),
        },
    };
    let action = format!("signal to `{}`", target.resource);
    let outcome = outcome(&done, StatusCode::OK);
    let who = (SENDER, &target.tenant);
    recorder
        .record_signal(who, &target.resource, &action, outcome)
        .await;
    Ok(done)
}

/// Scales with a permission, and records it. The outer error is that of reading the cloud's facts.
async fn scale(
    services: &Services,
    recorder: &Recorder,
    target: &SignalTarget,
    scaling: engine::PermittedScaling,
) -> Result<engine::Result<Response>> {
    let started = begin_scaling(services, target, &scaling).await;
    let outcome = match &started {
        Ok(started) => outcome(started, StatusCode::ACCEPTED),
        Err(error) => (error.status(), Some(error.code())),
    };
    let action = format!("signal: {}", scaling.summary);
    let who = (scaling.actor.user.as_str(), &scaling.actor.tenant);
    recorder
        .record_signal(who, &target.resource, &action, outcome)
        .await;
    Ok(started?.map(|started| {
        let text = format!("{}; run {}", scaling.summary, started.run);
        plain_text(StatusCode::ACCEPTED, &text)
    }))
}

/// Reads the cloud's facts and starts the run of a scaling. The outer error is that of the facts.
async fn begin_scaling(
    services: &Services,
    target: &SignalTarget,
    scaling: &engine::PermittedScaling,
) -> Result<engine::Result<Started>> {
    let (engine, actor, id) = (&services.engine, &scaling.actor, &scaling.deployment);
    let deployment = engine.deployment(&target.tenant, id).await?;
    let cloud = services.facts.for_deployment(actor, &deployment).await?;
    let request = scaling.request.clone();
    Ok(engine
        .scale(actor, id, &scaling.group, request, cloud)
        .await)
}

/// A response for people who look at their alarm's log.
fn plain_text(status: StatusCode, text: &str) -> Response {
    (status, format!("{}\n", sentence(text))).into_response()
}

fn too_many(wait: Duration) -> Error {
    Error::new(
        codes::TOO_MANY_SIGNALS,
        "Too many signals arrive, so this one was not taken.",
    )
    .hint("Send it again after the time in the header `Retry-After`, as `curl --retry` does.")
    .retry_after(wait)
}

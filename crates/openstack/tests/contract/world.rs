//! The cloud under test, calls, checks, and cleanup.

use std::sync::Mutex;
use std::time::Duration;

use lab::Lab;
use openstack::{Answer, Clouds, Credentials, Method, Microversion, Scope, Service, Session};
use serde_json::{Value, json};

/// Names of checks that the lab does not pass. Failures are printed only. A real cloud has no such list.
type KnownFailures = [&'static str];
const KNOWN_FAILURES: &KnownFailures = &[];

/// Longer than any operation on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(250);

/// A case's access to the cloud.
pub struct World {
    pub session: Session,
    /// Name of all resources of this case.
    pub name: String,
    made: Mutex<Vec<(Service, String)>>,
    wrong: Mutex<Vec<String>>,
    lab: Option<Lab>,
}

/// A response.
pub struct Response {
    pub status: u16,
    pub body: Value,
    pub answer: Answer,
}

impl Response {
    /// The value at a JSON pointer such as `/server/id`.
    pub fn at(&self, pointer: &str) -> Value {
        self.body.pointer(pointer).cloned().unwrap_or(Value::Null)
    }

    /// The text at a JSON pointer such as `/server/id`; empty if it is missing.
    pub fn text(&self, pointer: &str) -> String {
        self.at(pointer).as_str().unwrap_or_default().to_owned()
    }

    /// The list of a key.
    pub fn list(&self, key: &str) -> Vec<Value> {
        self.body[key].as_array().cloned().unwrap_or_default()
    }

    /// The error type.
    pub fn kind(&self) -> String {
        let error = self.answer.refusal();
        error
            .api()
            .and_then(|api| api.kind.clone())
            .unwrap_or_default()
    }
}

/// Runs a case, deletes its resources, and fails with all deviations.
pub async fn case(name: &str, services: &[Service], body: impl AsyncFnOnce(&World)) {
    run(name, services, None, body).await;
}

/// The same, in a project with quotas of one network, no server and 2 GiB of volumes.
pub async fn small_case(name: &str, body: impl AsyncFnOnce(&World)) {
    match crate::quota::small_project(name).await {
        Some(place) => run(name, &[], Some(place), body).await,
        None => eprintln!("{name}: skipped, it takes an administrator"),
    }
}

/// The same as [`case`], with an administrator's session. Skipped on a real cloud whose clouds file has no
/// administrator.
pub async fn admin_case(name: &str, body: impl AsyncFnOnce(&World)) {
    let place = match real_clouds() {
        None => {
            let lab = Lab::memory().await.unwrap();
            let session = lab_session(&lab, "admin").await;
            Some((session, Some(lab)))
        }
        Some(Real { clouds, admin, .. }) => match admin {
            Some(admin) => Some((configured(&clouds, &admin).await, None)),
            None => None,
        },
    };
    let Some((session, lab)) = place else {
        return eprintln!("{name}: skipped, it takes an administrator");
    };
    let after = None;
    let place = Place {
        session,
        lab,
        after,
    };
    run(name, &[], Some(place), body).await;
}

/// Session of a case, and cleanup after it.
pub struct Place {
    pub session: Session,
    pub lab: Option<Lab>,
    pub after: Option<crate::quota::Cleanup>,
}

async fn run(
    name: &str,
    services: &[Service],
    place: Option<Place>,
    body: impl AsyncFnOnce(&World),
) {
    let (session, lab, after) = match place {
        Some(place) => (place.session, place.lab, place.after),
        None => {
            let (session, lab) = cloud().await;
            (session, lab, None)
        }
    };
    let is_lab = lab.is_some();
    for service in services {
        if !session.has_service(*service) {
            eprintln!("{name}: skipped, the cloud offers no {service} service");
            return;
        }
    }
    let world = World {
        name: unique(name),
        session,
        made: Mutex::default(),
        wrong: Mutex::default(),
        lab,
    };
    let outcome = caught(body(&world)).await;
    world.sweep().await;
    if let Some(after) = after {
        after.undo().await;
    }
    let wrong = world.wrong.into_inner().unwrap();
    let (known, wrong): (Vec<_>, Vec<_>) = wrong.into_iter().partition(|line| {
        is_lab
            && KNOWN_FAILURES
                .iter()
                .any(|known| line.starts_with(&format!("{known}:")))
    });
    for line in known {
        eprintln!("known to differ in the lab: {line}");
    }
    if let Err(panic) = outcome {
        eprintln!("{}", wrong.join("\n"));
        std::panic::resume_unwind(panic);
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Catches a panic of the body, so that the cleanup always runs.
async fn caught<F: Future<Output = ()>>(body: F) -> std::thread::Result<()> {
    let mut body = std::pin::pin!(body);
    std::future::poll_fn(|context| {
        let poll = std::panic::AssertUnwindSafe(|| body.as_mut().poll(context));
        match std::panic::catch_unwind(poll) {
            Ok(std::task::Poll::Pending) => std::task::Poll::Pending,
            Ok(std::task::Poll::Ready(())) => std::task::Poll::Ready(Ok(())),
            Err(panic) => std::task::Poll::Ready(Err(panic)),
        }
    })
    .await
}

/// A unique name.
pub fn unique(name: &str) -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    format!("contract-{name}-{:x}", now.as_micros() & 0xffff_ffff)
}

/// A real cloud, by its entries in a clouds file.
pub struct Real {
    pub clouds: Clouds,
    /// Entry for the cases.
    pub cloud: String,
    /// Entry of an administrator, who can create projects.
    pub admin: Option<String>,
}

/// The real cloud of the file `$STACKLOOM_CONTRACT_CLOUDS`; without it, the tests use the lab. The entry is
/// `$STACKLOOM_CONTRACT_CLOUD`, else the first without `admin` in its name. The administrator is the first with `admin`
/// in its name.
pub fn real_clouds() -> Option<Real> {
    let file = std::env::var("STACKLOOM_CONTRACT_CLOUDS").ok()?;
    let clouds = Clouds::from_file(file.as_ref()).expect("the clouds file is good");
    let names: Vec<String> = clouds.iter().map(|cloud| cloud.name.clone()).collect();
    let (admins, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| name.contains("admin"));
    let cloud = std::env::var("STACKLOOM_CONTRACT_CLOUD").ok();
    Some(Real {
        cloud: cloud
            .or_else(|| others.into_iter().next())
            .expect("the clouds file has a cloud"),
        admin: admins.into_iter().next(),
        clouds,
    })
}

/// A session with the credentials of an entry of the clouds file.
pub async fn configured(clouds: &Clouds, name: &str) -> Session {
    let cloud = clouds.get(name).expect("the cloud is in the file");
    let credentials = cloud.credentials.as_ref().expect("it has credentials");
    Session::login(cloud, credentials, cloud.scope.as_ref())
        .await
        .unwrap()
}

async fn cloud() -> (Session, Option<Lab>) {
    if let Some(real) = real_clouds() {
        return (configured(&real.clouds, &real.cloud).await, None);
    }
    let lab = Lab::memory().await.unwrap();
    let session = lab_session(&lab, "demo").await;
    (session, Some(lab))
}

pub async fn lab_session(lab: &Lab, user: &str) -> Session {
    let config = openstack::CloudConfig::new("lab", &lab.auth_url());
    let credentials = Credentials::password(user, "Default", user);
    let scope = Scope::project(user, "Default");
    Session::login(&config, &credentials, Some(&scope))
        .await
        .unwrap()
}

impl World {
    // ---- calls ----

    /// Sends a call: `servers/detail?name=x`.
    pub async fn ask(
        &self,
        service: Service,
        method: Method,
        address: &str,
        body: Option<Value>,
        version: Option<Microversion>,
    ) -> Response {
        Self::ask_as(&self.session, service, method, address, body, version).await
    }

    /// A session of a member of another project than the administrator's.
    pub async fn member(&self) -> Session {
        match (&self.lab, real_clouds()) {
            (None, Some(real)) => configured(&real.clouds, &real.cloud).await,
            (lab, _) => lab_session(lab.as_ref().unwrap(), "demo").await,
        }
    }

    /// [`Self::ask`] with another session.
    pub async fn ask_as(
        session: &Session,
        service: Service,
        method: Method,
        address: &str,
        body: Option<Value>,
        version: Option<Microversion>,
    ) -> Response {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let path: Vec<&str> = path.split('/').collect();
        let query: Vec<(&str, &str)> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .collect();
        let mut call = session.call(service, method, &path).query(query);
        if let Some(body) = &body {
            call = call.json(body);
        }
        if let Some(version) = version {
            call = call.microversion(version);
        }
        let answer = call.answer().await.unwrap();
        Response {
            status: answer.status,
            body: answer.json().unwrap_or(Value::Null),
            answer,
        }
    }

    /// GET.
    pub async fn get(&self, service: Service, address: &str) -> Response {
        self.ask(service, Method::GET, address, None, None).await
    }

    /// POST.
    pub async fn post(&self, service: Service, address: &str, body: Value) -> Response {
        self.ask(service, Method::POST, address, Some(body), None)
            .await
    }

    /// PUT.
    pub async fn put(&self, service: Service, address: &str, body: Value) -> Response {
        self.ask(service, Method::PUT, address, Some(body), None)
            .await
    }

    /// DELETE.
    pub async fn delete(&self, service: Service, address: &str) -> Response {
        self.ask(service, Method::DELETE, address, None, None).await
    }

    /// GET, or POST with a body, with another session.
    pub async fn other(
        &self,
        who: &Session,
        service: Service,
        address: &str,
        body: Value,
    ) -> Response {
        let (method, body) = match body {
            Value::Null => (Method::GET, None),
            body => (Method::POST, Some(body)),
        };
        Self::ask_as(who, service, method, address, body, None).await
    }

    /// Creates a resource that is deleted at the end of the case: `networks`, `{"network": {...}}`. Returns the
    /// resource in the response, under the key of the body.
    pub async fn make(&self, service: Service, collection: &str, body: Value) -> Value {
        let one = body.as_object().unwrap().keys().next().unwrap().clone();
        let response = self.post(service, collection, body).await;
        assert!(
            (200..300).contains(&response.status),
            "POST {collection}: {} {}",
            response.status,
            response.body
        );
        let made = response.at(&format!("/{one}"));
        let id = made["id"].as_str().or(made["name"].as_str());
        self.remember(service, &format!("{collection}/{}", id.unwrap()));
        made
    }

    /// Registers a resource for the cleanup.
    pub fn remember(&self, service: Service, address: &str) {
        self.made
            .lock()
            .unwrap()
            .push((service, address.to_owned()));
    }

    /// Polls until the response meets a condition.
    pub async fn until(
        &self,
        service: Service,
        address: &str,
        wanted: impl Fn(&Response) -> bool,
    ) -> Response {
        let started = std::time::Instant::now();
        loop {
            let response = self.get(service, address).await;
            if wanted(&response) {
                return response;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "GET {address} never became what it should: {} {}",
                response.status,
                response.body
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Deletes a resource and waits until it is gone.
    pub async fn remove(&self, service: Service, address: &str) {
        let response = self.delete(service, address).await;
        assert!(
            (200..300).contains(&response.status),
            "DELETE {address}: {} {}",
            response.status,
            response.body
        );
        self.until(service, address, |response| response.status == 404)
            .await;
    }

    // ---- checks ----

    /// Records a failure unless the values are equal. `what` is a sentence and the check's name.
    pub fn is(&self, what: &str, got: impl Into<Value>, wanted: impl Into<Value>) {
        let (got, wanted) = (got.into(), wanted.into());
        if got != wanted {
            self.note(what, format!("{got}, and should be {wanted}"));
        }
    }

    /// Records a failure unless the status is this one.
    pub fn status(&self, what: &str, response: &Response, wanted: u16) {
        if response.status != wanted {
            let body = response.body.to_string();
            let body: String = body.chars().take(300).collect();
            self.note(
                what,
                format!("status {}, and should be {wanted}: {body}", response.status),
            );
        }
    }

    /// Records a failure unless the response is a refusal with this status and error type, a message and a request id.
    pub fn refused(&self, what: &str, response: &Response, status: u16, kind: &str) {
        self.status(what, response, status);
        if response.status == status {
            self.is(&format!("{what}, name of the error"), response.kind(), kind);
            let error = response.answer.refusal();
            let message = error.message().unwrap_or_default();
            self.is(&format!("{what}, there are words"), message.len() > 3, true);
            let id = response.answer.request_id();
            self.is(
                &format!("{what}, there is a request id"),
                id.starts_with("req-"),
                true,
            );
        }
    }

    /// Records all missing fields.
    pub fn has(&self, what: &str, value: &Value, fields: &[&str]) {
        let missing: Vec<&str> = fields
            .iter()
            .copied()
            .filter(|field| value.get(field).is_none())
            .collect();
        self.is(
            &format!("{what}, missing fields"),
            json!(missing),
            json!([]),
        );
    }

    fn note(&self, what: &str, how: String) {
        self.wrong.lock().unwrap().push(format!("{what}: {how}"));
    }

    // ---- cleanup ----

    /// Deletes the resources of the case in reverse order, with retries while they are in use.
    async fn sweep(&self) {
        let made: Vec<(Service, String)> = self.made.lock().unwrap().drain(..).rev().collect();
        for (service, address) in made {
            let started = std::time::Instant::now();
            loop {
                let response = match address.split_once(" <- ") {
                    // `routers/x/remove_router_interface <- {...}`
                    Some((path, body)) => {
                        let body = serde_json::from_str(body).unwrap();
                        self.put(service, path, body).await
                    }
                    None => self.delete(service, &address).await,
                };
                let again = matches!(response.status, 409 | 400 | 500 | 503);
                if !again || started.elapsed() > PATIENCE {
                    if !matches!(response.status, 200..300 | 404) {
                        let why = format!("{} {}", response.status, response.body);
                        self.note(&format!("sweeping up {address}"), why);
                    }
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
            // Asynchronous deletions keep their dependencies in use.
            let slow = ["servers/", "volumes/", "snapshots/", "lbaas/"];
            if slow.iter().any(|begin| address.starts_with(begin)) {
                let gone = |response: &Response| {
                    response.status == 404 || response.at("/server/status") == "DELETED"
                };
                self.until(service, &address, gone).await;
            }
        }
    }
}

/// Sorted ids of a list.
pub fn ids(list: &[Value]) -> Vec<String> {
    let mut ids: Vec<String> = list
        .iter()
        .filter_map(|one| one["id"].as_str().map(str::to_owned))
        .collect();
    ids.sort();
    ids
}

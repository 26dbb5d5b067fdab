//! Groups, policies and signals with the real services, alone and beside the cloud's own Heat.
//!
//! The design is `designs/life.yaml`: a group of servers with ports and volumes, which two policies scale, and workers
//! that are created when two servers have signalled. Without a hypervisor no server runs, so the test signals for them:
//! with the signed addresses that the servers would get.
//!
//! `STACKLOOM_CONTRACT_CLOUDS=FILE cargo test -p engine --test real -- --ignored --nocapture --test-threads 1 life::` prints
//! a table of both.
//!
//! Heat 19.0.0 with oslo.messaging 14.0.3, as in Debian 12, refuses each signal to a policy with `Authorization failed`: of the
//! context of a notification, oslo.messaging leaves no trust, without which Heat's serializer cannot read the roles. There
//! `RequestContextSerializer.serialize_context` in `heat/common/messaging.py` must survive that error first.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::{Duration, Instant};

use api::{
    CloudFacts, EventBody, PermissionRequest, PermittedActions, Run, ScaleRequest, StepState,
};
use engine::{Changes, Error, NewDeployment, PermittedScaling, PolicySignal};
use hot::bundle::Bundle;
use openstack::{Clouds, Method, Service, Session};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::assert_succeeded;
use crate::beside_heat::{given, left_over, only_in, texts, well_ended};
use crate::heat::{Content, Stack};
use crate::inventory::inventory;
use crate::place::{Place, real_cloud};

const NAME: &str = "life";
/// Ids and data of the signals that the workers wait for.
const SIGNALS: [(&str, &str); 2] = [("db", "5432"), ("cache", "6379")];
/// Outputs with the same values on both sides.
const OUTPUTS: [&str; 2] = ["size", "data"];

/// An engine whose servers could reach it, with its own project.
async fn open(clouds: &Clouds, name: &str) -> Place {
    let address = "https://stackloom.example.org".to_owned();
    let settings = |config: &mut engine::Config| config.signal_url = Some(address);
    Place::open_apart_with(clouds, name, NAME, settings).await
}

/// Contents of the creation and of the update: another flavor for the servers, another script for the workers.
async fn contents(place: &Place) -> [Content; 2] {
    let mut before = given(place).await;
    before.remove("outside");
    let larger = before.remove("larger").unwrap();
    let mut after = before.clone();
    after.insert("flavor".to_owned(), larger);
    after.insert("script".to_owned(), json!("#!/bin/false\n"));
    [before, after].map(|parameters| Content {
        template: texts(&["life.yaml"])["life.yaml"].clone(),
        files: texts(&["life_member.yaml"]),
        environments: BTreeMap::new(),
        parameters,
    })
}

fn bundle(content: &Content) -> Bundle {
    let files = content.files.iter();
    Bundle::new(
        files.map(|(name, text)| (name.clone(), text.clone())),
        Vec::new(),
    )
}

/// A deployment of the design.
struct Life<'a> {
    place: &'a Place,
    deployment: String,
}

impl<'a> Life<'a> {
    /// Deploys the design, and signals for its servers as soon as it waits for them.
    async fn begin(place: &'a Place, content: &Content) -> (Life<'a>, Run) {
        let new = NewDeployment {
            name: NAME.into(),
            template: content.template.clone(),
            bundle: bundle(content),
            parameters: content.parameters.clone(),
            ..NewDeployment::default()
        };
        let started = place.engine.deploy(&place.actor, new).await.unwrap();
        let life = Life {
            place,
            deployment: started.deployment,
        };
        let waits = Notify::new();
        let ended = place.end_of(&started.run, |event| {
            if matches!(event, EventBody::Log(line) if line.text.contains("it waits until")) {
                waits.notify_one();
            }
        });
        let mut ended = pin!(ended);
        tokio::select! {
            run = &mut ended => return (life, run),
            () = waits.notified() => {}
        }
        assert_eq!(life.servers_of("workers").await, 0, "workers wait");
        life.signal_for_servers().await;
        (life, ended.await)
    }

    async fn signal_for_servers(&self) {
        let outputs = self.outputs().await;
        let text = |name: &str| outputs[name].as_str().unwrap();
        let (_, name) = text("endpoint").rsplit_once('/').unwrap();
        let engine = &self.place.engine;
        let target = engine.signal_target(name, text("token")).unwrap();
        for (id, data) in SIGNALS {
            let body = json!({"id": id, "data": data}).to_string();
            engine.signal(&target, body.as_bytes()).await.unwrap();
        }
    }

    async fn outputs(&self) -> BTreeMap<String, Value> {
        let place = self.place;
        let shown = place.engine.deployment(&place.tenant, &self.deployment);
        let outputs = shown.await.unwrap().outputs.into_iter();
        outputs
            .filter_map(|(name, output)| Some((name, output.value?)))
            .collect()
    }

    async fn size(&self) -> u64 {
        self.outputs().await["size"].as_u64().unwrap()
    }

    /// States of the servers of the deployment, by resource name.
    async fn states(&self) -> BTreeMap<String, String> {
        let place = self.place;
        let servers = place.engine.live_servers(&place.actor, &self.deployment);
        let servers = servers.await.unwrap().into_iter();
        servers
            .map(|one| (one.name, one.status.unwrap_or_default()))
            .collect()
    }

    async fn servers_of(&self, group: &str) -> usize {
        let states = self.states().await;
        let start = format!("{group}/");
        states
            .keys()
            .filter(|name| name.starts_with(&start))
            .count()
    }

    async fn ended(&self, run: &str) -> Run {
        self.place.end_of(run, |_| {}).await
    }

    /// Permits the policies to scale.
    async fn permit(&self) {
        let request = PermissionRequest {
            days: 1,
            may: PermittedActions {
                scale: true,
                ..PermittedActions::default()
            },
        };
        let place = self.place;
        let given = place
            .engine
            .give_permission(&place.actor, &self.deployment, request);
        let given = given.await.unwrap();
        eprintln!("permitted, with access rules: {}", given.has_access_rules);
    }

    /// Calls the address of a policy, as an alarm does.
    async fn call(&self, policy: &str) -> engine::Result<PolicySignal> {
        let outputs = self.outputs().await;
        let url = outputs[policy].as_str().unwrap();
        let (_, address) = url.split_once("/signal/").unwrap();
        let (name, token) = address.split_once("?signature=").unwrap();
        let engine = &self.place.engine;
        let target = engine.signal_target(name, token)?;
        engine.policy_signal(&target, b"").await
    }

    /// The reason why a policy does nothing.
    async fn ignored(&self, policy: &str) -> String {
        match self.call(policy).await.unwrap() {
            PolicySignal::Nothing(why) => why,
            PolicySignal::Scaling(scaling) => panic!("{}", scaling.summary),
        }
    }

    async fn scale_by(&self, policy: &str) -> Run {
        let PermittedScaling {
            actor,
            deployment,
            group,
            request,
            ..
        } = match self.call(policy).await.unwrap() {
            PolicySignal::Scaling(scaling) => *scaling,
            PolicySignal::Nothing(why) => panic!("{why}"),
        };
        let facts = CloudFacts::default();
        let engine = &self.place.engine;
        let started = engine.scale(&actor, &deployment, &group, request, facts);
        self.ended(&started.await.unwrap().run).await
    }

    async fn scale_to(&self, size: u64) -> Run {
        let request = ScaleRequest {
            size: Some(size),
            ..ScaleRequest::default()
        };
        let (place, facts) = (self.place, CloudFacts::default());
        let engine = &place.engine;
        let started = engine.scale(&place.actor, &self.deployment, "web", request, facts);
        self.ended(&started.await.unwrap().run).await
    }

    /// Updates the deployment. Returns also the largest number of members of each group that were worked on at a time.
    async fn update(&self, content: &Content) -> (Run, BTreeMap<String, usize>) {
        let changes = Changes {
            template: content.template.clone(),
            bundle: Some(bundle(content)),
            parameters: content.parameters.clone(),
            ..Changes::default()
        };
        let place = self.place;
        let started = place
            .engine
            .update(&place.actor, &self.deployment, changes)
            .await;
        let mut at_work = AtWork::default();
        let run = started.unwrap().run;
        let run = place.end_of(&run, |event| at_work.note(event)).await;
        (run, at_work.most)
    }

    async fn suspend(&self) -> Run {
        let place = self.place;
        let started = place.engine.suspend(&place.actor, &self.deployment).await;
        self.ended(&started.unwrap().run).await
    }

    async fn resume(&self) -> Run {
        let place = self.place;
        let started = place
            .engine
            .resume_deployment(&place.actor, &self.deployment);
        self.ended(&started.await.unwrap().run).await
    }

    async fn undeploy(&self) -> Run {
        let started = self.place.undeploy(&self.deployment).await;
        self.ended(&started.run).await
    }
}

/// The members of groups with a running step.
#[derive(Default)]
struct AtWork {
    /// Running steps.
    steps: BTreeSet<String>,
    /// Largest number of members at a time, by group.
    most: BTreeMap<String, usize>,
}

impl AtWork {
    fn note(&mut self, event: &EventBody) {
        let EventBody::Step { step, state, .. } = event else {
            return;
        };
        // The predecessor of a replaced member is deleted while the next batch is at work.
        let Some((group, _)) = step
            .split_once('/')
            .filter(|_| !step.ends_with(":delete-old"))
        else {
            return;
        };
        match state {
            StepState::Running => self.steps.insert(step.clone()),
            state if state.is_final() => self.steps.remove(step),
            _ => return,
        };
        let start = format!("{group}/");
        let rest = self.steps.iter().filter_map(|one| one.strip_prefix(&start));
        let members: BTreeSet<_> = rest
            .filter_map(|one| one.split(['/', ':']).next())
            .collect();
        let most = self.most.entry(group.to_owned()).or_default();
        *most = members.len().max(*most);
    }
}

/// Names of the user's application credentials.
async fn credentials(session: &Session) -> Vec<Value> {
    let path = ["users", &session.user().id, "application_credentials"];
    let call = session.call(Service::Identity, Method::GET, &path);
    let found: Vec<Value> = call.fetch("application_credentials").await.unwrap();
    found.into_iter().map(|one| one["name"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes some minutes"]
async fn a_life_of_scaling_updates_in_batches_and_suspension_leaves_nothing() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = open(&clouds, &name).await;
    let [content, changed] = contents(&place).await;
    let before = place.belongings().await;
    let (life, run) = Box::pin(Life::begin(&place, &content)).await;
    assert_succeeded(&run);
    assert_eq!(life.size().await, 2);
    assert_eq!(life.servers_of("workers").await, 3);

    assert_succeeded(&life.scale_to(3).await);
    assert_eq!(life.servers_of("web").await, 3);
    let refused = life.call("up").await.err();
    assert!(
        matches!(refused, Some(Error::NotPermitted(_))),
        "nobody has permitted it: {refused:?}"
    );
    life.permit().await;
    assert_eq!(credentials(&place.actor.session).await.len(), 1);
    let run = life.scale_by("up").await;
    assert_succeeded(&run);
    assert!(run.author.ends_with("(standing permission)"), "{run:#?}");
    assert_eq!((life.size().await, life.servers_of("web").await), (5, 5));
    let why = life.ignored("up").await;
    assert!(why.contains("`up` changes nothing now"), "{why}");

    let (run, most) = Box::pin(life.update(&changed)).await;
    assert_succeeded(&run);
    let two = ["web", "workers"].map(|group| (group.to_owned(), 2));
    assert_eq!(most, BTreeMap::from(two));
    assert_eq!(life.size().await, 5);

    let in_state = async |wanted: &str| {
        let states = life.states().await;
        states.values().filter(|state| *state == wanted).count()
    };
    assert_succeeded(&life.suspend().await);
    assert_eq!(in_state("SUSPENDED").await, 8);
    let why = life.ignored("half").await;
    assert!(why.contains("is suspended"), "{why}");
    assert_succeeded(&life.resume().await);
    assert_eq!(in_state("ACTIVE").await, 8);

    assert_succeeded(&life.scale_by("half").await);
    assert_eq!((life.size().await, life.servers_of("web").await), (3, 3));
    assert_succeeded(&life.undeploy().await);
    assert_eq!(left_over(&place, &before).await, Vec::<String>::new());
    let left = credentials(&place.actor.session).await;
    assert_eq!(left, Vec::<Value>::new());
    place.close().await;
}

/// The project at one point of a life.
struct Seen {
    when: &'static str,
    seconds: f32,
    resources: Vec<String>,
    outputs: BTreeMap<&'static str, Value>,
}

/// The points of a life, in order.
struct Diary<'a> {
    session: &'a Session,
    since: Instant,
    seen: Vec<Seen>,
}

impl<'a> Diary<'a> {
    fn begin(session: &'a Session) -> Diary<'a> {
        Diary {
            session,
            since: Instant::now(),
            seen: Vec::new(),
        }
    }

    async fn note(&mut self, when: &'static str, outputs: &BTreeMap<String, Value>) {
        let seconds = self.since.elapsed().as_secs_f32();
        let outputs = OUTPUTS.map(|name| (name, parsed(outputs.get(name))));
        self.seen.push(Seen {
            when,
            seconds,
            resources: settled(self.session).await,
            outputs: outputs.into(),
        });
        self.since = Instant::now();
    }
}

/// A value, parsed if it is JSON text: Heat's text has other spaces.
fn parsed(value: Option<&Value>) -> Value {
    let value = value.cloned().unwrap_or_default();
    let read = value.as_str().map(serde_json::from_str);
    read.and_then(Result::ok).unwrap_or(value)
}

/// The inventory, as soon as no port belongs to a deleted server: Neutron receives Nova's port deletions late.
async fn settled(session: &Session) -> Vec<String> {
    let mut lines = inventory(session).await;
    for _ in 0..60 {
        if is_settled(&lines) {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        lines = inventory(session).await;
    }
    lines
}

fn is_settled(lines: &[String]) -> bool {
    let of_kind = |kind: &'static str| {
        let fields = lines.iter().filter_map(move |line| line.strip_prefix(kind));
        let fields = fields.filter(|fields| fields.starts_with('{'));
        fields.map(|fields| serde_json::from_str::<Value>(fields).unwrap())
    };
    let at_servers = of_kind("port ").filter(|port| {
        let owner = port["device_owner"].as_str().unwrap_or_default();
        owner.starts_with("compute:")
    });
    let of_servers = of_kind("server ").filter_map(|server| server["ports"].as_u64());
    at_servers.count() as u64 == of_servers.sum::<u64>()
}

async fn by_us(place: &Place, [content, changed]: &[Content; 2]) -> Result<Vec<Seen>, String> {
    let mut diary = Diary::begin(&place.actor.session);
    let (life, run) = Box::pin(Life::begin(place, content)).await;
    let lived = async {
        well_ended(&run)?;
        diary.note("created", &life.outputs().await).await;
        life.permit().await;
        diary.since = Instant::now();
        for when in ["scaled up", "scaled up to its maximum"] {
            well_ended(&life.scale_by("up").await)?;
            diary.note(when, &life.outputs().await).await;
        }
        let (run, _) = Box::pin(life.update(changed)).await;
        well_ended(&run)?;
        diary.note("updated", &life.outputs().await).await;
        well_ended(&life.scale_by("half").await)?;
        diary.note("scaled down", &life.outputs().await).await;
        well_ended(&life.suspend().await)?;
        diary.note("suspended", &life.outputs().await).await;
        well_ended(&life.resume().await)?;
        diary.note("resumed", &life.outputs().await).await;
        Ok::<(), String>(())
    };
    let lived = Box::pin(lived).await;
    let removed = well_ended(&life.undeploy().await);
    diary.note("deleted", &BTreeMap::new()).await;
    lived.and(removed).map(|()| diary.seen)
}

async fn by_heat(place: &Place, [content, changed]: &[Content; 2]) -> Result<Vec<Seen>, String> {
    let session = &place.actor.session;
    let mut diary = Diary::begin(session);
    let stack = Stack::begin(session, NAME, content).await?;
    let lived = async {
        for (id, data) in SIGNALS {
            let body = json!({"id": id, "data": data, "status": "SUCCESS", "reason": "it works"});
            stack.signal("handle", &body).await?;
        }
        stack.created().await?;
        diary.note("created", &stack.outputs().await?).await;
        for when in ["scaled up", "scaled up to its maximum"] {
            stack.scale("up").await?;
            diary.note(when, &stack.outputs().await?).await;
        }
        stack.update(changed).await?;
        diary.note("updated", &stack.outputs().await?).await;
        stack.scale("half").await?;
        diary.note("scaled down", &stack.outputs().await?).await;
        stack.suspend().await?;
        diary.note("suspended", &stack.outputs().await?).await;
        stack.resume().await?;
        diary.note("resumed", &stack.outputs().await?).await;
        Ok::<(), String>(())
    };
    let lived = Box::pin(lived).await;
    let removed = stack.delete().await;
    diary.note("deleted", &BTreeMap::new()).await;
    lived.and(removed).map(|()| diary.seen)
}

/// The outputs without those that Heat cannot compute. It looks for the handle of a wait condition among the resources that are
/// not suspended, so the data of a suspended stack's condition is empty.
fn comparable_outputs(seen: &Seen) -> BTreeMap<&'static str, Value> {
    let mut outputs = seen.outputs.clone();
    if seen.when == "suspended" {
        outputs.remove("data");
    }
    outputs
}

/// Prints a row for each point, and returns the differences.
fn compared(ours: &[Seen], heats: &[Seen]) -> Vec<String> {
    println!(
        "| point | resources | ours, s | Heat's, s | differences |\n| --- | --- | --- | --- | --- |"
    );
    let mut all = Vec::new();
    for (ours, heats) in ours.iter().zip(heats) {
        let mut found = Vec::new();
        for (whose, lines) in [
            ("ours", only_in(&ours.resources, &heats.resources)),
            ("Heat's", only_in(&heats.resources, &ours.resources)),
        ] {
            let lines = lines.iter();
            found.extend(lines.map(|line| format!("{}, {whose} only: {line}", ours.when)));
        }
        if comparable_outputs(ours) != comparable_outputs(heats) {
            found.push(format!(
                "{}, outputs: ours {:?}, Heat's {:?}",
                ours.when, ours.outputs, heats.outputs
            ));
        }
        println!(
            "| {} | {} | {:.0} | {:.0} | {} |",
            ours.when,
            ours.resources.len(),
            ours.seconds,
            heats.seconds,
            found.len()
        );
        all.append(&mut found);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants Heat in the cloud; takes a quarter of an hour"]
async fn a_life_has_the_resources_that_heat_makes_of_it() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = open(&clouds, &name).await;
    assert!(place.actor.session.has_service(Service::Orchestration));
    let contents = contents(&place).await;
    let before = place.belongings().await;
    let ours = Box::pin(by_us(&place, &contents)).await;
    let mut problems = left_over(&place, &before).await;
    let heats = Box::pin(by_heat(&place, &contents)).await;
    problems.extend(left_over(&place, &before).await);
    problems
        .iter_mut()
        .for_each(|one| *one = format!("left: {one}"));
    if let (Ok(ours), Ok(heats)) = (&ours, &heats) {
        problems.extend(compared(ours, heats));
    }
    problems.extend(ours.err().map(|error| format!("ours failed: {error}")));
    problems.extend(heats.err().map(|error| format!("Heat's failed: {error}")));
    place.close().await;
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

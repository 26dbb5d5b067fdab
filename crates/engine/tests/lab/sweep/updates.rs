//! Updates of nearly all resources, there and back, with a failure of each changing call in turn.

use futures::future::join_all;
use lab::{Damage, ServerFault, ServerTrouble};

use super::*;
use crate::update::{never_active, to};

/// Two templates, one of which is deployed.
struct Swing {
    bench: Bench,
    deployment: String,
    before: String,
    after: String,
    /// The project's resources with each template.
    left: [Vec<String>; 2],
    /// The calls of an update from the first to the second template.
    calls: Vec<Nth>,
}

impl Swing {
    /// Updates to the second template and back once.
    async fn new() -> Swing {
        let bench = Bench::new().await;
        let (before, after) = (ALL_KINDS.to_owned(), all_changed());
        let (started, run) = bench.deploy(&before).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        let mut swing = Swing {
            deployment: started.deployment,
            left: [Vec::new(), Vec::new()],
            calls: Vec::new(),
            bench,
            before,
            after,
        };
        swing.left[0] = swing.belongings();
        swing.bench.lab.faults().clear_calls();
        swing.leads_to(&swing.after).await;
        swing.calls = changing_calls(&swing.bench);
        swing.left[1] = swing.belongings();
        assert_ne!(swing.left[0], swing.left[1]);
        swing.leads_to(&swing.before).await;
        swing.is_at(0, "there and back").await;
        swing
    }

    async fn leads_to(&self, template: &str) {
        let run = self.bench.update(&self.deployment, to(template)).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    }

    /// The existing resources, without their incarnation.
    fn belongings(&self) -> Vec<String> {
        let plain = |name: &String| match name.split_once('#') {
            Some((name, number)) => {
                format!(
                    "{name}{}",
                    number.trim_start_matches(|c: char| c.is_ascii_digit())
                )
            }
            None => name.clone(),
        };
        let mut left: Vec<String> = self.bench.left().iter().map(plain).collect();
        left.sort();
        left
    }

    /// Checks that the cloud has one side's resources, and that another update to its template changes nothing.
    async fn is_at(&self, side: usize, what: &str) {
        assert_eq!(self.belongings(), self.left[side], "{what}");
        let template = [&self.before, &self.after][side];
        let run = self.bench.update(&self.deployment, to(template)).await;
        assert!(run.steps.is_empty(), "{what}: {run:#?}");
        let shown = self.bench.shown(&self.deployment).await;
        assert_eq!(shown.template, *template, "{what}");
    }

    /// An update with faults, continued or rolled back, and then an update back to the start.
    async fn survives(&self, faults: Vec<Fault>, goes_back: bool, what: &str) {
        for fault in faults {
            self.bench.lab.faults().add(fault);
        }
        let run = self.bench.update(&self.deployment, to(&self.after)).await;
        self.bench.lab.faults().clear();
        let side = match (run.state, goes_back) {
            (RunState::Failed, true) => {
                let back = self.bench.rolls_back(&self.deployment).await;
                assert_eq!(
                    back.state,
                    RunState::Succeeded,
                    "back from {what}: {back:#?}"
                );
                0
            }
            _ => {
                self.bench.goes_on(&run.id, what).await;
                1
            }
        };
        self.is_at(side, what).await;
        if side == 1 {
            self.leads_to(&self.before).await;
        }
    }

    async fn end(self) {
        self.is_at(0, "in the end").await;
        self.bench.undeploy(&self.deployment).await;
        assert_eq!(self.bench.left(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn an_update_refused_at_one_of_todays_calls_is_resumed_or_rolled_back() {
    Box::pin(update_is_refused_at(todays)).await;
}

#[tokio::test]
#[ignore = "many updates"]
async fn an_update_refused_at_any_call_is_resumed_or_rolled_back() {
    Box::pin(update_is_refused_at(all)).await;
}

/// Each chosen call is refused, and so is the next one, which can be the same call again.
async fn update_is_refused_at(choice: Choice) {
    let swing = Swing::new().await;
    assert!(swing.calls.len() >= 20, "{:?}", swing.calls);
    let refused = || CallFault {
        status: Some(400),
        ..CallFault::default()
    };
    let calls = swing.calls.iter().enumerate();
    for (number, call) in calls.filter(|(number, _)| choice(*number)) {
        let again = (call.0.clone(), call.1.clone(), call.2 + 1);
        let faults = vec![at(call, refused()), at(&again, refused())];
        let goes_back = number % 2 == 0;
        let what = format!("{call:?}, back: {goes_back}");
        swing.survives(faults, goes_back, &what).await;
    }
    swing.end().await;
}

#[tokio::test]
async fn an_update_survives_a_transient_fault_at_each_of_todays_calls() {
    update_survives_transient_faults_at(todays).await;
}

#[tokio::test]
#[ignore = "many updates"]
async fn an_update_survives_a_transient_fault_at_any_call() {
    update_survives_transient_faults_at(all).await;
}

/// At each chosen call, one of several faults occurs once: transient ones pass, and nothing is created twice.
async fn update_survives_transient_faults_at(choice: Choice) {
    // Side by side: many of these runs wait for resources that might come late.
    let both = [false, true];
    join_all(both.map(|goes_back| Box::pin(survives_transient_faults(goes_back, choice)))).await;
}

/// A fault at every second of the chosen calls.
async fn survives_transient_faults(goes_back: bool, choice: Choice) {
    let swing = Swing::new().await;
    let status = |status: u16| CallFault {
        status: Some(status),
        ..CallFault::default()
    };
    let damage = |damage: Damage| CallFault {
        damage: Some(damage),
        ..CallFault::default()
    };
    let troubles = [
        damage(Damage::CutAfter),
        status(500),
        damage(Damage::CutBefore),
        status(409),
        damage(Damage::WrongJson),
        status(503),
        CallFault {
            delay_ms: 150,
            ..CallFault::default()
        },
    ];
    let calls = swing.calls.iter().enumerate();
    let calls = calls.filter(|(number, _)| choice(*number));
    for (number, call) in calls.skip(usize::from(goes_back)).step_by(2) {
        let trouble = &troubles[number % troubles.len()];
        let what = format!("{call:?}: {trouble:?}");
        let faults = vec![at(call, trouble.clone())];
        swing.survives(faults, goes_back, &what).await;
    }
    swing.end().await;
}

/// The successors of servers never become ready, or fail as soon as they are ready.
#[tokio::test]
async fn an_update_with_a_failed_successor_is_resumed_or_rolled_back() {
    let swing = Swing::new().await;
    for (trouble, times) in [
        (ServerTrouble::Error, 1),
        (ServerTrouble::Error, 2),
        (ServerTrouble::Error, 4),
        (ServerTrouble::Dies(0), 2),
        (ServerTrouble::Dies(20), 2),
    ] {
        for goes_back in [true, false] {
            let fault = Fault::Server(ServerFault {
                name: "web-*".into(),
                fault: trouble,
                times: Some(times),
            });
            let what = format!("{trouble:?} {times} times, back: {goes_back}");
            swing.survives(vec![fault], goes_back, &what).await;
        }
    }
    swing.end().await;
}

/// A user cancels the wait for a successor that never becomes ready; then continues, or rolls back.
#[tokio::test]
async fn a_successor_that_never_comes_is_cancelled() {
    let swing = Swing::new().await;
    let bench = &swing.bench;
    for goes_back in [true, false] {
        bench.lab.faults().add(never_active("web-*"));
        let update = bench
            .engine
            .update(&bench.actor, &swing.deployment, to(&swing.after));
        let run = update.await.unwrap().run;
        bench
            .until(&run, |event| {
                matches!(&event.body, api::EventBody::Log(api::LogLine { text, .. }) if text.contains("BUILD"))
            })
            .await;
        bench.engine.cancel(&bench.tenant, &run).await.unwrap();
        let ended = bench.end_of(&run).await;
        assert_eq!(ended.state, RunState::Cancelled, "{ended:#?}");
        bench.lab.faults().clear();
        let ended = if goes_back {
            bench.rolls_back(&swing.deployment).await
        } else {
            // For the engine it can still become ready, unless a user deletes it.
            let hanging = || {
                bench.lab.model(|model| {
                    let servers = model.servers.iter();
                    let hang = servers.filter(|server| server.status.as_str() == "BUILD");
                    hang.map(|server| server.id.clone()).collect::<Vec<_>>()
                })
            };
            // Waits for the late server.
            bench
                .eventually("one hangs", async || hanging().len() == 1)
                .await;
            let compute = bench.actor.session.compute();
            compute.server_delete(&hanging()[0]).await.unwrap();
            bench.update(&swing.deployment, to(&swing.after)).await
        };
        assert_eq!(ended.state, RunState::Succeeded, "{ended:#?}");
        swing
            .is_at(usize::from(!goes_back), "after it was cancelled")
            .await;
        if !goes_back {
            swing.leads_to(&swing.before).await;
        }
    }
    swing.end().await;
}

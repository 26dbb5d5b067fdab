//! Random sequences of what users and the world do to one deployment: deploy, update, replace an active run, cancel, crash,
//! resume, roll back, suspend, take and restore snapshots, scale a group, wait at hooks and for signals, undeploy, checks and
//! commands at any time, calls that fail, and a server that is deleted by another user and repaired. After each sequence, the
//! deployment still reaches any template, the cloud holds its resources once, and an undeployment leaves nothing.
//!
//! Each day has seeds of its own, so that many runs try many sequences. A failing sequence is repeated by its seed:
//! `STACKLOOM_SEED=20783000017 cargo test -p engine --test lab random`. `STACKLOOM_SEQUENCES=10000` sets the number of sequences of
//! the ignored tests together: that many take hours without optimisation.

use std::{io::Write, ops::Range, time::Duration};

use api::{DeploymentState, FindingKind, ResourceState, RunState, ScaleRequest, StepState};
use engine::{Changes, Error, Force};
use hot::bundle::Bundle;
use lab::{CallFault, Damage, Fault};
use planner::workflow::StepKind;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use store::SealedKind;

use crate::{
    bench::{Bench, NET, TWO_SERVERS, facts, number_in},
    commands::script,
    groups::{GROUP, policy, size},
    signals::one_signal,
    sweep::{ALL_KINDS, all_changed},
    update::to,
};

/// Number of sequences of the usual test.
const FEW: u64 = 20;
/// Number of sequences of the ignored tests together, without another number in the environment.
const MANY: u64 = 400;
/// Number of the ignored tests. They share the sequences, so that each takes minutes.
const PARTS: u64 = 4;
/// Seeds of one day.
const DAY: u64 = 1_000_000;
/// Size of the group in [`GROUP`] before it is scaled.
const MEMBERS: u64 = 2;
/// Number of sequences between two lines about the progress. Whoever watches the tests ends one that is silent for long.
const REPORTED: u64 = 20;

#[tokio::test]
async fn a_deployment_survives_random_sequences() {
    Box::pin(survives(0..FEW)).await;
}

#[tokio::test]
#[ignore = "some minutes"]
async fn a_deployment_survives_a_first_part_of_many_random_sequences() {
    Box::pin(survives(part(0))).await;
}

#[tokio::test]
#[ignore = "some minutes"]
async fn a_deployment_survives_a_second_part_of_many_random_sequences() {
    Box::pin(survives(part(1))).await;
}

#[tokio::test]
#[ignore = "some minutes"]
async fn a_deployment_survives_a_third_part_of_many_random_sequences() {
    Box::pin(survives(part(2))).await;
}

#[tokio::test]
#[ignore = "some minutes"]
async fn a_deployment_survives_a_fourth_part_of_many_random_sequences() {
    Box::pin(survives(part(3))).await;
}

/// The sequences of one of the ignored tests, behind those of the usual test.
fn part(nth: u64) -> Range<u64> {
    let all = number_in("STACKLOOM_SEQUENCES").unwrap_or(MANY);
    let share = all.div_ceil(PARTS);
    FEW + nth * share..FEW + (nth + 1) * share
}

/// The first seed of today.
fn today() -> u64 {
    let days = jiff::Timestamp::now().as_second() / (24 * 3600);
    u64::try_from(days).unwrap() * DAY
}

/// Tells something at once, although output of tests is held back.
fn tell(text: &str) {
    // Nobody may be listening.
    let _ = writeln!(std::io::stdout(), "random sequences: {text}");
}

/// Sequences of today.
async fn survives(sequences: Range<u64>) {
    let seeds = match number_in("STACKLOOM_SEED") {
        Some(seed) => seed..seed + 1,
        None => today() + sequences.start..today() + sequences.end,
    };
    tell(&format!("seeds {} to {}", seeds.start, seeds.end - 1));
    let mut bench = Bench::new().await;
    let mut targets = Vec::new();
    let templates = [
        NET,
        &with_bastion(),
        &with_wait(),
        GROUP,
        ALL_KINDS,
        &all_changed(),
    ];
    for template in templates {
        let started = bench.start(template).await;
        ended(&bench, &started.deployment, &started.run).await;
        let run = bench.engine.run(&bench.tenant, &started.run).await.unwrap();
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        targets.push((template.to_owned(), types(&bench)));
        bench.undeploy(&started.deployment).await;
    }
    for seed in seeds.clone() {
        let mut walk = Walk {
            random: StdRng::seed_from_u64(seed),
            targets: &targets,
            deployment: String::new(),
            run: String::new(),
            commands: Vec::new(),
            acts: Vec::new(),
        };
        println!("seed {seed}");
        if (seed - seeds.start) % REPORTED == REPORTED - 1 {
            tell(&format!("seed {seed}"));
        }
        walk.takes_its_course(&mut bench).await;
        walk.ends_well(&bench, seed).await;
    }
}

/// Two servers, of which one is the bastion. It has no login for the engine, so a command opens it, fails, and closes it.
fn with_bastion() -> String {
    let public = "{stackloom: {public: true}}
    properties: {";
    let bastion = "{stackloom: {public: true, bastion: true}}
    properties: {security_groups: [{get_resource: ssh}], ";
    let group = "  ssh: {type: OS::Neutron::SecurityGroup}\noutputs:";
    let template = TWO_SERVERS.replace(public, bastion);
    template.replace("outputs:", group)
}

/// A network that waits for a signal.
fn with_wait() -> String {
    let later = "  later: {type: OS::Neutron::Net, depends_on: wait}\noutputs:";
    one_signal().replace("outputs:", later)
}

/// Waits for the end of a run. Meanwhile, a user releases the run when it waits at a hook, and a server signals when it waits for
/// a signal.
async fn ended(bench: &Bench, deployment: &str, run: &str) {
    let has_ended = async || {
        let run = bench.engine.run(&bench.tenant, run).await.unwrap();
        let steps = run.steps.iter();
        for step in steps.filter(|step| step.state == StepState::Running) {
            match step.kind {
                StepKind::Hook => {
                    let released = bench.engine.release_hook(&bench.tenant, &run.id, &step.id);
                    let released = released.await;
                    // The run can have gone on meanwhile.
                    let fits = matches!(released, Ok(()) | Err(Error::NotPossibleNow(_)));
                    assert!(fits, "{released:?}");
                }
                StepKind::Create | StepKind::Update if step.resource.as_deref() == Some("wait") => {
                    Box::pin(bench.signals_if_it_can(deployment)).await;
                }
                _ => {}
            }
        }
        run.state.is_final()
    };
    bench.eventually("the run ends", has_ended).await;
}

/// The types of the project's resources in the cloud.
fn types(bench: &Bench) -> Vec<String> {
    let left = bench.left();
    let mut types: Vec<_> = left
        .iter()
        .filter_map(|name| name.split(' ').next())
        .collect();
    types.sort_unstable();
    types.into_iter().map(String::from).collect()
}

/// An environment with a hook for a network and a server, if the template has them.
fn with_hooks(hook: &str) -> Bundle {
    let rules = format!("front: {{hooks: {hook}}}, web: {{hooks: {hook}}}");
    let text = format!("resource_registry: {{resources: {{{rules}}}}}\n");
    let file = "hooks.yaml".to_owned();
    Bundle::new([(file.clone(), text)], [file])
}

/// One sequence.
struct Walk<'a> {
    random: StdRng,
    /// Templates, each with the types of the project's resources when it is deployed.
    targets: &'a [(String, Vec<String>)],
    deployment: String,
    /// The newest run that is no command.
    run: String,
    /// The runs of the commands.
    commands: Vec<String>,
    /// What was done, for the message of a failure.
    acts: Vec<String>,
}

impl Walk<'_> {
    async fn takes_its_course(&mut self, bench: &mut Bench) {
        let (template, _) = self.targets.choose(&mut self.random).unwrap();
        let started = bench.start(template).await;
        (self.deployment, self.run) = (started.deployment, started.run);
        for _ in 0..self.random.random_range(2..10) {
            let act = self.random.random_range(0..132);
            let done = match act {
                0..19 => self.update(bench, None).await,
                19..25 => {
                    let last = bench.shown(&self.deployment).await.last_run;
                    self.update(bench, last).await
                }
                25..45 => self.waits(bench).await,
                45..55 => self.note(
                    "cancel",
                    bench.engine.cancel(&bench.tenant, &self.run).await,
                ),
                55..70 => {
                    bench.crash().await;
                    self.note("crash", Ok(()))
                }
                70..78 => self.note("resume", bench.engine.resume(&bench.actor, &self.run).await),
                78..83 => {
                    let cloud = facts();
                    let (actor, id) = (&bench.actor, &self.deployment);
                    let back = bench.engine.roll_back(actor, id, &cloud).await;
                    self.begins("roll back", back)
                }
                83..88 => {
                    let (actor, id) = (&bench.actor, &self.deployment);
                    let gone = bench.engine.undeploy(actor, id, Force::No).await;
                    self.begins("undeploy", gone)
                }
                88..92 => {
                    let suspended = bench.engine.suspend(&bench.actor, &self.deployment).await;
                    self.begins("suspend", suspended)
                }
                92..95 => {
                    let (actor, id) = (&bench.actor, &self.deployment);
                    let resumed = bench.engine.resume_deployment(actor, id).await;
                    self.begins("resume servers", resumed)
                }
                95..100 => self.call_fails(bench),
                100..106 => self.scales(bench).await,
                106..112 => Box::pin(self.checks(bench)).await,
                112..116 => {
                    let (actor, id) = (&bench.actor, &self.deployment);
                    let taken = bench.engine.take_snapshot(actor, id, "walk").await;
                    self.begins("take a snapshot", taken)
                }
                116..120 => Box::pin(self.restores(bench)).await,
                120..124 => Box::pin(self.loses_a_server(bench)).await,
                _ => Box::pin(self.gives_a_command(bench)).await,
            };
            self.acts.push(done);
        }
    }

    async fn update(&mut self, bench: &Bench, instead_of: Option<String>) -> String {
        let targets = self.targets;
        let at = self.random.random_range(0..targets.len());
        let hooks = ["pre-create", "post-create", "pre-update", "post-update"];
        let hook = hooks.choose(&mut self.random).copied();
        let hook = hook.filter(|_| self.random.random_bool(0.2));
        let place = instead_of.as_ref().map(|_| " in the place of a run");
        let what = format!(
            "update to {at}{}, hooks {hook:?}",
            place.unwrap_or_default()
        );
        let replaced = instead_of.clone();
        let changes = Changes {
            instead_of,
            // Without new hooks, it keeps those that there are.
            bundle: hook.map(with_hooks),
            ..to(&targets[at].0)
        };
        let deployment = &self.deployment;
        let update = Box::pin(bench.engine.update(&bench.actor, deployment, changes));
        let begun = match replaced {
            None => update.await,
            // It begins when the steps at work have ended, and they can wait for a signal.
            Some(run) => {
                let helped = async {
                    Box::pin(ended(bench, deployment, &run)).await;
                    std::future::pending::<Result<api::Started, Error>>().await
                };
                tokio::select! {
                    begun = update => begun,
                    begun = helped => begun,
                }
            }
        };
        self.begins(&what, begun)
    }

    /// Until the run and the commands end, or for a random time.
    async fn waits(&mut self, bench: &Bench) -> String {
        let patience = Duration::from_millis(self.random.random_range(1..150));
        let ended = tokio::time::timeout(patience, self.settled(bench)).await;
        format!("wait {patience:?}, ended: {}", ended.is_ok())
    }

    /// The nth call from now at a service fails once.
    fn call_fails(&mut self, bench: &Bench) -> String {
        let service = ["network", "compute", "block-storage"].choose(&mut self.random);
        let method = ["POST", "PUT", "DELETE", "GET"].choose(&mut self.random);
        let mut fault = CallFault {
            service: service.map(|one| (*one).to_owned()),
            method: method.map(|one| (*one).to_owned()),
            nth: Some(self.random.random_range(1..6)),
            ..CallFault::default()
        };
        match self.random.random_range(0..6) {
            0 => fault.damage = Some(Damage::CutAfter),
            1 => fault.damage = Some(Damage::CutBefore),
            2 => fault.damage = Some(Damage::WrongJson),
            3 => fault.status = Some(503),
            4 => fault.status = Some(409),
            _ => fault.status = Some(400),
        }
        let done = format!("{fault:?}");
        bench.lab.faults().add(Fault::Call(fault));
        done
    }

    /// By a policy, or to a size.
    async fn scales(&mut self, bench: &Bench) -> String {
        let request = match self.random.random_range(0..3) {
            0 => policy("up"),
            1 => policy("down"),
            _ => size(self.random.random_range(1..5)),
        };
        let what = format!("scale to {:?} or by {:?}", request.size, request.policy);
        let request = ScaleRequest {
            force: true,
            ..request
        };
        match bench.try_scale(&self.deployment, request).await {
            Err(Error::NotFound { .. }) => format!("{what}: there is no group"),
            scaled => self.begins(&what, scaled),
        }
    }

    /// From the newest snapshot, or deletes it.
    async fn restores(&mut self, bench: &Bench) -> String {
        let is_unwanted = self.random.random_bool(0.3);
        let (actor, id) = (&bench.actor, &self.deployment);
        let listed = bench.engine.snapshots(&bench.tenant, id).await.unwrap();
        let Some(newest) = listed.first() else {
            return "restore: there is no snapshot".to_owned();
        };
        if is_unwanted {
            let deleted = bench.engine.delete_snapshot(actor, id, &newest.id).await;
            return self.note("delete a snapshot", deleted);
        }
        let restored = bench.engine.restore_snapshot(actor, id, &newest.id).await;
        self.begins("restore", restored)
    }

    /// A command on all servers, also beside a run.
    async fn gives_a_command(&mut self, bench: &Bench) -> String {
        match bench.command(&self.deployment, script("true")).await {
            Ok(started) => {
                self.commands.push(started.run);
                self.note("command", Ok(()))
            }
            Err(Error::CommandInvalid(_)) => "command: there is no server".to_owned(),
            Err(refused) => self.note("command", Err(refused)),
        }
    }

    /// A check, also beside a run. Nobody else has deleted anything, so nothing that it has compared is gone. Only a
    /// restoration that ended early can have left a volume detached.
    async fn checks(&mut self, bench: &Bench) -> String {
        let checked = bench.engine.check(&bench.actor, &self.deployment).await;
        let check = match checked {
            Ok(check) => check,
            Err(refused) => return self.note("check", Err(refused)),
        };
        let shown = bench.shown(&self.deployment).await;
        let mut findings = check.findings.iter();
        let is_gone = findings.any(|finding| {
            finding.kind == FindingKind::Gone
                && finding.resource_type != "OS::Cinder::VolumeAttachment"
        });
        assert!(
            !is_gone || shown.present_check().is_none(),
            "{check:#?}, after {:#?}",
            self.acts
        );
        format!("check, left out: {}", check.left_out)
    }

    /// Another user deletes a server of the deployment between two runs. A check finds it, and a repair succeeds, also when
    /// the program crashes meanwhile.
    async fn loses_a_server(&mut self, bench: &mut Bench) -> String {
        bench.lab.faults().clear();
        self.settled(bench).await;
        let shown = bench.shown(&self.deployment).await;
        let servers = shown.resources.into_iter().filter(|one| {
            one.resource_type == "OS::Nova::Server" && one.state == ResourceState::Ready
        });
        let servers: Vec<String> = servers.filter_map(|one| one.physical_id).collect();
        let server = match servers.choose(&mut self.random) {
            Some(server) if shown.state == DeploymentState::Deployed => server,
            _ => return "lose a server: there is none between two runs".to_owned(),
        };
        let compute = bench.actor.session.compute();
        compute.server_delete(server).await.unwrap();
        let is_gone = async || compute.server_get(server).await.is_err();
        bench.eventually("the server is gone", is_gone).await;

        let check = bench.check(&self.deployment).await;
        assert!(check.has_damage(), "{check:#?}, after {:#?}", self.acts);
        let repair = bench.try_repair(&self.deployment, &check).await;
        let repair = repair.unwrap_or_else(|refused| panic!("{refused}, after {:#?}", self.acts));
        self.run = repair.run;
        let crashes = self.random.random_bool(0.5);
        if crashes {
            self.waits(bench).await;
            bench.crash().await;
        }
        self.settled(bench).await;
        let run = bench.engine.run(&bench.tenant, &self.run).await.unwrap();
        assert_eq!(
            run.state,
            RunState::Succeeded,
            "{run:#?}, after {:#?}",
            self.acts
        );
        format!("lose a server and repair it, crash: {crashes}")
    }

    fn begins(&mut self, what: &str, started: Result<api::Started, Error>) -> String {
        let done = match started {
            Ok(started) => {
                self.run = started.run;
                Ok(())
            }
            Err(refused) => Err(refused),
        };
        self.note(what, done)
    }

    /// What is refused must be for a reason that a user can understand.
    fn note(&self, what: &str, done: Result<(), Error>) -> String {
        match done {
            Ok(()) => what.to_owned(),
            Err(refused) => {
                let code = refused.code();
                let reasons = [
                    "run-in-progress",
                    "not-possible-now",
                    "cloud-refused",
                    "engine-unavailable",
                ];
                assert!(
                    reasons.contains(&code),
                    "{what}: {refused}, after {:#?}",
                    self.acts
                );
                format!("{what}: {code}")
            }
        }
    }

    /// Waits for the end of the run and of the commands.
    async fn settled(&self, bench: &Bench) {
        ended(bench, &self.deployment, &self.run).await;
        for command in &self.commands {
            bench.end_of(command).await;
        }
    }

    async fn ends_well(&mut self, bench: &Bench, seed: u64) {
        bench.lab.faults().clear();
        self.settled(bench).await;
        let what = format!("seed {seed}, after {:#?}", self.acts);
        let shown = bench.shown(&self.deployment).await;
        let mut resources = shown.resources.iter();
        let sleeps = resources.any(|one| one.state == ResourceState::Suspended);
        let mut is_going = false;
        if sleeps || shown.state == DeploymentState::Suspended {
            let (actor, id) = (&bench.actor, &self.deployment);
            match bench.engine.resume_deployment(actor, id).await {
                Ok(started) => {
                    let run = bench.end_of(&started.run).await;
                    assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
                }
                // Its undeployment has begun.
                Err(refused) => {
                    assert_eq!(refused.code(), "not-possible-now", "{what}");
                    is_going = true;
                }
            }
        }
        if is_going {
            let run = bench.undeploy(&self.deployment).await;
            assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
        } else if shown.state != DeploymentState::Undeployed {
            bench.delete_snapshots(&self.deployment, &what).await;
            // The cloud accepts a deletion before it carries it out.
            let gone = async || !types(bench).iter().any(|kind| kind == "snapshot");
            bench.eventually(&what, gone).await;
            let (template, resources) = self.targets.choose(&mut self.random).unwrap();
            let without_hooks = Changes {
                bundle: Some(Bundle::default()),
                ..to(template)
            };
            let (actor, id) = (&bench.actor, &self.deployment);
            let update = bench.engine.update(actor, id, without_hooks).await;
            let update = update.unwrap_or_else(|refused| panic!("{refused}, {what}"));
            ended(bench, id, &update.run).await;
            let run = bench.engine.run(&bench.tenant, &update.run).await.unwrap();
            assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
            // An update keeps the size of a group.
            let groups = bench.shown(&self.deployment).await.groups;
            if groups.iter().any(|group| group.size != MEMBERS) {
                let run = bench.scale(&self.deployment, size(MEMBERS)).await;
                assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
            }
            assert_eq!(types(bench), *resources, "{what}");
            let run = bench.undeploy(&self.deployment).await;
            assert_eq!(run.state, RunState::Succeeded, "{what}: {run:#?}");
        }
        assert_eq!(bench.left(), Vec::<String>::new(), "{what}");
        for kind in [SealedKind::Run, SealedKind::Vault] {
            assert_eq!(bench.sealed(kind).await, 0, "{kind:?}, {what}");
        }
    }
}

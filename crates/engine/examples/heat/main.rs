//! Compares the engine with the cloud's own Heat: creation and deletion of the same template, as a table.
//!
//! `heat <clouds.yaml> <servers>...`, optionally with `--ours` or `--heat` for one side only, or with `--floor` for the
//! services' time with the minimum of calls ([`bare`]). `--logs DIR` is the folder of the services' logs if they are on
//! this machine (default: the folder `log` beside the clouds file, if it exists). Both sides run on this machine, one
//! after the other, with the same services; so does Heat's engine. The Heat side is driven by this machine's
//! `openstack` command.
//!
//! Progress goes to standard error, the table to standard output. The project is always cleaned up: before the first
//! measurement, to remove leftovers of an aborted one, and at the end.

#[path = "../../tests/real/place.rs"]
#[expect(dead_code, reason = "the tests look at more")]
mod place;

mod bare;
mod broom;
mod design;
mod meter;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use api::RunState;
use arguments::Arguments;
use meter::{Meter, Taken, Who};
use place::Place;

/// The measurements of one size on one side.
#[derive(Clone, Default)]
struct Both {
    create: Taken,
    delete: Taken,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::read();
    let clouds = openstack::Clouds::from_file(&arguments.file).expect("the clouds file is good");
    let named = std::env::var("STACKLOOM_CONTRACT_CLOUD").ok();
    let name = named.unwrap_or_else(|| {
        let mut names = clouds.iter().map(|cloud| cloud.name.clone());
        names
            .find(|name| !name.contains("admin"))
            .expect("the clouds file has a cloud")
    });
    let place = Place::open(&clouds, &name).await;
    tidy(&place, &arguments, &name).await;
    let before = place.belongings().await;
    let measured = tokio::select! {
        measured = measure(&place, &arguments, &name) => Some(measured),
        _ = tokio::signal::ctrl_c() => None,
    };
    if measured.is_none() {
        eprintln!("interrupted: sweeping up");
    }
    tidy(&place, &arguments, &name).await;
    place.engine.shutdown().await;
    let left: Vec<String> = place.belongings().await;
    let left: Vec<&String> = left.iter().filter(|one| !before.contains(one)).collect();
    if !left.is_empty() {
        eprintln!("left in the project: {left:?}");
    }
    let well = left.is_empty() && measured.is_some_and(|well| well);
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Measures all sizes. Prints each line of the table when it is complete, followed by its details. True if all runs
/// succeeded.
async fn measure(place: &Place, arguments: &Arguments, name: &str) -> bool {
    if arguments.floor {
        return floor(place, arguments).await;
    }
    println!("{}", tables::HEAD);
    let mut all_well = true;
    let mut details = Vec::new();
    for &size in &arguments.sizes {
        let mut ours = Both::default();
        let mut heats = Both::default();
        if arguments.us {
            ours = by_us(place, arguments, size).await;
            all_well &= ours.create.well && ours.delete.well;
        }
        if arguments.heat {
            heats = by_heat(arguments, name, size).await;
            all_well &= heats.create.well && heats.delete.well;
        }
        println!("{}", tables::line(size, &ours, &heats));
        details.push(tables::details(size, &ours, &heats));
    }
    println!("\n{}", details.join("\n"));
    all_well
}

/// Measures the minimum of calls.
async fn floor(place: &Place, arguments: &Arguments) -> bool {
    for &size in &arguments.sizes {
        let (session, logs) = (&place.actor.session, arguments.logs.as_deref());
        let name = format!("{}-floor-{size}", broom::OURS);
        match bare::measure(session, &name, size, logs).await {
            Ok(floor) => println!("{}", tables::floor(size, &floor)),
            Err(error) => {
                eprintln!("{size} servers, by bare calls: {error}");
                return false;
            }
        }
    }
    true
}

fn say(what: &str, size: usize, who: &str, taken: &Taken) {
    let ending = if taken.well { "done" } else { "FAILED" };
    eprintln!(
        "{size} servers, {what}, {who}: {ending} after {:.1} s",
        taken.wall.as_secs_f64()
    );
}

async fn by_us(place: &Place, arguments: &Arguments, size: usize) -> Both {
    let logs = arguments.logs.as_deref();
    let mut both = Both::default();
    let mut deployment: Option<String> = None;
    for what in ["create", "delete"] {
        let meter = Meter::start(Who::Us, logs);
        let started = match &deployment {
            None => {
                let name = format!("{}-{size}", broom::OURS);
                let nothing = BTreeMap::new();
                place.deploy(&name, &design::template(size), nothing).await
            }
            Some(id) => place.undeploy(id).await,
        };
        deployment = Some(started.deployment.clone());
        let run = place.end_of(&started.run, |_| {}).await;
        let taken = meter.stop(Who::Us, run.state == RunState::Succeeded);
        for step in run.steps.iter().filter(|step| step.error.is_some()) {
            eprintln!("{}: {:?}", step.id, step.error);
        }
        say(what, size, "ours", &taken);
        match what {
            "create" => both.create = taken,
            _ => both.delete = taken,
        }
    }
    both
}

async fn by_heat(arguments: &Arguments, name: &str, size: usize) -> Both {
    let logs = arguments.logs.as_deref();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.yaml");
    std::fs::write(&path, design::template(size)).expect("a file");
    let path = path.to_string_lossy().into_owned();
    let stack = format!("{}-{size}", broom::HEATS);
    let mut both = Both::default();
    let create = ["create", "-t", &path, "--wait", "--poll", "1", &stack];
    let delete = ["delete", "--yes", "--wait", &stack];
    for (what, words, taken) in [
        ("create", &create[..], &mut both.create),
        ("delete", &delete[..], &mut both.delete),
    ] {
        let meter = Meter::start(Who::Heat, logs);
        let well = stacks(&arguments.file, name, words, Stdio::inherit()).await;
        *taken = meter.stop(Who::Heat, well);
        say(what, size, "Heat", taken);
    }
    both
}

/// Runs `openstack stack ...`. True if it succeeded.
async fn stacks(file: &Path, cloud: &str, words: &[&str], errors: Stdio) -> bool {
    let done = tokio::process::Command::new("openstack")
        .args(["--os-cloud", cloud, "stack"])
        .args(words)
        .env("OS_CLIENT_CONFIG_FILE", file)
        .stdout(Stdio::null())
        .stderr(errors)
        .status()
        .await;
    done.expect("the openstack command is there").success()
}

/// Removes the resources of both sides.
async fn tidy(place: &Place, arguments: &Arguments, name: &str) {
    if arguments.heat {
        for size in &arguments.sizes {
            let stack = format!("{}-{size}", broom::HEATS);
            // Usually the stack does not exist.
            let there = stacks(&arguments.file, name, &["show", &stack], Stdio::null()).await;
            if there {
                let words = ["delete", "--yes", "--wait", &stack];
                stacks(&arguments.file, name, &words, Stdio::inherit()).await;
            }
        }
    }
    if let Err(error) = broom::sweep(&place.actor.session).await {
        eprintln!("sweeping up: {error}");
    }
}

/// The command line, read by hand: an example has no parser.
mod arguments {
    use super::{Path, PathBuf};

    pub struct Arguments {
        pub file: PathBuf,
        pub logs: Option<PathBuf>,
        pub sizes: Vec<usize>,
        pub us: bool,
        pub heat: bool,
        pub floor: bool,
    }

    impl Arguments {
        pub fn read() -> Arguments {
            let mut words = std::env::args().skip(1);
            let mut plain = Vec::new();
            let mut logs = None;
            let (mut us, mut heat, mut floor) = (true, true, false);
            while let Some(word) = words.next() {
                match word.as_str() {
                    "--ours" => heat = false,
                    "--heat" => us = false,
                    "--floor" => (us, heat, floor) = (false, false, true),
                    "--logs" => logs = words.next().map(PathBuf::from),
                    _ => plain.push(word),
                }
            }
            let mut plain = plain.into_iter();
            let file = plain.next().expect("the first argument is a clouds.yaml");
            let file = PathBuf::from(file);
            let beside = file.parent().unwrap_or(Path::new(".")).join("log");
            let sizes = plain.map(|size| size.parse().expect("sizes are numbers"));
            Arguments {
                logs: logs.or(Some(beside).filter(|folder| folder.is_dir())),
                sizes: sizes.collect(),
                us,
                heat,
                floor,
                file,
            }
        }
    }
}

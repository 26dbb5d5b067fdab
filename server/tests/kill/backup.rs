//! A backup that is made during a run and restored on another machine.

use crate::belongings::Belongings;
use crate::program::{Program, Watched};
use crate::{IN_FLIGHT, ends_well, slow_lab, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_backup_goes_on_with_the_run_that_was_under_way() {
    let (_lab, target) = slow_lab().await;
    let before = Belongings::of(&target.session).await;
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut program = Program::start(first.path(), &target.clouds, target.horizon).await;
    program.login(&target.login()).await;
    let started = program
        .post("/api/v1/deployments", &target.deployment("restored"))
        .await;
    let run = text(&started, "run");
    let mut watched = Watched::default();
    while watched.creating().len() < IN_FLIGHT {
        assert!(!watched.is_over(), "the backup came too late");
        program.watch(&run, &mut watched).await;
    }
    let data = second.path().join("data");
    std::fs::create_dir(&data).unwrap();
    program.back_up(&data);
    // The first machine goes on: resources get ids that the backup does not have.
    let open: Vec<String> = watched.creating().into_iter().map(str::to_owned).collect();
    while open
        .iter()
        .all(|name| watched.creating().contains(&name.as_str()))
    {
        program.watch(&run, &mut watched).await;
    }
    program.kill();

    let mut restored = Program::start(second.path(), &target.clouds, target.horizon).await;
    restored.login(&target.login()).await;
    ends_well(&restored, &target, &before, &started, "restored").await;
}

//! A backup that is made during a run and restored on another machine, and keys outside of the data folder, as docs/production.md
//! says.

use std::{
    fs::File,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use store::testing::Postgres;

use crate::belongings::Belongings;
use crate::program::{Program, Watched, install_tls_provider};
use crate::servers::KEY;
use crate::{IN_FLIGHT, Target, ends_well, slow_lab, text};

/// Deploys, makes a backup while resources are being created, and stops the program when it has ids that the backup does not
/// have.
async fn deploy_and_back_up(
    program: &mut Program,
    target: &Target,
    back_up: impl FnOnce(&Program),
) -> Value {
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
    back_up(program);
    // The first machine goes on: resources get ids that the backup does not have.
    let open: Vec<String> = watched.creating().into_iter().map(str::to_owned).collect();
    while open
        .iter()
        .all(|name| watched.creating().contains(&name.as_str()))
    {
        program.watch(&run, &mut watched).await;
    }
    program.kill();
    started
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_backup_goes_on_with_the_run_that_was_under_way() {
    let (_lab, target) = slow_lab().await;
    let before = Belongings::of(&target.session).await;
    let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut program = Program::start(first.path(), &target.clouds, target.horizon).await;
    let data = second.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let started = deploy_and_back_up(&mut program, &target, |program| program.back_up(&data)).await;

    let mut restored = Program::start(second.path(), &target.clouds, target.horizon).await;
    restored.login(&target.login()).await;
    ends_well(&restored, &target, &before, &started, "restored").await;
}

/// PostgreSQL's programs, as the server's administrator.
struct Administrator<'a>(&'a Postgres);

impl Administrator<'_> {
    fn program(&self, command: &str) -> Command {
        let mut words = command.split(' ');
        let mut program = Command::new(words.next().unwrap());
        program
            .args(words)
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.0.port().to_string())
            .env("PGUSER", "postgres")
            .env("PGPASSWORD", "postgres");
        program
    }

    fn run(&self, command: &str) {
        let done = self.program(command).status();
        assert!(done.unwrap().success(), "{command}");
    }

    fn back_up(&self, file: &Path) {
        let mut dump = self.program("pg_dump --format custom stackloom");
        let done = dump.stdout(File::create(file).unwrap()).status();
        assert!(done.unwrap().success());
    }

    fn restore(&self, file: &Path) {
        let restore =
            "pg_restore --single-transaction --no-owner --role stackloom --dbname stackloom";
        let mut restore = self.program(restore);
        let done = restore.stdin(File::open(file).unwrap()).status();
        assert!(done.unwrap().success());
    }

    /// Creates the role, whose password is its name. The guide's `createuser` asks for it.
    fn create_role(&self) {
        let mut create = self.program("psql --quiet --set ON_ERROR_STOP=1");
        create.args([
            "--command",
            "CREATE ROLE stackloom LOGIN PASSWORD 'stackloom'",
        ]);
        let done = create.stdout(Stdio::null()).status();
        assert!(done.unwrap().success());
    }
}

const CREATE: &str = "createdb --owner stackloom --encoding UTF8 --template template0 stackloom";

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_backup_of_postgresql_does_the_same() {
    let (_lab, mut target) = slow_lab().await;
    // The leases in the backup end after theirs and this time.
    target.clouds += "    api_timeout: 5\n";
    let before = Belongings::of(&target.session).await;
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first, second, third] = &folders;
    let database = Postgres::start();
    let administrator = Administrator(&database);
    administrator.create_role();
    administrator.run(CREATE);
    let address = database
        .address("stackloom")
        .replace("postgres:postgres@", "stackloom:stackloom@");
    let settings = vec![
        ("STACKLOOM_DATABASE", address),
        ("STACKLOOM_KEYS", KEY.to_owned()),
        ("STACKLOOM_LEASE", "6".to_owned()),
    ];
    let start = async |folder: &Path| {
        let (clouds, horizon) = (&target.clouds, target.horizon);
        Program::start_with(folder, clouds, horizon, settings.clone()).await
    };
    let mut program = start(first.path()).await;
    let file = third.path().join("stackloom.dump");
    let started = deploy_and_back_up(&mut program, &target, |_| administrator.back_up(&file)).await;

    administrator.run("dropdb --force stackloom");
    administrator.run(CREATE);
    administrator.restore(&file);
    let mut restored = start(second.path()).await;
    restored.login(&target.login()).await;
    ends_well(&restored, &target, &before, &started, "restored").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_are_those_that_systemd_hands_over() {
    install_tls_provider();
    let [folder, credentials] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    std::fs::write(credentials.path().join("stackloom-keys"), KEY).unwrap();
    let place = credentials.path().display().to_string();
    let settings = vec![("CREDENTIALS_DIRECTORY", place)];
    let clouds = "clouds:\n  lab:\n    auth: {auth_url: 'http://127.0.0.1:9/v3'}\n";
    let horizon = Duration::from_secs(1);
    let _program = Program::start_with(folder.path(), clouds, horizon, settings).await;
    let own = folder.path().join("data/engine.key");
    assert!(!own.exists(), "it has made no key of its own");
}

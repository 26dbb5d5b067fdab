//! Each line of a program and of a package manager is logged once, whatever breaks off.

use api::EventBody;
use bytes::Bytes;
use store::{
    LogQuota,
    testing::{Database, deployment_insert_with_run, tenant},
};

use super::*;
use crate::{journal::Journal, secrets::Mask};

const NAME: &str = "0123456789abcdef-1";

/// A driver whose connection is lost, with a program that was followed until then.
struct Bench {
    driver: Driver,
    database: Database,
    _pieces: mpsc::Receiver<Piece>,
}

impl Bench {
    async fn new() -> Bench {
        let database = Database::new().await;
        let store = &database.store;
        deployment_insert_with_run(store, &tenant(), "d", "r").await;
        let patience = Duration::from_secs(60);
        let journal = Journal::start(
            store.clone(),
            LogQuota::NONE,
            Arc::default(),
            patience,
            Arc::default(),
        );
        let log = StepLog {
            journal: journal.of(&tenant(), "r", 0),
            step: "web:configure".into(),
            mask: Arc::new(Mask::default()),
        };
        let (sender, pieces) = mpsc::channel(PIECES);
        let limits = OutputLimits::default();
        let mut driver = Driver::new(log, None, Positions::new(), limits, sender);
        driver.folder = Some(JobFolder::new(("d", "web"), ("r", "web:configure", 1)));
        Bench {
            driver,
            database,
            _pieces: pieces,
        }
    }

    async fn task(&mut self, kind: TaskKind) {
        let source = LogSource::from(LogStream::Ansible);
        let begin = Order::Begin("0123456789abcdef".into(), source, kind);
        self.driver.order(begin).await;
    }

    /// Follows the program.
    fn follow(&mut self) {
        let followed = Followed {
            source: LogStream::Ansible.into(),
            out: StreamLines::from(0, Arc::default()),
            err: StreamLines::from(0, Arc::default()),
        };
        self.driver.followed.insert(NAME.into(), followed);
    }

    async fn prints(&mut self, text: &'static str) {
        let output = Output::Out(Bytes::from_static(text.as_bytes()));
        let piece = Piece::Output(NAME.into(), output);
        self.driver.piece(piece).await;
    }

    async fn package_manager_writes(&mut self, text: impl Into<Bytes>) {
        let output = Output::Out(text.into());
        let piece = Piece::Package(self.driver.begun, Some(output));
        self.driver.piece(piece).await;
    }

    /// Time passes without output.
    async fn is_silent_for(&mut self, seconds: u64) {
        let current = self.driver.current.as_mut().unwrap();
        current.since -= Duration::from_secs(seconds);
        current.say_at -= Duration::from_secs(seconds);
        self.driver.tick().await;
    }

    /// The lines of a result that are still to be logged.
    async fn ends(&mut self, program: Option<&str>, output: &str) -> Vec<String> {
        let lines = output.lines();
        let lines = lines.map(|line| (LogStream::Stdout, LogLevel::Info, line.to_owned()));
        let (answer, answered) = oneshot::channel();
        let end = Order::End(program.map(str::to_owned), lines.collect(), answer);
        self.driver.order(end).await;
        let rest = answered.await.unwrap();
        rest.into_iter().map(|(_, _, text)| text).collect()
    }

    /// The lines that were logged live.
    async fn logged(&self) -> Vec<String> {
        self.driver.log.journal.write(Vec::new()).await.unwrap();
        let events = self.database.store.event_list(&tenant(), "r", 0, 100).await;
        let mut texts = Vec::new();
        for event in events.unwrap() {
            if let EventBody::Log(line) = event.body {
                texts.push(line.text);
            }
        }
        texts
    }
}

#[tokio::test]
async fn a_result_has_the_lines_that_its_followed_program_did_not_bring() {
    let mut bench = Bench::new().await;
    bench.task(TaskKind::Other).await;
    bench.follow();
    bench.prints("one\ntwo\nthr").await;
    let rest = bench.ends(Some(NAME), "one\ntwo\nthree\nfour").await;
    assert_eq!(rest, ["three", "four"]);
    bench.prints("ee\nfour\n").await;
    assert_eq!(bench.logged().await, ["one", "two"]);
}

#[tokio::test]
async fn the_output_of_a_program_that_was_followed_to_its_end_is_not_in_its_result_again() {
    let mut bench = Bench::new().await;
    bench.task(TaskKind::Other).await;
    bench.follow();
    bench.prints("one\ntw").await;
    let complete = Piece::Complete(NAME.into(), Ok(()));
    bench.driver.piece(complete).await;
    let rest = bench.ends(Some(NAME), "one\ntw").await;
    assert!(rest.is_empty(), "{rest:?}");
    assert_eq!(bench.logged().await, ["one", "tw"]);
}

#[tokio::test]
async fn a_line_that_the_quota_cuts_is_not_logged() {
    let mut bench = Bench::new().await;
    bench.task(TaskKind::Other).await;
    bench.follow();
    bench.driver.meter = Meter::new(OutputLimits {
        bytes_max: 10,
        ..OutputLimits::default()
    });
    bench.prints("one\nsecr").await;
    bench.prints("et\ntwo\n").await;
    let complete = Piece::Complete(NAME.into(), Ok(()));
    bench.driver.piece(complete).await;
    let logged = bench.logged().await;
    assert_eq!(logged.len(), 2, "{logged:?}");
    assert!(logged[0] == "one" && logged[1].contains("is not stored"));
}

#[tokio::test]
async fn a_silent_task_is_said_to_run_less_and_less_often_until_it_has_output() {
    let mut bench = Bench::new().await;
    bench.task(TaskKind::Other).await;
    bench.follow();
    for seconds in [8, 2, 18, 2, 38, 2] {
        bench.is_silent_for(seconds).await;
    }
    bench.prints("one\n").await;
    for seconds in [8, 2] {
        bench.is_silent_for(seconds).await;
    }
    let expected = [
        "Still running after 10 s",
        "Still running after 30 s",
        "Still running after 70 s",
        "one",
        "Still running after 80 s",
    ];
    assert_eq!(bench.logged().await, expected);
}

#[tokio::test]
async fn lines_of_a_package_manager_come_once_from_its_log_and_its_result() {
    let mut bench = Bench::new().await;
    bench.task(TaskKind::Package).await;
    let reader = tokio::spawn(std::future::pending::<()>()).abort_handle();
    let (request, mut requests) = mpsc::channel(1);
    bench.driver.packages = Some(PackageLog::new(1, reader, request, Arc::default()));
    bench
        .package_manager_writes("Unpacking nginx\r\nSetting ")
        .await;
    let result = "Reading package lists\nUnpacking nginx\nSetting up nginx";
    let rest = bench.ends(None, result).await;
    assert_eq!(rest, ["Reading package lists", "Setting up nginx"]);
    assert!(
        requests.try_recv().is_ok(),
        "the rest of the log is requested"
    );
    // The rest comes too late.
    bench.package_manager_writes("up nginx\r\nLog ended").await;
    bench.driver.piece(Piece::Package(1, None)).await;
    assert_eq!(bench.logged().await, ["Unpacking nginx", "Log ended"]);
}

#[tokio::test]
async fn a_secret_at_the_length_limit_of_a_package_managers_line_is_masked() {
    let mut bench = Bench::new().await;
    let mask = bench.driver.log.mask.clone();
    mask.add("correct horse battery staple");
    bench.task(TaskKind::Package).await;
    let reader = tokio::spawn(std::future::pending::<()>()).abort_handle();
    let (request, _requests) = mpsc::channel(1);
    bench.driver.packages = Some(PackageLog::new(1, reader, request, mask));
    let begin = format!("{}correct horse", ".".repeat(256 * 1024 - 8));
    bench.package_manager_writes(begin).await;
    bench.package_manager_writes(" battery staple.\n").await;
    let logged = bench.logged().await.concat();
    assert!(logged.ends_with("...***."));
    assert!(!logged.contains("corr") && !logged.contains("staple"));
}

#[tokio::test]
async fn the_end_of_a_package_task_waits_for_the_mark_behind_its_log() {
    let reader = tokio::spawn(std::future::pending::<()>()).abort_handle();
    let (request, _requests) = mpsc::channel(1);
    let mut log = PackageLog::new(1, reader, request, Arc::default());
    log.request();
    assert_eq!(log.take(b"Unpacking nginx\n"), ["Unpacking nginx"]);
    assert!(!log.is_read());
    assert_eq!(log.take(b"Processing\n\x1e\n"), ["Processing"]);
    assert!(log.is_read());
    // The next item of a loop.
    log.request();
    assert!(!log.is_read());
    assert_eq!(log.take(b"half"), Vec::<String>::new());
    assert_eq!(log.end().as_deref(), Some("half"));
    assert!(log.is_read());
}

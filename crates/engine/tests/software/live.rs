//! Output while it is written, and programs that outlive the engine.

use api::{Event, EventBody, LogLine, LogStream, RunState};

use super::{BOOT, all_goes, on_docker, on_docker_with, story};

/// A server and its components.
fn template(network: u8, user_data: &str, components: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
parameters:
  word: {{type: string, hidden: true, default: sesame}}
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.{network}.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties:
      image: debian-12
      flavor: m1.tiny
      networks: [{{network: {{get_resource: front}}}}]
      user_data: {user_data:?}
{components}"
    )
}

fn script(text: &str) -> String {
    format!(
        "  work:
    type: Stackloom::Catalog::script
    properties: {{host: {{get_resource: web}}, script: {text:?}}}
"
    )
}

/// The log lines, each with its time in milliseconds.
fn lines(events: &[Event]) -> Vec<(i64, &LogLine)> {
    let mut lines = Vec::new();
    for event in events {
        if let EventBody::Log(line) = &event.body {
            let time: jiff::Timestamp = event.time.parse().unwrap();
            lines.push((time.as_millisecond(), line));
        }
    }
    lines
}

/// The texts of a stream of a task, by the end of its name.
fn output<'a>(events: &'a [Event], task: &str, stream: LogStream) -> Vec<&'a str> {
    let is_of_task = |line: &LogLine| line.task.as_ref().is_some_and(|name| name.ends_with(task));
    let lines = lines(events).into_iter();
    lines
        .filter(|(_, line)| line.stream == stream && is_of_task(line))
        .map(|(_, line)| line.text.as_str())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn ten_ticks_in_ten_seconds_arrive_one_by_one() {
    let bench = on_docker("engine-ticks", "172.31.50.0/24", BOOT).await;
    let ticks = "for i in {1..10}; do echo \"tick $i\"; sleep 1; done";
    let started = bench.start(&template(50, "", &script(ticks))).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let lines = lines(&events);
    let ticks: Vec<_> = lines
        .iter()
        .filter(|(_, line)| line.text.starts_with("tick "))
        .collect();
    let texts: Vec<_> = ticks.iter().map(|(_, line)| line.text.clone()).collect();
    assert_eq!(
        texts,
        (1..=10).map(|i| format!("tick {i}")).collect::<Vec<_>>()
    );
    for pair in ticks.windows(2) {
        let pause = pair[1].0 - pair[0].0;
        assert!(
            (300..4000).contains(&pause),
            "{pause} ms before {}",
            pair[1].1.text
        );
    }
    let line = ticks[0].1;
    assert_eq!(
        (line.step.as_str(), line.host.as_deref()),
        ("work:configure", Some("web"))
    );
    assert_eq!(line.play.as_deref(), Some("work on web"));
    assert_eq!(line.task.as_deref(), Some("script : Run the script"));
    assert_eq!(line.stream, LogStream::Stdout);
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_progress_bar_is_in_the_log_while_it_runs() {
    let bench = on_docker("engine-bar", "172.31.58.0/24", BOOT).await;
    let bar = "for i in {1..20}; do printf 'part %s\\r' $i; sleep 0.5; done; echo; echo end";
    let started = bench.start(&template(58, "", &script(bar))).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let texts = output(&events, "Run the script", LogStream::Stdout).into_iter();
    let (states, lines): (Vec<&str>, Vec<&str>) = texts.partition(|text| text.ends_with('\r'));
    assert!((2..=6).contains(&states.len()), "{states:?}");
    assert!(states.iter().all(|state| state.starts_with("part ")));
    let whole: Vec<String> = (1..=20).map(|part| format!("part {part}")).collect();
    assert_eq!(lines, [whole.join("\r").as_str(), "end"]);
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn every_form_of_a_program_is_live_as_it_was_written_and_hides_what_it_must() {
    let items = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/software/items");
    let bench = on_docker_with(items, "engine-forms", "172.31.51.0/24", BOOT).await;
    let forms = "  forms:
    type: Stackloom::Catalog::forms
    properties: {host: {get_resource: web}, word: {get_param: word}}
";
    let started = bench.start(&template(51, "", forms)).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let out = |task| output(&events, task, LogStream::Stdout);
    assert_eq!(out("Command"), ["by command"]);
    assert_eq!(output(&events, "Command", LogStream::Stderr), ["complaint"]);
    assert_eq!(out("Shell"), ["by shell in /etc", "from its input"]);
    assert_eq!(out(": Script"), ["by script: with an argument"]);
    assert_eq!(out("Raw"), ["by raw"]);
    assert_eq!(out("Loop"), ["item one", "item two"]);
    assert_eq!(out("Polled"), ["by polling"]);
    assert_eq!(out("Secret in two pieces"), ["the word is ***"]);
    assert_eq!(out("Colours"), ["\u{1b}[32mgrün\u{1b}[0m 10 %\r100 %"]);
    assert_eq!(out("Hidden"), [""; 0]);
    let all = format!("{events:?}");
    assert!(!all.contains("nobody sees") && !all.contains("sesame"));
    assert!(
        out("Apt")
            .concat()
            .contains("procps is already the newest version")
    );
    let engine = output(&events, "Silence", LogStream::Engine);
    assert_eq!(engine, ["Still running after 10 s"]);
    // Each line was read from the server and not from the task's result: it has a position.
    let positions = lines(&events)
        .iter()
        .filter(|(_, line)| line.position.is_some())
        .count();
    assert!(positions >= 10, "{positions}");
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_crash_in_the_middle_of_a_script_repeats_neither_the_script_nor_a_line() {
    let mut bench = on_docker("engine-crash", "172.31.52.0/24", BOOT).await;
    let text = "echo begun >> /root/begun\nfor i in {1..20}; do echo \"line $i\"; sleep 0.7; done\necho \"begun $(wc -l < /root/begun) times\"";
    let started = bench.start(&template(52, "", &script(text))).await;
    let run = started.run.clone();
    let is = |event: &Event, text: &str| matches!(&event.body, EventBody::Log(line) if line.text == text);
    bench.until(&run, |event| is(event, "line 4")).await;
    bench.crash().await;
    bench.until(&run, |event| is(event, "line 9")).await;
    bench.crash().await;
    let (ended, events) = story(&bench, &run).await;
    assert_eq!(ended.state, RunState::Succeeded, "{ended:#?}");
    let mut expected: Vec<_> = (1..=20).map(|i| format!("line {i}")).collect();
    expected.push("begun 1 times".into());
    assert_eq!(
        output(&events, "Run the script", LogStream::Stdout),
        expected
    );
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_package_manager_that_was_there_first_is_waited_for() {
    let bench = on_docker("engine-lock", "172.31.53.0/24", BOOT).await;
    let holder = "import fcntl, time; f = open('/var/lib/dpkg/lock-frontend', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); time.sleep(45)";
    let user_data = format!("#!/bin/sh\nnohup python3 -c \"{holder}\" > /dev/null 2>&1 &\n");
    let nginx = "  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: web}}
";
    let started = bench.start(&template(53, &user_data, nginx)).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let lines = lines(&events);
    let at = |text: &str| lines.iter().position(|(_, line)| line.text.contains(text));
    let waits = at("Waiting for locks on `web`: python3").expect("it says for whom");
    let begins = at("Running role `nginx`").expect("the role runs");
    assert!(waits < begins);
    // The package manager's own log, before the task's result and not again in it.
    let unpacked: Vec<_> = lines
        .iter()
        .filter(|(_, line)| line.text.starts_with("Unpacking nginx-light"))
        .collect();
    let [(unpacked, line)] = unpacked[..] else {
        panic!("{unpacked:?}");
    };
    assert_eq!(line.stream, LogStream::Stdout);
    let is_result = |line: &LogLine| {
        line.text == "changed: [web]" && line.task.as_deref() == Some("nginx : Install nginx")
    };
    let result = lines
        .iter()
        .find(|(_, line)| is_result(line))
        .expect("it is installed");
    assert!(unpacked < &result.0, "{unpacked} {}", result.0);
    all_goes(bench, &started.deployment).await;
}

//! The view of loaded lines: their order, rows and widths; excerpts; unfinished and new lines.

mod filter;
mod groups;
mod search;
mod window;

use api::LogLine;

use super::*;

fn events(lines: &[(&str, &str)]) -> Vec<Event> {
    let lines = lines.iter().enumerate();
    lines
        .map(|(index, (step, text))| Event {
            seq: index as u64 + 1,
            time: String::from("2026-01-01T00:00:00Z"),
            body: EventBody::Log(LogLine {
                step: (*step).to_owned(),
                host: None,
                play: None,
                task: None,
                stream: LogStream::Engine,
                level: if text.contains("bad") {
                    LogLevel::Error
                } else {
                    LogLevel::Info
                },
                text: (*text).to_owned(),
                position: None,
            }),
        })
        .collect()
}

fn store(lines: &[(&str, &str)]) -> LogStore {
    let mut store = LogStore::default();
    for event in events(lines) {
        store.push(event);
    }
    store
}

fn shown(store: &LogStore) -> Vec<String> {
    (0..store.len())
        .filter_map(|place| store.line(place))
        .map(|line| line.text.to_string())
        .collect()
}

#[test]
fn older_lines_come_before_the_others() {
    let mut all = events(&[("a", "1"), ("b", "2"), ("a", "3"), ("b", "4"), ("a", "5")]);
    let mut store = LogStore::default();
    store.insert(all.split_off(3), None, 4);
    assert_eq!((store.from(None), store.from(Some("a"))), (4, 4));
    assert_eq!(shown(&store), ["4", "5"]);

    let of_a = vec![all[0].clone(), all[2].clone()];
    store.insert(of_a, Some("a"), 1);
    assert_eq!(shown(&store), ["4", "5"], "lines of `b` are missing");
    assert_eq!((store.from(None), store.from(Some("a"))), (4, 1));
    store.set_view(ViewSettings {
        step: Some(String::from("a")),
        ..ViewSettings::default()
    });
    assert_eq!(shown(&store), ["1", "3", "5"]);

    store.set_view(ViewSettings::default());
    store.insert(all, None, 1);
    assert_eq!(shown(&store), ["1", "2", "3", "4", "5"]);
    assert_eq!((store.from(None), store.place_of(4)), (1, 3));
    assert_eq!(store.insertions(), (3, 3), "line 4 was the first one");
}

#[test]
fn the_last_line_of_a_quiet_step_is_known_but_not_among_the_lines_at_the_end() {
    let mut all = events(&[("web", "BUILD"), ("b", "1"), ("b", "2"), ("b", "3")]);
    let mut store = LogStore::default();
    store.insert(all.split_off(2), None, 3);
    assert_eq!(store.last_line("web"), None);
    let from = all[0].seq;
    store.insert(vec![all[0].clone()], Some("web"), from);
    assert_eq!(store.last_line("web").as_deref(), Some("BUILD"));
    assert_eq!(shown(&store), ["2", "3"]);
}

#[test]
fn wrapped_lines_take_rows() {
    let mut store = store(&[("a", "12345678901"), ("a", ""), ("a", "1234567890")]);
    store.set_view(ViewSettings {
        wrap: Some(5),
        ..ViewSettings::default()
    });
    assert_eq!(store.rows(), 3 + 1 + 2);
    assert_eq!(
        (0..3).map(|place| store.row_of(place)).collect::<Vec<_>>(),
        [0, 3, 4]
    );
    assert_eq!(
        (0..6).map(|row| store.place_at(row)).collect::<Vec<_>>(),
        [0, 0, 0, 1, 2, 2]
    );
    assert_eq!(store.place_at(99), 2);
}

#[test]
fn colours_do_not_count_in_the_width_of_a_line() {
    let store = store(&[("a", "\u{1b}[31mred\u{1b}[0m")]);
    assert_eq!(store.line(0).map(|line| line.columns), Some(3));
    assert_eq!(store.widest(), 3);
}

#[test]
fn an_excerpt_has_the_error_lines_or_the_last_ones() {
    let store = store(&[
        ("a", "bad thing"),
        ("a", "fine"),
        ("a", "bad end"),
        ("a", "the reason, bad"),
        ("b", "one"),
        ("b", "two"),
        ("b", "three"),
    ]);
    assert_eq!(
        store.excerpt("a", "the reason, bad", 3),
        ["bad thing", "bad end"]
    );
    assert_eq!(store.excerpt("b", "", 2), ["two", "three"]);
    assert!(store.excerpt("c", "", 2).is_empty());
}

#[test]
fn an_excerpt_has_the_programs_own_last_words() {
    let mut all = events(&[
        ("a", "one"),
        ("a", "two"),
        ("a", "bad result"),
        ("a", "bad"),
    ]);
    for event in &mut all[..2] {
        if let EventBody::Log(line) = &mut event.body {
            line.stream = LogStream::Stderr;
        }
    }
    let mut store = LogStore::default();
    all.into_iter().for_each(|event| store.push(event));
    assert_eq!(store.excerpt("a", "", 1), ["two"]);
    assert_eq!(store.excerpt("a", "it said two", 3), ["one", "two"]);
    assert_eq!(store.last_line("a").as_deref(), Some("bad"));
    assert_eq!(store.last_line("b"), None);
}

#[test]
fn a_copied_line_has_time_and_step_and_what_a_terminal_shows() {
    assert_eq!(
        plain_text(&events(&[
            ("a:create", "\u{1b}[1mhi"),
            ("b", "10 %\r100 %")
        ])),
        "00:00:00Z  a:create  hi\n00:00:00Z  b  100 %\n"
    );
}

/// Lines of two tasks on two servers, as Ansible gives them, with a program's output in between.
fn of_tasks() -> LogStore {
    let lines = [
        ("one", None, LogStream::Ansible, "TASK [one]"),
        ("one", Some("web-1"), LogStream::Stdout, "Unpacking"),
        ("one", Some("web-1"), LogStream::Ansible, "changed: [web-1]"),
        ("one", Some("web-2"), LogStream::Ansible, "ok: [web-2]"),
        ("two", None, LogStream::Ansible, "TASK [two]"),
        ("two", Some("web-1"), LogStream::Ansible, "failed: [web-1]"),
    ];
    let mut store = store(&[("web", "starts")]);
    for (index, (task, host, stream, text)) in lines.into_iter().enumerate() {
        store.push(Event {
            seq: index as u64 + 2,
            time: format!("2026-01-01T00:00:{:02}Z", index * 2),
            body: EventBody::Log(LogLine {
                step: String::from("web"),
                host: host.map(str::to_owned),
                play: Some(String::from("all")),
                task: Some(task.to_owned()),
                stream,
                level: if text.starts_with("failed") {
                    LogLevel::Error
                } else {
                    LogLevel::Info
                },
                text: text.to_owned(),
                position: None,
            }),
        });
    }
    store
}

/// A progress bar with a line of another stream in between, as the engine stores them.
fn of_bar() -> Vec<Event> {
    let mut all = events(&[
        ("a", "begin"),
        ("a", "10 %\r"),
        ("b", "10 %\r"),
        ("a", "50 %\r"),
        ("a", "other"),
        ("a", "100 %"),
    ]);
    for (at, event) in all.iter_mut().enumerate() {
        if let EventBody::Log(line) = &mut event.body
            && at != 4
        {
            line.stream = LogStream::Stdout;
        }
    }
    all
}

#[test]
fn a_progress_bar_is_one_row_that_is_replaced() {
    let mut store = LogStore::default();
    store.set_view(ViewSettings {
        wrap: Some(2),
        needle: String::from("0 %"),
        ..ViewSettings::default()
    });
    let mut seen = Vec::new();
    for event in of_bar() {
        store.push(event);
        seen.push(shown(&store));
    }
    assert_eq!(seen[1], ["begin", "10 %"]);
    assert_eq!(seen[3], ["begin", "10 %", "50 %"], "of `b` and of `a`");
    assert_eq!(seen[5], ["begin", "10 %", "other", "100 %"]);
    let rows: Vec<u32> = (0..4).map(|place| store.row_of(place)).collect();
    assert_eq!((rows, store.rows()), (vec![0, 3, 5, 8], 11));
    assert_eq!((store.hits(), store.hit(1)), (2, Some(6)));

    // Loaded afterwards, it is the same.
    let mut loaded = LogStore::default();
    loaded.insert(of_bar().split_off(3), None, 4);
    loaded.insert(of_bar()[..3].to_vec(), None, 1);
    assert_eq!(shown(&loaded), seen[5]);
    assert_eq!(loaded.excerpt("a", "", 9), ["begin", "100 %"]);
}

#[test]
fn older_lines_that_are_loaded_do_not_count_as_new() {
    let mut older = events(&[("a", "1"), ("a", "2"), ("a", "3"), ("a", "4")]);
    let mut store = LogStore::default();
    store.insert(older.split_off(2), None, 3);
    store.set_view(ViewSettings::default());
    let seen = store.newest();
    assert_eq!(
        (seen, store.newer_than(seen), store.newer_than(3)),
        (4, 0, 1)
    );
    store.insert(older, None, 1);
    assert_eq!(
        (store.len(), store.newer_than(seen), store.newer_than(3)),
        (4, 0, 1)
    );
}

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
fn a_filter_of_one_step_applies_to_new_lines_too() {
    let mut store = store(&[("a", "one"), ("b", "two"), ("a", "three")]);
    store.set_view(ViewSettings {
        step: Some(String::from("a")),
        ..ViewSettings::default()
    });
    assert_eq!(shown(&store), ["one", "three"]);
    store.set_view(ViewSettings::default());
    assert_eq!(shown(&store), ["one", "two", "three"]);
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
fn search_results_are_counted_in_the_filtered_log() {
    let mut store = store(&[("a", "an Error"), ("b", "fine"), ("a", "ERROR again")]);
    store.set_view(ViewSettings {
        needle: String::from("error"),
        ..ViewSettings::default()
    });
    assert_eq!((store.hits(), store.hit(1)), (2, Some(3)));
    store.set_view(ViewSettings {
        needle: String::from("error"),
        step: Some(String::from("a")),
        ..ViewSettings::default()
    });
    assert_eq!((store.hits(), store.hit(1)), (2, Some(3)));
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

#[test]
fn a_folded_task_has_its_first_line_and_its_results() {
    let mut store = of_tasks();
    let (one, facts) = store.group_at(1).unwrap();
    assert_eq!(facts.summary(), "1 changed, 1 ok, 4 lines");
    assert_eq!(facts.span_ms.1 - facts.span_ms.0, 6_000.0);
    assert!(store.group_at(2).is_none(), "not the first line");
    let mut folds = Folds::default();
    folds.toggle(one);
    store.set_view(ViewSettings {
        folds,
        ..ViewSettings::default()
    });
    assert_eq!(
        shown(&store),
        ["starts", "TASK [one]", "TASK [two]", "failed: [web-1]"]
    );
    store.set_view(ViewSettings {
        folds: Folds {
            all_tasks: true,
            ..Folds::default()
        },
        ..ViewSettings::default()
    });
    assert_eq!(shown(&store), ["starts", "TASK [one]", "TASK [two]"]);
    assert_eq!(store.filtered(), 0, "folded lines are not filtered ones");
}

#[test]
fn a_folded_play_has_its_heading_and_the_results_of_its_tasks() {
    let lines = [
        (None, "PLAY [shop on web]"),
        (Some("one"), "TASK [one]"),
        (Some("one"), "changed: [web]"),
        (Some("two"), "TASK [two]"),
        (Some("two"), "failed: [web]"),
        (None, "PLAY [shop on web]"),
        (Some("one"), "TASK [one]"),
        (Some("one"), "ok: [web]"),
    ];
    let mut store = LogStore::default();
    for (index, (task, text)) in lines.into_iter().enumerate() {
        store.push(Event {
            seq: index as u64 + 1,
            time: format!("2026-01-01T00:00:{index:02}Z"),
            body: EventBody::Log(LogLine {
                step: String::from("shop:configure"),
                host: task.map(|_| String::from("web")),
                play: Some(String::from("shop on web")),
                task: task.map(str::to_owned),
                stream: LogStream::Ansible,
                level: LogLevel::Info,
                text: text.to_owned(),
                position: None,
            }),
        });
    }
    let (first, facts) = store.group_at(0).unwrap();
    assert_eq!(facts.summary(), "1 failed, 1 changed, 5 lines");
    assert_eq!(facts.span_ms.1 - facts.span_ms.0, 4_000.0);
    let (again, facts) = store.group_at(5).unwrap();
    assert_eq!(facts.summary(), "1 ok, 3 lines", "of a second attempt");
    assert_ne!(first, again);
    let (task, _) = store.group_at(1).unwrap();
    assert_eq!((first.word(), task.word()), ("play", "task"));

    let folded = |folds: Folds| ViewSettings {
        folds,
        ..ViewSettings::default()
    };
    let mut folds = Folds::default();
    folds.toggle(first);
    store.set_view(folded(folds.clone()));
    assert_eq!(
        shown(&store),
        [
            "PLAY [shop on web]",
            "PLAY [shop on web]",
            "TASK [one]",
            "ok: [web]"
        ]
    );
    folds.all_plays = true;
    store.set_view(folded(folds));
    assert_eq!(shown(&store).len(), 6, "the others are folded instead");

    // Without its heading, the first line that passes the filter unfolds the play.
    store.set_view(ViewSettings {
        folds: Folds {
            all_plays: true,
            ..Folds::default()
        },
        filter: Filter {
            hosts: vec![String::from("web")],
            ..Filter::default()
        },
        ..ViewSettings::default()
    });
    assert_eq!(shown(&store).len(), 2);
    assert_eq!(store.group_at(0).map(|(id, _)| id), Some(first));
}

#[test]
fn lines_are_filtered_by_source_level_and_server() {
    let mut store = of_tasks();
    assert_eq!(store.hosts(), ["web-1", "web-2"]);
    let mut filtered = |filter: Filter| {
        store.set_view(ViewSettings {
            filter,
            ..ViewSettings::default()
        });
        (shown(&store), store.filtered())
    };
    let (lines, hidden) = filtered(Filter {
        hidden: vec![LogStream::Ansible, LogStream::Engine],
        ..Filter::default()
    });
    assert_eq!((lines, hidden), (vec![String::from("Unpacking")], 6));
    let (lines, _) = filtered(Filter {
        level: Some(LogLevel::Warning),
        ..Filter::default()
    });
    assert_eq!(lines, ["failed: [web-1]"]);
    let (lines, _) = filtered(Filter {
        hosts: vec![String::from("web-2")],
        ..Filter::default()
    });
    assert_eq!(lines, ["ok: [web-2]"]);
    let (lines, _) = filtered(Filter {
        hidden: vec![LogStream::Stdout],
        hosts: vec![String::from("web-2"), String::from("web-1")],
        ..Filter::default()
    });
    assert_eq!(
        lines,
        ["changed: [web-1]", "ok: [web-2]", "failed: [web-1]"]
    );
}

#[test]
fn a_filter_is_a_query_of_the_file() {
    let all = Filter::default();
    assert_eq!(all.query(None, None), "");
    assert_eq!(
        all.query(Some("web"), Some(3..=5)),
        "&step=web&after=2&before=6"
    );
    let some = Filter {
        hidden: vec![LogStream::Engine, LogStream::Console, LogStream::Ansible],
        level: Some(LogLevel::Error),
        hosts: vec![String::from("web-1"), String::from("web-2")],
    };
    assert_eq!(
        some.query(None, None),
        "&stream=stdout,stderr&level=error&host=web-1,web-2"
    );
    let none = Filter {
        hidden: STREAMS.to_vec(),
        ..Filter::default()
    };
    assert_eq!(
        none.query(None, None),
        "&stream=&before=1",
        "no lines at all"
    );
}

#[test]
fn a_task_that_begins_again_is_another_group() {
    let mut store = of_tasks();
    let again = |seq: u64, text: &str| Event {
        seq,
        time: format!("2026-01-01T00:01:{seq:02}Z"),
        body: EventBody::Log(LogLine {
            step: String::from("web"),
            host: None,
            play: Some(String::from("all")),
            task: Some(String::from("one")),
            stream: LogStream::Ansible,
            level: LogLevel::Info,
            text: text.to_owned(),
            position: None,
        }),
    };
    store.push(again(8, "TASK [one]"));
    store.push(again(9, "changed: [web-2]"));
    let (first, facts) = store.group_at(1).unwrap();
    assert_eq!(facts.summary(), "1 changed, 1 ok, 4 lines");
    let (second, facts) = store.group_at(7).unwrap();
    assert_eq!(facts.summary(), "1 changed, 2 lines");
    assert_ne!(first, second);
    let mut folds = Folds::default();
    folds.toggle(second);
    store.set_view(ViewSettings {
        folds,
        ..ViewSettings::default()
    });
    assert_eq!(shown(&store).len(), 8, "only its result is folded away");

    // Older lines leave the groups as they are.
    store.insert(events(&[("web", "starts")]), None, 1);
    assert!(store.is_folded(second) && !store.is_folded(first));
    assert_eq!(
        (store.group_at(7).map(|(id, _)| id), shown(&store).len()),
        (Some(second), 8)
    );
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
fn hits_in_lines_that_are_not_loaded_come_before_the_others() {
    let mut all = events(&[
        ("a", "one"),
        ("b", "one"),
        ("a", "two"),
        ("a", "one"),
        ("b", "one"),
    ]);
    let mut store = LogStore::default();
    store.insert(all.split_off(3), None, 4);
    let search = |step: Option<&str>| ViewSettings {
        needle: String::from("one"),
        step: step.map(str::to_owned),
        ..ViewSettings::default()
    };
    store.set_view(search(None));
    assert_eq!((store.hits(), store.search_before()), (2, Some(4)));

    let older = |lines: &[usize], from| api::LogHits {
        lines: lines.iter().map(|at| all[*at].clone()).collect(),
        from,
    };
    store.add_older_hits("one", None, older(&[1], 2));
    store.add_older_hits("other", None, older(&[0], 1));
    assert_eq!((store.hits(), store.search_before()), (3, Some(2)));
    store.add_older_hits("one", None, older(&[0], 1));
    assert_eq!((store.hits(), store.search_before()), (4, None));
    let found: Vec<_> = (0..4).filter_map(|number| store.hit(number)).collect();
    assert_eq!(found, [1, 2, 4, 5]);

    // A line that is loaded later is counted once.
    store.insert(vec![all[1].clone(), all[2].clone()], None, 2);
    assert_eq!((store.hits(), store.hit(1)), (4, Some(2)));
    store.set_view(search(Some("a")));
    assert_eq!((store.hits(), store.search_before()), (1, Some(2)));
}

/// Ten lines of two steps in turn, of which the last two are loaded.
fn long() -> (LogStore, Vec<Event>) {
    let lines: Vec<(&str, String)> = (1..=10)
        .map(|number| (if number % 2 == 1 { "a" } else { "b" }, number.to_string()))
        .collect();
    let lines: Vec<(&str, &str)> = lines
        .iter()
        .map(|(step, text)| (*step, text.as_str()))
        .collect();
    let all = events(&lines);
    let mut store = LogStore::default();
    store.insert(all[8..].to_vec(), None, 9);
    (store, all)
}

#[test]
fn a_window_far_before_the_end_grows_until_it_joins_the_end() {
    let (mut store, all) = long();
    store.open_window(all[3..5].to_vec(), None, 4..6);
    assert_eq!(shown(&store), ["4", "5"]);
    assert_eq!((store.from(None), store.window()), (9, Some(4..6)));
    let (insertions, moved) = store.insertions();

    store.extend_window(all[1..3].to_vec(), None, 2..4);
    assert_eq!(shown(&store), ["2", "3", "4", "5"]);
    assert_eq!(
        store.insertions(),
        (insertions + 1, moved + 2),
        "line 4 moves"
    );
    store.extend_window(all[5..7].to_vec(), None, 6..8);
    assert_eq!(shown(&store), ["2", "3", "4", "5", "6", "7"]);
    assert_eq!(store.insertions(), (insertions + 2, moved + 2));
    store.extend_window(all[..1].to_vec(), None, 1..1);
    assert_eq!(store.window(), Some(2..8), "it does not touch the window");

    store.extend_window(all[7..].to_vec(), None, 8..u64::MAX);
    let numbers: Vec<String> = (2..=10).map(|number| number.to_string()).collect();
    assert_eq!(shown(&store), numbers);
    assert_eq!((store.from(None), store.window()), (2, None));
}

#[test]
fn a_window_that_is_left_leaves_no_gap_behind() {
    let (mut store, all) = long();
    store.open_window(all[3..5].to_vec(), None, 4..6);
    let mut new = all[9].clone();
    new.seq = 11;
    store.push(new);
    assert_eq!(shown(&store), ["4", "5"], "a new line is at the end");
    store.leave_window();
    assert_eq!(shown(&store), ["9", "10", "10"]);
    // An answer that comes too late.
    store.extend_window(all[5..6].to_vec(), None, 6..7);
    assert_eq!((shown(&store).len(), store.window()), (3, None));

    // All lines.
    store.open_window(all[3..5].to_vec(), None, 4..6);
    store.insert(all[..8].to_vec(), None, 1);
    assert_eq!((shown(&store).len(), store.window()), (11, None));
}

#[test]
fn a_window_is_of_the_step_of_the_view() {
    let (mut store, all) = long();
    let of_a = |numbers: &[usize]| {
        numbers
            .iter()
            .map(|number| all[number - 1].clone())
            .collect::<Vec<_>>()
    };
    let view = |step: Option<&str>| ViewSettings {
        step: step.map(str::to_owned),
        ..ViewSettings::default()
    };
    store.open_window(of_a(&[3, 5]), Some("a"), 2..6);
    assert_eq!(store.window(), None, "the view has all steps");
    store.set_view(view(Some("a")));
    store.open_window(of_a(&[3, 5]), Some("a"), 2..6);
    assert_eq!(shown(&store), ["3", "5"]);
    store.set_view(view(None));
    assert_eq!(shown(&store), ["9", "10"]);
    store.set_view(view(Some("a")));
    assert_eq!(
        shown(&store),
        ["9"],
        "the lines of the window have gaps around them"
    );

    store.open_window(of_a(&[3, 5]), Some("a"), 2..6);
    store.extend_window(of_a(&[7, 9]), Some("a"), 6..u64::MAX);
    assert_eq!(shown(&store), ["3", "5", "7", "9"]);
    assert_eq!((store.from(Some("a")), store.from(None)), (2, 9));
}

#[test]
fn hits_keep_their_order_while_a_window_is_open() {
    let mut all = events(&[
        ("a", "one"),
        ("a", "two"),
        ("a", "one"),
        ("a", "two"),
        ("a", "one"),
    ]);
    let mut store = LogStore::default();
    store.insert(all.split_off(4), None, 5);
    store.set_view(ViewSettings {
        needle: String::from("one"),
        ..ViewSettings::default()
    });
    let older = api::LogHits {
        lines: vec![all[0].clone(), all[2].clone()],
        from: 1,
    };
    store.add_older_hits("one", None, older);
    let hits = |store: &LogStore| {
        (0..4)
            .filter_map(|number| store.hit(number))
            .collect::<Vec<_>>()
    };
    assert_eq!(hits(&store), [1, 3, 5]);
    store.open_window(all[2..3].to_vec(), None, 3..4);
    assert_eq!(
        (shown(&store), hits(&store)),
        (vec![String::from("one")], vec![1, 3, 5])
    );
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

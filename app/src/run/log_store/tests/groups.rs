//! Plays and tasks as groups that are folded.

use super::*;

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

/// A line of the task `one`, at a second of a minute that is its number.
fn line_of_task(minute: u32, seq: u64, text: &str) -> Event {
    Event {
        seq,
        time: format!("2026-01-01T00:{minute:02}:{seq:02}Z"),
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
    }
}

#[test]
fn a_task_whose_beginning_is_not_loaded_says_so() {
    let line = |seq, text| line_of_task(0, seq, text);
    let begin = vec![line(1, "TASK [one]"), line(2, "ok: [web-1]")];
    let end = vec![line(3, "ok: [web-2]"), line(4, "changed: [web-3]")];
    let mut store = LogStore::default();
    store.insert(end, None, 3);
    let (_, facts) = store.group_at(0).unwrap();
    assert!(!facts.has_heading);
    assert_eq!(facts.summary(), "1 changed, 1 ok, 2 lines loaded");
    store.insert(begin, None, 1);
    let (_, facts) = store.group_at(0).unwrap();
    assert!(facts.has_heading);
    assert_eq!(facts.summary(), "1 changed, 2 ok, 4 lines");
}

#[test]
fn a_task_that_begins_again_is_another_group() {
    let mut store = of_tasks();
    let again = |seq, text| line_of_task(1, seq, text);
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

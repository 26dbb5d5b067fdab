//! Filters by step, source, level and server, and the query of the log's file.

use super::*;

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
fn a_filter_is_read_from_the_query_of_an_address() {
    let read = |query: &str| {
        let fields = query.split('&').filter_map(|field| field.split_once('='));
        let fields: HashMap<&str, &str> = fields.collect();
        Filter::of_query(|name| fields.get(name).map(|value| (*value).to_owned()))
    };
    let filters = [
        Filter::default(),
        Filter {
            hidden: vec![LogStream::Ansible, LogStream::Engine],
            level: Some(LogLevel::Warning),
            hosts: vec![String::from("web-1"), String::from("web-2")],
        },
        Filter {
            hidden: STREAMS.to_vec(),
            ..Filter::default()
        },
    ];
    for filter in filters {
        assert_eq!(read(&filter.query(Some("web"), None)), filter);
    }
    assert_eq!(read("&level=loud&step=web"), Filter::default());
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

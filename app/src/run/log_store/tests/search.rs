//! Search results, also those in lines that are not loaded.

use super::*;

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

//! The window far before the loaded end.

use super::*;

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

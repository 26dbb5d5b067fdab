//! The engine against the lab cloud in memory, without software.

#![expect(clippy::unwrap_used, reason = "a helper's panic is its test's failure")]

mod attributes;
mod bench;
mod beside;
mod checked;
mod commands;
mod compose;
mod configs;
mod endings;
mod faults;
mod figures;
mod foresight;
mod groups;
mod hand_over;
mod hidden;
mod hooks;
mod keys;
mod kinds;
mod late;
mod life;
mod live;
#[path = "../common/marked.rs"]
mod marked;
#[path = "../../../lab/tests/common/measure.rs"]
mod measure;
mod names;
mod own_items;
mod people;
mod permission;
mod random;
mod rare;
mod repair;
mod replace;
mod retained;
mod roll_back;
mod rolling;
mod scale;
mod signals;
mod snapshots;
mod stranded;
mod suspension;
mod sweep;
mod takeover;
mod terminals;
mod things;
mod update;

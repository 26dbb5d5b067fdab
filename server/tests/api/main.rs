//! The server with browsers and scripts as clients: over HTTP, with its own port and database. One binary for all
//! tests, because each would link the whole program.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shall fail")]

mod keystone;
mod stack;

mod alarm;
mod attacks;
mod audit;
mod catalog;
mod checks;
mod commands;
mod designs;
mod disk;
mod exports;
mod foresight;
mod groups;
mod heat_templates;
mod hooks;
mod imports;
mod lab;
mod limits;
mod login;
mod logs;
mod outage;
mod pages;
mod permission;
mod plans;
mod pulse;
mod replace;
mod requests;
mod runs;
mod sandboxes;
mod security;
mod sessions;
mod signals;
mod snapshots;
mod stream;
mod suspension;
mod terminal;

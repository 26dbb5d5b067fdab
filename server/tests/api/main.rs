//! The server as a browser and a script see it: over HTTP, on a port of its own, with a database of
//! its own. One binary, as each would link the whole program.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shall fail")]

mod keystone;
mod stack;

mod catalog;
mod designs;
mod exports;
mod foresight;
mod imports;
mod lab;
mod login;
mod pages;
mod requests;
mod security;
mod sessions;
mod stream;

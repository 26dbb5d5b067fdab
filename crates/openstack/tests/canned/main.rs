//! Tests of the client against a cloud of canned responses.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod calls;
mod endpoints;
mod failures;
mod login;
mod second_factor;
mod support;
mod tls;

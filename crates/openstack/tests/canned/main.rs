//! Tests of the client against a cloud of canned responses.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod calls;
mod factors;
mod hiccups;
mod login;
mod places;
mod support;
mod tls;

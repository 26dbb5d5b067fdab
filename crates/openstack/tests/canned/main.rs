//! The client against a cloud of canned answers.

mod calls;
mod login;
mod support;

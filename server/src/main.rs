//! The axum program.
fn main() {}

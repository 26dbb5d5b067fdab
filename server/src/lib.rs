//! The axum program.

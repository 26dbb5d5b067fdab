//! The image of sandboxes in tests.

/// The image of sandboxes: `STACKLOOM_SANDBOX_IMAGE`, or else the default.
pub fn sandbox_image() -> String {
    std::env::var("STACKLOOM_SANDBOX_IMAGE")
        .unwrap_or_else(|_| engine::config::SANDBOX_IMAGE.into())
}

//! Errors in the configuration of a cloud.

/// An unusable configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// The file does not exist or is not readable.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        why: String,
    },
    /// The file is not YAML, or has a wrong structure.
    #[error("{path} is not a valid clouds file: {why}")]
    Invalid {
        /// Path of the file.
        path: String,
        /// Reason and position.
        why: String,
    },
    /// A required setting of a cloud is missing or invalid.
    #[error("cloud `{cloud}`: {why}")]
    Cloud {
        /// Name of the cloud.
        cloud: String,
        /// Reason.
        why: String,
    },
}

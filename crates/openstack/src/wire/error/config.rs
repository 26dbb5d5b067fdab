//! Errors in the configuration of a cloud.

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there or not readable.
    #[error("cannot read {path}: {why}")]
    Unreadable {
        /// Which file.
        path: String,
        /// What the system said.
        why: String,
    },
    /// The file is not YAML, or not of the form that it should be.
    #[error("{path} is not a valid clouds file: {why}")]
    Invalid {
        /// Which file.
        path: String,
        /// What is wrong, and where.
        why: String,
    },
    /// A cloud lacks what it needs, or has it in a form that we cannot use.
    #[error("cloud `{cloud}`: {why}")]
    Cloud {
        /// Its name.
        cloud: String,
        /// What is wrong.
        why: String,
    },
}

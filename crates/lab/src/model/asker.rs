//! Who asks for something. What they may see hangs on it: what another project has for itself alone is not there for them.

/// A user in a project.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The project.
    pub project_id: &'a str,
    /// The user.
    pub user_id: &'a str,
    /// Whether the user sees what is others'.
    pub admin: bool,
}

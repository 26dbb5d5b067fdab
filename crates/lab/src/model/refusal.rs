//! A request that the cloud refuses: what every service would say, before each service says it in its own words.
//!
//! The model decides *that* and *why*; the HTTP side decides the body (`http::answer`), since Nova, Neutron, Keystone, Glance
//! and Barbican each wrap the same facts differently.

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status that the real service answers with.
    pub status: u16,
    /// The exception's name; Neutron shows it as `type`, the others keep it to themselves.
    pub kind: &'static str,
    /// The sentence, in the real service's wording.
    pub message: String,
}

impl Refusal {
    /// A refusal with all its parts.
    pub fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
        }
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "HTTPBadRequest", message)
    }

    /// 400 for an attribute's value, as Neutron words it.
    pub fn invalid_input(attribute: &str, reason: impl std::fmt::Display) -> Self {
        Self::bad_request(format!("Invalid input for {attribute}. Reason: {reason}."))
    }

    /// 400 for what a body asks for, as Neutron words it.
    pub fn invalid_operation(reason: impl std::fmt::Display) -> Self {
        Self::new(
            400,
            "InvalidInput",
            format!("Invalid input for operation: {reason}."),
        )
    }

    /// 401, as every service and its token middleware words it.
    pub fn unauthorized() -> Self {
        Self::new(
            401,
            "Unauthorized",
            "The request you have made requires authentication.",
        )
    }

    /// 403.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "PolicyNotAuthorized", message)
    }

    /// 404.
    pub fn not_found(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(404, kind, message)
    }

    /// 409.
    pub fn conflict(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(409, kind, message)
    }
}

//! Endpoints of services.

use reqwest::Url;

/// URL of the supported API version, and the microversions of the service.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Endpoint {
    /// URL without a trailing slash.
    pub base: Url,
    /// Lowest and highest microversion. `None` without microversions.
    pub microversions: Option<(Microversion, Microversion)>,
}

/// A microversion of an API: `2.52`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Microversion(pub u32, pub u32);

impl Microversion {
    pub(crate) fn parse(text: &str) -> Option<Microversion> {
        let (major, minor) = text.split_once('.')?;
        Some(Microversion(major.parse().ok()?, minor.parse().ok()?))
    }
}

impl std::fmt::Display for Microversion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

//! Microversion negotiation.
//!
//! Nova and Cinder negotiate alike: a request header, the oldest version without it, 406 outside of the range, and the
//! version in every response, errors included. The router does this before the handlers, which only read
//! [`Microversion`].

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};

use crate::kit::refusal::Refusal;

/// A microversion, as major and minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Microversion(pub u16, pub u16);

impl std::fmt::Display for Microversion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The supported microversions of a service.
#[derive(Debug)]
pub struct Range {
    /// The service's name in `OpenStack-API-Version`.
    service: &'static str,
    /// The service's legacy header, older than `OpenStack-API-Version`.
    own_header: Option<&'static str>,
    /// The oldest microversion, the default of requests without one.
    pub oldest: Microversion,
    /// The newest microversion.
    pub newest: Microversion,
}

/// Nova's range in the OpenStack release Zed.
pub static COMPUTE: Range = Range {
    service: "compute",
    own_header: Some("x-openstack-nova-api-version"),
    oldest: Microversion(2, 1),
    newest: Microversion(2, 93),
};

/// Cinder's range in the OpenStack release Zed.
pub static VOLUME: Range = Range {
    service: "volume",
    own_header: None,
    oldest: Microversion(3, 0),
    newest: Microversion(3, 70),
};

impl Range {
    /// The range of a service, by its name in the catalogue, if it has microversions.
    pub fn of(service: &str) -> Option<&'static Range> {
        match service {
            "compute" => Some(&COMPUTE),
            "block-storage" => Some(&VOLUME),
            _ => None,
        }
    }

    /// The microversion of a request.
    pub fn requested(&self, headers: &HeaderMap) -> Result<Microversion, Refusal> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        // One header can name several services.
        let all = headers.get_all("openstack-api-version").iter();
        let mut words = all
            .filter_map(|value| value.to_str().ok())
            .flat_map(|all| all.split(','))
            .filter_map(|one| one.trim().split_once(' '));
        let shared = words
            .find(|(service, _)| *service == self.service)
            .map(|(_, version)| version.trim());
        let requested = match shared.or_else(|| self.own_header.and_then(text)) {
            None => return Ok(self.oldest),
            Some("latest") => return Ok(self.newest),
            Some(requested) => requested.trim(),
        };
        let parsed = requested
            .split_once('.')
            .and_then(|(a, b)| Some(Microversion(a.parse().ok()?, b.parse().ok()?)));
        let version = parsed.ok_or_else(|| {
            Refusal::bad_request(format!(
                "API Version String {requested} is of invalid format. Must be of format MajorNum.MinorNum."
            ))
        })?;
        if version < self.oldest || version > self.newest {
            return Err(Refusal::new(
                406,
                "InvalidGlobalAPIVersion",
                format!(
                    "Version {requested} is not supported by the API. Minimum is {} and maximum is {}.",
                    self.oldest, self.newest
                ),
            ));
        }
        Ok(version)
    }

    /// Adds the version headers to a response.
    pub fn add_headers(&self, version: Microversion, headers: &mut HeaderMap) {
        let long = HeaderValue::try_from(format!("{} {version}", self.service));
        if let Ok(long) = long {
            headers.insert("openstack-api-version", long);
        }
        let vary = match (self.own_header, HeaderValue::try_from(version.to_string())) {
            (Some(name), Ok(short)) => {
                headers.insert(name, short);
                "OpenStack-API-Version, X-OpenStack-Nova-API-Version"
            }
            _ => "OpenStack-API-Version",
        };
        headers.insert("vary", HeaderValue::from_static(vary));
    }
}

impl<S: Sync> FromRequestParts<S> for Microversion {
    type Rejection = Infallible;

    /// The version that the router has read. Handlers of services without microversions do not use it.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let requested = parts.extensions.get::<Self>().copied();
        Ok(requested.unwrap_or(COMPUTE.oldest))
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::microversion::*;

    fn requested(range: &Range, text: &'static str) -> Result<String, u16> {
        let headers = HeaderMap::from_iter([(
            "openstack-api-version".parse().unwrap(),
            HeaderValue::from_static(text),
        )]);
        let version = range.requested(&headers);
        version
            .map(|version| version.to_string())
            .map_err(|refusal| refusal.status)
    }

    #[test]
    fn one_microversion_header_names_several_services() {
        let header = "compute 2.60, volume 3.59";
        assert_eq!(requested(&COMPUTE, header), Ok("2.60".into()));
        assert_eq!(requested(&VOLUME, header), Ok("3.59".into()));
    }

    #[test]
    fn no_microversion_means_the_oldest_and_unknown_ones_are_refused() {
        assert_eq!(requested(&COMPUTE, "volume 3.1"), Ok("2.1".into()));
        assert_eq!(requested(&COMPUTE, "compute latest"), Ok("2.93".into()));
        assert_eq!(requested(&COMPUTE, "compute 2.999"), Err(406));
        assert_eq!(requested(&VOLUME, "volume three"), Err(400));
    }
}

//! Signed addresses. Pure.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use drivers::SignalAddress;
use store::{SignalTarget, Tenant};

use crate::secrets::SealingKeys;

/// The address of a resource below the URL of the server.
pub(crate) fn address(keys: &SealingKeys, base: &str, target: &SignalTarget) -> SignalAddress {
    let SignalTarget {
        tenant,
        deployment,
        resource,
        incarnation,
    } = target;
    let fields = (
        &tenant.cloud,
        &tenant.project_id,
        deployment,
        resource,
        incarnation,
    );
    let name = URL_SAFE_NO_PAD.encode(store::to_json(&fields));
    SignalAddress {
        endpoint: format!("{}/signal/{name}", base.trim_end_matches('/')),
        token: keys.sign(&name),
    }
}

/// The resource of an address, from its last part and its token. `None` unless both were made by [`address`] with one of
/// these keys.
pub(crate) fn target(keys: &SealingKeys, name: &str, token: &str) -> Option<SignalTarget> {
    if !keys.verify(name, token) {
        return None;
    }
    let fields = URL_SAFE_NO_PAD.decode(name).ok()?;
    let (cloud, project_id, deployment, resource, incarnation) =
        serde_json::from_slice(&fields).ok()?;
    Some(SignalTarget {
        tenant: Tenant { cloud, project_id },
        deployment,
        resource,
        incarnation,
    })
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;
    use crate::secrets::KeySource;

    /// Keys of these bytes, the newest first.
    fn keys(bytes: &[u8]) -> SealingKeys {
        let lines = bytes.iter().map(|byte| STANDARD.encode([*byte; 32]));
        let text = lines.collect::<Vec<_>>().join("\n");
        SealingKeys::read(&KeySource::Text(text.into()), "".as_ref()).unwrap()
    }

    fn handle() -> SignalTarget {
        SignalTarget {
            tenant: Tenant {
                cloud: "lab".into(),
                project_id: "p".into(),
            },
            deployment: "d-1".into(),
            resource: "web_group/0/handle".into(),
            incarnation: 2,
        }
    }

    /// The last part of an address.
    fn name(address: &SignalAddress) -> &str {
        address.endpoint.rsplit('/').next().unwrap()
    }

    #[test]
    fn an_address_can_stand_in_a_shell_and_in_a_query_as_it_is() {
        let address = address(&keys(&[1]), "https://stackloom.example.org/", &handle());
        let rest = address
            .url()
            .replace("https://stackloom.example.org/signal/", "");
        let (name, token) = rest.split_once("?signature=").unwrap();
        let is_plain = |text: &str| {
            text.chars()
                .all(|one| one.is_ascii_alphanumeric() || "-_.".contains(one))
        };
        assert!(is_plain(name) && is_plain(token), "{rest}");
        assert_eq!(target(&keys(&[1]), name, token), Some(handle()));
    }

    #[test]
    fn an_address_stays_valid_until_its_key_is_taken_away() {
        let old = address(&keys(&[1]), "https://x", &handle());
        let with = |bytes: &[u8]| target(&keys(bytes), name(&old), &old.token);
        assert_eq!(with(&[2, 1]), Some(handle()));
        assert_eq!(with(&[2]), None);
    }

    #[test]
    fn the_token_of_one_resource_is_refused_for_another() {
        let other = SignalTarget {
            incarnation: 3,
            ..handle()
        };
        let [one, other] = [handle(), other].map(|one| address(&keys(&[1]), "https://x", &one));
        assert_ne!(one.endpoint, other.endpoint);
        assert_eq!(target(&keys(&[1]), name(&other), &one.token), None);
    }

    proptest! {
        #[test]
        fn any_resource_has_an_address_of_its_own(resource in ".{0,60}", deployment in "[a-z0-9-]{1,36}", incarnation: u32) {
            let one = SignalTarget { resource, deployment, incarnation, ..handle() };
            let signed = address(&keys(&[1]), "https://x", &one);
            prop_assert_eq!(target(&keys(&[1]), name(&signed), &signed.token), Some(one));
        }

        #[test]
        fn an_address_with_a_changed_character_is_refused(place in 0usize..200, with in "[A-Za-z0-9_.-]") {
            let signed = address(&keys(&[1]), "https://x", &handle());
            let whole = format!("{}.{}", name(&signed), signed.token);
            let place = place % whole.len();
            let mut changed = whole.clone();
            changed.replace_range(place..=place, &with);
            prop_assume!(changed != whole);
            let (name, token) = changed.split_once('.').unwrap_or((&changed, ""));
            prop_assert_eq!(target(&keys(&[1]), name, token), None);
        }

        #[test]
        fn anything_else_is_refused(name in ".{0,80}", token in ".{0,80}") {
            prop_assert_eq!(target(&keys(&[1]), &name, &token), None);
        }
    }
}

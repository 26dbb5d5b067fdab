//! Lists that clients read first, though they are mostly empty.

use openstack::Service;
use serde_json::Value;

use crate::world::admin_case;

/// The service, path of the list, its key in the body, and the status for a member.
const LISTS: [(Service, &str, &str, u16); 4] = [
    (Service::Network, "address-groups", "address_groups", 200),
    (Service::Network, "quotas", "quotas", 403),
    (Service::BlockStorage, "qos-specs", "qos_specs", 403),
    (Service::LoadBalancer, "lbaas/quotas", "quotas", 200),
];

#[tokio::test]
async fn lists_are_arrays_even_if_empty() {
    admin_case("lists", async |w| {
        let member = w.member().await;
        let all = LISTS.iter();
        for (service, path, word, status) in all.filter(|row| w.session.has_service(row.0)) {
            let response = w.get(*service, path).await;
            w.status(path, &response, 200);
            w.is(
                &format!("{path}, a list"),
                response.body[*word].is_array(),
                true,
            );
            let response = w.other(&member, *service, path, Value::Null).await;
            w.status(&format!("{path}, for a member"), &response, *status);
        }
        let project = w.session.project().unwrap().id.clone();
        let response = w
            .get(Service::Identity, &format!("projects/{project}/tags"))
            .await;
        w.is("tags of a project", response.body["tags"].is_array(), true);
        let response = w.get(Service::KeyManager, "quotas").await;
        w.is(
            "the key manager's limits",
            response.at("/quotas/secrets"),
            -1,
        );
    })
    .await;
}

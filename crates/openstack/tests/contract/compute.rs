//! Nova: servers, flavors, key pairs, server groups.

use openstack::{Method, Microversion, Service};
use serde_json::{Value, json};

use crate::network::{NET, network};
use crate::world::{Response, World, case, ids};

pub const NOVA: Service = Service::Compute;
const GONE: &str = "00000000-0000-4000-8000-000000000000";
/// Default microversion of our client.
const OURS: Microversion = Microversion(2, 52);

async fn ours(w: &World, method: Method, address: &str, body: Option<Value>) -> Response {
    w.ask(NOVA, method, address, body, Some(OURS)).await
}

/// The smallest flavor with memory, and an active image.
pub async fn cheapest(w: &World) -> (String, String) {
    let images = w
        .session
        .image()
        .image_list(&[("status", "active")])
        .await
        .unwrap();
    let mut flavors = w.session.compute().flavor_list().await.unwrap();
    flavors.sort_by_key(|flavor| (flavor.ram, flavor.disk));
    let flavor = flavors.into_iter().find(|flavor| flavor.ram > 0).unwrap();
    (images[0].id.clone(), flavor.id)
}

/// An ACTIVE server with one port.
pub async fn server(w: &World, fields: Value) -> (String, String) {
    let (image, flavor) = cheapest(w).await;
    let (network, _) = network(w, "10.71.0.0/24").await;
    let port = w
        .make(
            NET,
            "ports",
            json!({"port": {"network_id": network, "name": w.name}}),
        )
        .await;
    let port = port["id"].as_str().unwrap().to_owned();
    let mut body = json!({"name": w.name, "imageRef": image, "flavorRef": flavor, "networks": [{"port": port}]});
    body.as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let response = ours(w, Method::POST, "servers", Some(json!({"server": body}))).await;
    w.status("POST servers", &response, 202);
    let id = response.text("/server/id");
    w.remember(NOVA, &format!("servers/{id}"));
    w.has(
        "a server that was ordered",
        &response.body["server"],
        &[
            "id",
            "links",
            "adminPass",
            "OS-DCF:diskConfig",
            "security_groups",
        ],
    );
    let response = w
        .until(NOVA, &format!("servers/{id}"), |response| {
            response.text("/server/status") != "BUILD"
        })
        .await;
    w.is("it becomes ACTIVE", response.at("/server/status"), "ACTIVE");
    (id, port)
}

#[tokio::test]
async fn a_server_is_created_changed_and_deleted() {
    case("server", &[], async |w| {
        let extra = json!({"metadata": {"role": "web"}, "tags": [w.name, "stackloom"], "user_data": "IyEvYmluL3NoCg=="});
        let (id, port) = server(w, extra).await;
        let path = format!("servers/{id}");
        let response = ours(w, Method::GET, &path, None).await;
        w.has(
            "a server",
            &response.body["server"],
            &[
                "id", "name", "status", "tenant_id", "user_id", "metadata", "hostId", "image", "flavor", "created",
                "updated", "addresses", "accessIPv4", "accessIPv6", "links", "OS-DCF:diskConfig", "progress",
                "OS-EXT-AZ:availability_zone", "config_drive", "key_name", "OS-SRV-USG:launched_at",
                "OS-SRV-USG:terminated_at", "security_groups", "OS-EXT-STS:task_state", "OS-EXT-STS:vm_state",
                "OS-EXT-STS:power_state", "os-extended-volumes:volumes_attached", "locked", "description", "tags",
            ],
        );
        w.has("its flavor", &response.body["server"]["flavor"], &["vcpus", "ram", "disk", "ephemeral", "swap", "original_name", "extra_specs"]);
        w.is("its tags", { let mut tags: Vec<String> = serde_json::from_value(response.at("/server/tags")).unwrap(); tags.sort(); json!(tags) }, json!([w.name, "stackloom"]));
        w.is("its metadata", response.at("/server/metadata"), json!({"role": "web"}));
        w.is("user data is not shown", response.at("/server/OS-EXT-SRV-ATTR:user_data"), Value::Null);
        let address = response.at(&format!("/server/addresses/{}/0", w.name));
        w.has("its address", &address, &["addr", "version", "OS-EXT-IPS:type", "OS-EXT-IPS-MAC:mac_addr"]);
        let plugged = w.get(NET, &format!("ports/{port}")).await;
        w.is("its port has it", plugged.at("/port/device_id"), id.clone());
        w.is("its port's owner", plugged.text("/port/device_owner").starts_with("compute:"), true);
        let response = w.delete(NET, &format!("ports/{port}")).await;
        w.is("its port may be taken away", (response.status == 204) || (response.status == 409), true);

        let response = ours(w, Method::GET, &format!("servers/detail?tags={}", w.name), None).await;
        w.is("the filter by tag", ids(&response.list("servers")), json!([id]));
        let response = ours(w, Method::GET, &format!("servers?name={}", w.name), None).await;
        w.is("the filter by name", ids(&response.list("servers")), json!([id]));
        w.is("a short list has three fields", response.at("/servers/0").as_object().map(|one| one.len()), 3);
        let response = ours(w, Method::GET, &format!("servers?name={}&status=BUILD", w.name), None).await;
        w.is("the filter by state", response.list("servers").len(), 0);
        let response = ours(w, Method::GET, &format!("servers?name={}&changes-since=2020-01-01T00:00:00Z", w.name), None).await;
        w.is("changed since long ago", ids(&response.list("servers")), json!([id]));
        let response = ours(w, Method::GET, &format!("servers?name={}&changes-since=2099-01-01T00:00:00Z", w.name), None).await;
        w.is("changed since tomorrow", response.list("servers").len(), 0);
        let response = ours(w, Method::GET, "servers?changes-since=nonsense", None).await;
        w.status("changed since nonsense", &response, 400);

        let response = ours(w, Method::PUT, &path, Some(json!({"server": {"name": format!("{}-2", w.name)}}))).await;
        w.status("PUT of a server", &response, 200);
        let response = ours(w, Method::PUT, &format!("{path}/metadata"), Some(json!({"metadata": {"a": "b"}}))).await;
        w.is("all metadata", response.at("/metadata"), json!({"a": "b"}));
        let response = ours(w, Method::PUT, &format!("{path}/tags"), Some(json!({"tags": ["x"]}))).await;
        w.is("all tags", response.at("/tags"), json!(["x"]));
        let response = ours(w, Method::PUT, &format!("{path}/tags"), Some(json!({"tags": ["a/b"]}))).await;
        w.status("a tag that is none", &response, 400);
        let response = ours(w, Method::GET, &format!("{path}/ips"), None).await;
        w.status("its addresses", &response, 200);
        let response = ours(w, Method::GET, &format!("{path}/os-interface"), None).await;
        w.status("its interfaces", &response, 200);

        let response = ours(w, Method::POST, &format!("{path}/action"), Some(json!({"os-start": null}))).await;
        w.refused("starting what runs", &response, 409, "conflictingRequest");
        let response = ours(w, Method::POST, &format!("{path}/action"), Some(json!({"os-stop": null}))).await;
        w.status("stopping", &response, 202);
        w.until(NOVA, &path, |response| response.text("/server/status") == "SHUTOFF").await;
        let response = ours(w, Method::POST, &format!("{path}/action"), Some(json!({"os-start": null}))).await;
        w.status("starting", &response, 202);
        w.until(NOVA, &path, |response| response.text("/server/status") == "ACTIVE").await;
        let response = ours(w, Method::POST, &format!("{path}/action"), Some(json!({"reboot": {"type": "SOFT"}}))).await;
        w.status("rebooting", &response, 202);
        w.until(NOVA, &path, |response| response.text("/server/status") == "ACTIVE").await;
        let response = ours(w, Method::POST, &format!("{path}/action"), Some(json!({"os-getConsoleOutput": {"length": 5}}))).await;
        w.status("the console", &response, 200);
        w.is("the console is text", response.at("/output").is_string(), true);
        let response = ours(w, Method::POST, &format!("{path}/action"), Some(json!({"nonsense": null}))).await;
        w.status("an action that is none", &response, 400);

        let response = ours(w, Method::DELETE, &path, None).await;
        w.status("DELETE of a server", &response, 204);
        let gone = w.until(NOVA, &path, |response| response.status == 404).await;
        w.refused("a server that is gone", &gone, 404, "itemNotFound");
        let response = ours(w, Method::DELETE, &path, None).await;
        w.refused("deleting it twice", &response, 404, "itemNotFound");
        let response = ours(w, Method::GET, &format!("servers/detail?changes-since=2020-01-01T00:00:00Z&name={}-2", w.name), None).await;
        let found = response.list("servers").into_iter().find(|server| server["id"] == id.as_str());
        w.is("what is gone shows among the changes", found.unwrap_or_default()["status"].clone(), "DELETED");
        let response = ours(w, Method::GET, &format!("servers/detail?name={}-2", w.name), None).await;
        w.is("what is gone shows nowhere else", response.list("servers").len(), 0);
    })
    .await;
}

#[tokio::test]
async fn servers_that_are_refused() {
    case("no-server", &[], async |w| {
        let (image, flavor) = cheapest(w).await;
        let (network, _) = network(w, "10.72.0.0/24").await;
        let good = json!({"name": w.name, "imageRef": image, "flavorRef": flavor, "networks": [{"uuid": network}]});
        let with = |fields: Value| {
            let mut body = good.clone();
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            Some(json!({"server": body}))
        };
        let response = ours(w, Method::POST, "servers", with(json!({"imageRef": GONE}))).await;
        w.refused("an image that is not there", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"flavorRef": "nonsense"}))).await;
        w.refused("a flavor that is not there", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"networks": [{"uuid": GONE}]}))).await;
        w.refused("a network that is not there", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"networks": [{"port": GONE}]}))).await;
        w.refused("a port that is not there", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"key_name": "no-such-key"}))).await;
        w.refused("a key pair that is not there", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"security_groups": [{"name": "no-such-group"}]}))).await;
        w.refused("a security group that is not there", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"availability_zone": "nowhere"}))).await;
        w.refused("a zone that is not there", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"user_data": "not base64!"}))).await;
        w.refused("user data that is not base64", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"metadata": {"a": 1}}))).await;
        w.refused("metadata that is not text", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", with(json!({"nonsense": 1}))).await;
        w.refused("a field that is none", &response, 400, "badRequest");
        let response = ours(w, Method::POST, "servers", Some(json!({"server": {"name": w.name}}))).await;
        w.refused("a server without flavor", &response, 400, "badRequest");
        let response = ours(w, Method::GET, &format!("servers/{GONE}"), None).await;
        w.refused("a server that is not there", &response, 404, "itemNotFound");
        let response = ours(w, Method::GET, &format!("servers?name={}", w.name), None).await;
        w.is("nothing was made", response.list("servers").len(), 0);
    })
    .await;
}

#[tokio::test]
async fn microversions() {
    case("versions", &[], async |w| {
        let response = w.ask(NOVA, Method::GET, "", None, None).await;
        w.status("the version's own page", &response, 200);
        w.is("the least", response.at("/version/min_version"), "2.1");
        w.is(
            "the greatest is enough for us",
            Microversion(2, 52) <= parse(&response.text("/version/version")),
            true,
        );
        let call = w
            .session
            .call(NOVA, Method::GET, &["flavors"])
            .header("openstack-api-version", "compute 2.999");
        w.is(
            "one that is not there yet",
            call.answer().await.unwrap().status,
            406,
        );
        let call = w
            .session
            .call(NOVA, Method::GET, &["flavors"])
            .header("openstack-api-version", "compute nonsense");
        w.is("one that is none", call.answer().await.unwrap().status, 400);
        let response = ours(w, Method::GET, "flavors", None).await;
        w.is(
            "the answer says which was spoken",
            response.answer.header("openstack-api-version"),
            "compute 2.52",
        );
        let response = w.get(NOVA, "flavors").await;
        w.is(
            "without one the oldest is spoken",
            response.answer.header("openstack-api-version"),
            "compute 2.1",
        );
    })
    .await;
}

fn parse(text: &str) -> Microversion {
    let (major, minor) = text.split_once('.').unwrap_or(("0", "0"));
    Microversion(major.parse().unwrap(), minor.parse().unwrap())
}

#[tokio::test]
async fn key_pairs_and_flavors() {
    case("keys", &[], async |w| {
        let public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJUeD3v1eHh8oVZVPAiTqOZkuVVCVBZqDOL8LkEAAAAA contract";
        let body = json!({"keypair": {"name": w.name, "public_key": public}});
        let response = ours(w, Method::POST, "os-keypairs", Some(body.clone())).await;
        w.status("POST of a key pair", &response, 201);
        w.remember(NOVA, &format!("os-keypairs/{}", w.name));
        w.has("a key pair", &response.body["keypair"], &["name", "public_key", "fingerprint", "type", "user_id"]);
        let response = ours(w, Method::POST, "os-keypairs", Some(body)).await;
        w.refused("a second of the same name", &response, 409, "conflictingRequest");
        let response = ours(w, Method::GET, &format!("os-keypairs/{}", w.name), None).await;
        w.is("its key", response.at("/keypair/public_key"), public);
        let response = ours(w, Method::POST, "os-keypairs", Some(json!({"keypair": {"name": format!("{}-2", w.name), "public_key": "nonsense"}}))).await;
        w.refused("a key that is none", &response, 400, "badRequest");
        let response = ours(w, Method::GET, "os-keypairs", None).await;
        let listed = response.list("keypairs").iter().any(|one| one["keypair"]["name"] == w.name.as_str());
        w.is("it is listed", listed, true);
        let response = ours(w, Method::DELETE, &format!("os-keypairs/{}", w.name), None).await;
        w.status("DELETE of a key pair", &response, 204);
        let response = ours(w, Method::GET, &format!("os-keypairs/{}", w.name), None).await;
        w.refused("a key pair that is gone", &response, 404, "itemNotFound");

        let response = ours(w, Method::GET, "flavors/detail", None).await;
        w.has("a flavor", &response.body["flavors"][0], &["id", "name", "vcpus", "ram", "disk", "swap", "rxtx_factor", "os-flavor-access:is_public", "OS-FLV-EXT-DATA:ephemeral", "OS-FLV-DISABLED:disabled", "links"]);
        let response = ours(w, Method::GET, "flavors/detail?limit=1", None).await;
        w.is("the first page", response.list("flavors").len(), 1);
        w.is("there is a next page of flavors", response.at("/flavors_links/0/rel"), "next");
        let response = ours(w, Method::GET, "flavors/nonsense", None).await;
        w.refused("a flavor that is not there", &response, 404, "itemNotFound");
        let response = ours(w, Method::GET, "os-availability-zone", None).await;
        w.has("a zone", &response.body["availabilityZoneInfo"][0], &["zoneName", "zoneState", "hosts"]);
        let response = ours(w, Method::GET, "limits", None).await;
        w.has("limits", &response.body["limits"]["absolute"], &["maxTotalInstances", "maxTotalCores", "maxTotalRAMSize", "totalInstancesUsed", "totalCoresUsed", "totalRAMUsed", "maxServerGroups", "maxServerGroupMembers", "maxTotalKeypairs", "maxServerMeta"]);
    })
    .await;
}

#[tokio::test]
async fn server_groups() {
    case("near", &[], async |w| {
        let body = json!({"server_group": {"name": w.name, "policies": ["soft-anti-affinity"]}});
        let response = ours(w, Method::POST, "os-server-groups", Some(body)).await;
        w.status("POST of a server group", &response, 200);
        let id = response.text("/server_group/id");
        w.remember(NOVA, &format!("os-server-groups/{id}"));
        w.has(
            "a server group",
            &response.body["server_group"],
            &[
                "id",
                "name",
                "policies",
                "members",
                "metadata",
                "project_id",
                "user_id",
            ],
        );
        let response = ours(w, Method::GET, &format!("os-server-groups/{id}"), None).await;
        w.is(
            "its group's policy",
            response.at("/server_group/policies"),
            json!(["soft-anti-affinity"]),
        );
        let body = json!({"server_group": {"name": w.name, "policies": ["nonsense"]}});
        let response = ours(w, Method::POST, "os-server-groups", Some(body)).await;
        w.refused("a policy that is none", &response, 400, "badRequest");
        let response = ours(w, Method::DELETE, &format!("os-server-groups/{id}"), None).await;
        w.status("DELETE of a server group", &response, 204);
        let response = ours(w, Method::GET, &format!("os-server-groups/{id}"), None).await;
        w.refused(
            "a server group that is gone",
            &response,
            404,
            "itemNotFound",
        );
    })
    .await;
}

/// Our client lists the bare ids of servers in progress; see `openstack::watch`.
#[tokio::test]
async fn servers_in_progress_are_listed_by_bare_ids() {
    case("onway", &[], async |w| {
        let (image, flavor) = cheapest(w).await;
        let (network, _) = network(w, "10.72.0.0/24").await;
        let body = json!({"name": w.name, "imageRef": image, "flavorRef": flavor, "networks": [{"uuid": network}]});
        let response = ours(w, Method::POST, "servers", Some(json!({"server": body}))).await;
        let id = response.text("/server/id");
        w.remember(NOVA, &format!("servers/{id}"));
        // The server is in the list for as long as it is in this state, from the first moment on.
        let listed = async |query: &str| {
            let newer = Some(Microversion(2, 83));
            let response = w.ask(NOVA, Method::GET, &format!("servers?{query}"), None, newer).await;
            w.status(query, &response, 200);
            response.list("servers").iter().any(|one| one["id"] == id.as_str())
        };
        loop {
            let before = ours(w, Method::GET, &format!("servers/{id}"), None).await;
            let there = listed("status=BUILD").await;
            let after = ours(w, Method::GET, &format!("servers/{id}"), None).await;
            let building = |response: &Response| response.text("/server/status") == "BUILD";
            if building(&before) == building(&after) {
                w.is("in the list of those that are built", there, building(&after));
            }
            if !building(&after) {
                break;
            }
        }
        w.is("nothing deletes it", listed("task_state=deleting").await, false);
        let response = w.delete(NOVA, &format!("servers/{id}")).await;
        w.status("DELETE of a server", &response, 204);
        // The same until the server is gone. Servers in neither list are read one by one.
        loop {
            let there = listed("task_state=deleting").await;
            let after = ours(w, Method::GET, &format!("servers/{id}"), None).await;
            // For a moment the server is in neither list: deleted, but still readable.
            if after.status == 404 || after.text("/server/status") == "DELETED" {
                break;
            }
            w.is("in the list of those that go", there, true);
        }
    })
    .await;
}

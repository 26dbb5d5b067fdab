//! Cinder: volumes, snapshots, types, and attached volumes.

use openstack::{Method, Microversion, Service};
use serde_json::{Value, json};

use crate::compute::{NOVA, cheapest, server};
use crate::world::{World, case, ids};

const CINDER: Service = Service::BlockStorage;
const GONE: &str = "00000000-0000-4000-8000-000000000000";

async fn volume(w: &World) -> String {
    let body = json!({"volume": {"name": w.name, "size": 1, "metadata": {"mark": w.name}}});
    let response = w.post(CINDER, "volumes", body).await;
    w.status("POST volumes", &response, 202);
    let id = response.text("/volume/id");
    w.remember(CINDER, &format!("volumes/{id}"));
    w.is(
        "it is being made",
        response.at("/volume/status"),
        "creating",
    );
    let response = w
        .until(CINDER, &format!("volumes/{id}"), |response| {
            response.text("/volume/status") != "creating"
        })
        .await;
    w.is(
        "it becomes available",
        response.at("/volume/status"),
        "available",
    );
    id
}

#[tokio::test]
async fn volumes() {
    case("volume", &[CINDER], async |w| {
        let id = volume(w).await;
        let path = format!("volumes/{id}");
        let response = w.get(CINDER, &path).await;
        w.has(
            "a volume",
            &response.body["volume"],
            &[
                "id",
                "name",
                "description",
                "status",
                "size",
                "volume_type",
                "metadata",
                "attachments",
                "availability_zone",
                "bootable",
                "encrypted",
                "snapshot_id",
                "source_volid",
                "created_at",
                "updated_at",
                "user_id",
                "multiattach",
                "links",
                "consistencygroup_id",
                "replication_status",
                "os-vol-tenant-attr:tenant_id",
            ],
        );
        w.is("whether it boots", response.at("/volume/bootable"), "false");
        w.is(
            "its metadata",
            response.at("/volume/metadata"),
            json!({"mark": w.name}),
        );
        let response = w
            .get(CINDER, &format!("volumes/detail?name={}", w.name))
            .await;
        w.is(
            "the filter by name",
            ids(&response.list("volumes")),
            json!([id]),
        );
        let response = w.get(CINDER, &format!("volumes?name={}", w.name)).await;
        w.is(
            "a short list has three fields",
            response.at("/volumes/0").as_object().map(|one| one.len()),
            3,
        );
        let response = w
            .get(
                CINDER,
                &format!("volumes/detail?name={}&status=error", w.name),
            )
            .await;
        w.is("the filter by state", response.list("volumes").len(), 0);
        let response = w
            .put(
                CINDER,
                &path,
                json!({"volume": {"description": "changed", "metadata": {"a": "b"}}}),
            )
            .await;
        w.status("PUT of a volume", &response, 200);
        w.is(
            "its new metadata",
            response.at("/volume/metadata"),
            json!({"a": "b"}),
        );

        let body = json!({"snapshot": {"volume_id": id, "name": w.name}});
        let response = w.post(CINDER, "snapshots", body).await;
        w.status("POST snapshots", &response, 202);
        let snapshot = response.text("/snapshot/id");
        w.remember(CINDER, &format!("snapshots/{snapshot}"));
        let made = w
            .until(CINDER, &format!("snapshots/{snapshot}"), |response| {
                response.text("/snapshot/status") != "creating"
            })
            .await;
        w.is(
            "it becomes available",
            made.at("/snapshot/status"),
            "available",
        );
        w.has(
            "a snapshot",
            &made.body["snapshot"],
            &[
                "id",
                "name",
                "description",
                "status",
                "size",
                "volume_id",
                "metadata",
                "created_at",
                "updated_at",
            ],
        );
        let response = w.delete(CINDER, &path).await;
        w.refused(
            "a volume with a snapshot goes not",
            &response,
            400,
            "badRequest",
        );
        w.remove(CINDER, &format!("snapshots/{snapshot}")).await;

        let response = w
            .post(
                CINDER,
                &format!("{path}/action"),
                json!({"os-extend": {"new_size": 2}}),
            )
            .await;
        w.status("making it larger", &response, 202);
        let response = w
            .until(CINDER, &path, |response| {
                response.text("/volume/status") == "available"
            })
            .await;
        w.is("its size", response.at("/volume/size"), 2);
        let response = w
            .post(
                CINDER,
                &format!("{path}/action"),
                json!({"os-extend": {"new_size": 1}}),
            )
            .await;
        w.refused("making it smaller", &response, 400, "badRequest");
        let response = w.delete(CINDER, &path).await;
        w.status("DELETE of a volume", &response, 202);
        let gone = w
            .until(CINDER, &path, |response| response.status == 404)
            .await;
        w.refused("a volume that is gone", &gone, 404, "itemNotFound");
    })
    .await;
}

#[tokio::test]
async fn volumes_that_are_refused() {
    case("no-volume", &[CINDER], async |w| {
        let post = async |fields: Value| w.post(CINDER, "volumes", json!({"volume": fields})).await;
        w.refused(
            "no size",
            &post(json!({"name": w.name})).await,
            400,
            "badRequest",
        );
        w.refused(
            "a size of nothing",
            &post(json!({"size": 0})).await,
            400,
            "badRequest",
        );
        w.refused(
            "a type that is none",
            &post(json!({"size": 1, "volume_type": "no-such-type"})).await,
            404,
            "itemNotFound",
        );
        w.refused(
            "a snapshot that is not there",
            &post(json!({"size": 1, "snapshot_id": GONE})).await,
            404,
            "itemNotFound",
        );
        w.refused(
            "a volume that is not there",
            &post(json!({"size": 1, "source_volid": GONE})).await,
            404,
            "itemNotFound",
        );
        w.refused(
            "an image that is not there",
            &post(json!({"size": 1, "imageRef": GONE})).await,
            400,
            "badRequest",
        );
        let response = w.get(CINDER, &format!("volumes/{GONE}")).await;
        w.refused(
            "a volume that is not there to see",
            &response,
            404,
            "itemNotFound",
        );
        let response = w.get(CINDER, "types").await;
        w.has(
            "a type",
            &response.body["volume_types"][0],
            &["id", "name", "description", "is_public", "extra_specs"],
        );
        let response = w.get(CINDER, "limits").await;
        w.has(
            "limits",
            &response.body["limits"]["absolute"],
            &[
                "maxTotalVolumes",
                "maxTotalVolumeGigabytes",
                "maxTotalSnapshots",
                "totalVolumesUsed",
                "totalGigabytesUsed",
                "totalSnapshotsUsed",
            ],
        );
        let project = w.session.project().unwrap().id.clone();
        let response = w
            .get(CINDER, &format!("os-quota-sets/{project}?usage=True"))
            .await;
        w.has(
            "the quota of volumes",
            &response.body["quota_set"]["volumes"],
            &["limit", "in_use", "reserved"],
        );
    })
    .await;
}

#[tokio::test]
async fn lists_come_in_pages() {
    case("volume-pages", &[CINDER], async |w| {
        for _ in 0..3 {
            volume(w).await;
        }
        let response = w
            .get(CINDER, &format!("volumes/detail?name={}&limit=2", w.name))
            .await;
        w.is("the first page", response.list("volumes").len(), 2);
        w.is(
            "there is a next page",
            response.at("/volumes_links/0/rel"),
            "next",
        );
        let all = w
            .session
            .block_storage()
            .volume_list(&[("name", &w.name), ("limit", "2")])
            .await
            .unwrap();
        w.is("all pages", all.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_volume_of_a_server() {
    case("attach", &[CINDER], async |w| {
        let id = volume(w).await;
        let (server, _) = server(w, json!({})).await;
        let path = format!("servers/{server}/os-volume_attachments");
        let body = json!({"volumeAttachment": {"volumeId": id}});
        let response = w.post(NOVA, &path, body.clone()).await;
        w.status("giving it", &response, 200);
        w.has(
            "an attachment",
            &response.body["volumeAttachment"],
            &["id", "device", "serverId", "volumeId"],
        );
        w.is(
            "its id is the volume's",
            response.at("/volumeAttachment/id"),
            id.clone(),
        );
        let volume = format!("volumes/{id}");
        let response = w
            .until(CINDER, &volume, |response| {
                response.text("/volume/status") == "in-use"
            })
            .await;
        w.is(
            "whose it is",
            response.at("/volume/attachments/0/server_id"),
            server.clone(),
        );
        w.has(
            "an attachment as Cinder sees it",
            &response.body["volume"]["attachments"][0],
            &[
                "id",
                "attachment_id",
                "volume_id",
                "server_id",
                "host_name",
                "device",
                "attached_at",
            ],
        );
        let response = w.get(NOVA, &format!("servers/{server}")).await;
        w.is(
            "the server says it",
            response.at("/server/os-extended-volumes:volumes_attached"),
            json!([{"id": id}]),
        );
        let response = w.get(NOVA, &path).await;
        w.is(
            "its volumes",
            ids(&response.list("volumeAttachments")),
            json!([id]),
        );
        let response = w.post(NOVA, &path, body).await;
        w.is(
            "giving it twice is refused",
            matches!(response.status, 400 | 409),
            true,
        );
        let response = w.delete(CINDER, &volume).await;
        w.refused("a volume in use goes not", &response, 400, "badRequest");
        let response = w.delete(NOVA, &format!("{path}/{id}")).await;
        w.status("taking it", &response, 202);
        w.until(CINDER, &volume, |response| {
            response.text("/volume/status") == "available"
        })
        .await;
        let response = w.delete(NOVA, &format!("{path}/{id}")).await;
        w.refused("taking what it has not", &response, 404, "itemNotFound");
        let response = w
            .post(NOVA, &path, json!({"volumeAttachment": {"volumeId": GONE}}))
            .await;
        w.refused("giving what is not there", &response, 404, "itemNotFound");
    })
    .await;
}

#[tokio::test]
async fn a_boot_volume_is_the_first_disk_of_a_server() {
    case("boot", &[CINDER], async |w| {
        let (image, flavor) = cheapest(w).await;
        let volume = volume(w).await;
        let root = json!({"source_type": "image", "destination_type": "local", "uuid": image, "boot_index": 0,
                          "delete_on_termination": true});
        let disk = |index: Value| {
            json!({"source_type": "volume", "destination_type": "volume", "uuid": volume, "boot_index": index})
        };
        let order = async |devices: Value| {
            let body = json!({"name": w.name, "imageRef": image, "flavorRef": flavor, "networks": "none",
                              "block_device_mapping_v2": devices});
            let body = Some(json!({"server": body}));
            w.ask(NOVA, Method::POST, "servers", body, Some(Microversion(2, 52))).await
        };
        for (what, devices) in [
            ("an image beside the list", json!([disk(json!(-1))])),
            ("a disk without a place, and an image beside the list", json!([disk(Value::Null)])),
            ("two first disks", json!([root, disk(json!(0))])),
            ("a hole in the order", json!([root, disk(json!(2))])),
        ] {
            let response = order(devices).await;
            w.refused(what, &response, 400, "badRequest");
            let words = "Block Device Mapping is Invalid: Boot sequence for the instance and image/block device mapping \
                         combination is not valid.";
            w.is(&format!("{what}, in words"), response.at("/badRequest/message"), words);
        }
        let mut named = disk(Value::Null);
        named["device_name"] = "vda".into();
        let response = order(json!([root, named])).await;
        w.refused("a volume with the root disk's name", &response, 400, "badRequest");
        let words = "The volume cannot be assigned the same device name as the root device vda";
        w.is("its words", response.at("/badRequest/message"), words);

        let response = order(json!([root, disk(json!(-1))])).await;
        w.status("an image and a further volume", &response, 202);
        let server = format!("servers/{}", response.text("/server/id"));
        w.remember(NOVA, &server);
        let response = w
            .until(NOVA, &server, |response| response.text("/server/status") != "BUILD")
            .await;
        w.is("it becomes ACTIVE", response.at("/server/status"), "ACTIVE");
        w.is("it has its image", response.at("/server/image/id"), image.clone());
        let attached = "/server/os-extended-volumes:volumes_attached/0/id";
        w.is("and the volume", response.at(attached), volume.clone());
        w.remove(NOVA, &server).await;
    })
    .await;
}

#[tokio::test]
async fn a_disk_of_a_server_has_the_volume_type_that_newer_versions_take() {
    case("boot-type", &[CINDER], async |w| {
        let (image, flavor) = cheapest(w).await;
        let types = w.get(CINDER, "types").await;
        let kind = types.text("/volume_types/0/name");
        let disk = json!({"source_type": "image", "destination_type": "volume", "uuid": image, "boot_index": 0,
                          "volume_size": 2, "delete_on_termination": true, "volume_type": kind});
        let body = json!({"server": {"name": w.name, "flavorRef": flavor, "networks": "none",
                                     "block_device_mapping_v2": [disk]}});
        let order = async |minor: u32| {
            let version = Some(Microversion(2, minor));
            w.ask(NOVA, Method::POST, "servers", Some(body.clone()), version).await
        };
        w.refused("a volume type before 2.67", &order(66).await, 400, "badRequest");
        let response = order(67).await;
        w.status("a volume type since 2.67", &response, 202);
        let server = format!("servers/{}", response.text("/server/id"));
        w.remember(NOVA, &server);
        let response = w
            .until(NOVA, &server, |response| response.text("/server/status") != "BUILD")
            .await;
        let attached = response.text("/server/os-extended-volumes:volumes_attached/0/id");
        let volume = w.get(CINDER, &format!("volumes/{attached}")).await;
        w.is("its volume type", volume.at("/volume/volume_type"), kind);
        w.remove(NOVA, &server).await;
    })
    .await;
}

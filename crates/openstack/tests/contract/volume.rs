//! Cinder: volumes, snapshots, types, and attached volumes.

use openstack::{Method, Microversion, Service};
use serde_json::{Value, json};

use crate::compute::{NOVA, cheapest, server};
use crate::world::{World, case, ids};

const CINDER: Service = Service::BlockStorage;
const GONE: &str = "00000000-0000-4000-8000-000000000000";

async fn volume(w: &World) -> String {
    let body = json!({"volume": {"name": w.name, "size": 1, "metadata": {"mark": w.name}}});
    let told = w.post(CINDER, "volumes", body).await;
    w.status("POST volumes", &told, 202);
    let id = told.text("/volume/id");
    w.remember(CINDER, &format!("volumes/{id}"));
    w.is("it is being made", told.at("/volume/status"), "creating");
    let told = w
        .until(CINDER, &format!("volumes/{id}"), |told| {
            told.text("/volume/status") != "creating"
        })
        .await;
    w.is(
        "it becomes available",
        told.at("/volume/status"),
        "available",
    );
    id
}

#[tokio::test]
async fn volumes() {
    case("volume", &[CINDER], async |w| {
        let id = volume(w).await;
        let path = format!("volumes/{id}");
        let told = w.get(CINDER, &path).await;
        w.has(
            "a volume",
            &told.body["volume"],
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
        w.is("whether it boots", told.at("/volume/bootable"), "false");
        w.is(
            "its metadata",
            told.at("/volume/metadata"),
            json!({"mark": w.name}),
        );
        let told = w
            .get(CINDER, &format!("volumes/detail?name={}", w.name))
            .await;
        w.is(
            "the filter by name",
            ids(&told.list("volumes")),
            json!([id]),
        );
        let told = w.get(CINDER, &format!("volumes?name={}", w.name)).await;
        w.is(
            "a short list has three fields",
            told.at("/volumes/0").as_object().map(|one| one.len()),
            3,
        );
        let told = w
            .get(
                CINDER,
                &format!("volumes/detail?name={}&status=error", w.name),
            )
            .await;
        w.is("the filter by state", told.list("volumes").len(), 0);
        let told = w
            .put(
                CINDER,
                &path,
                json!({"volume": {"description": "changed", "metadata": {"a": "b"}}}),
            )
            .await;
        w.status("PUT of a volume", &told, 200);
        w.is(
            "its new metadata",
            told.at("/volume/metadata"),
            json!({"a": "b"}),
        );

        let body = json!({"snapshot": {"volume_id": id, "name": w.name}});
        let told = w.post(CINDER, "snapshots", body).await;
        w.status("POST snapshots", &told, 202);
        let snapshot = told.text("/snapshot/id");
        w.remember(CINDER, &format!("snapshots/{snapshot}"));
        let made = w
            .until(CINDER, &format!("snapshots/{snapshot}"), |told| {
                told.text("/snapshot/status") != "creating"
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
        let told = w.delete(CINDER, &path).await;
        w.refused(
            "a volume with a snapshot goes not",
            &told,
            400,
            "badRequest",
        );
        w.remove(CINDER, &format!("snapshots/{snapshot}")).await;

        let told = w
            .post(
                CINDER,
                &format!("{path}/action"),
                json!({"os-extend": {"new_size": 2}}),
            )
            .await;
        w.status("making it larger", &told, 202);
        let told = w
            .until(CINDER, &path, |told| {
                told.text("/volume/status") == "available"
            })
            .await;
        w.is("its size", told.at("/volume/size"), 2);
        let told = w
            .post(
                CINDER,
                &format!("{path}/action"),
                json!({"os-extend": {"new_size": 1}}),
            )
            .await;
        w.refused("making it smaller", &told, 400, "badRequest");
        let told = w.delete(CINDER, &path).await;
        w.status("DELETE of a volume", &told, 202);
        let gone = w.until(CINDER, &path, |told| told.status == 404).await;
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
        let told = w.get(CINDER, &format!("volumes/{GONE}")).await;
        w.refused(
            "a volume that is not there to see",
            &told,
            404,
            "itemNotFound",
        );
        let told = w.get(CINDER, "types").await;
        w.has(
            "a type",
            &told.body["volume_types"][0],
            &["id", "name", "description", "is_public", "extra_specs"],
        );
        let told = w.get(CINDER, "limits").await;
        w.has(
            "limits",
            &told.body["limits"]["absolute"],
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
        let told = w
            .get(CINDER, &format!("os-quota-sets/{project}?usage=True"))
            .await;
        w.has(
            "the quota of volumes",
            &told.body["quota_set"]["volumes"],
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
        let told = w
            .get(CINDER, &format!("volumes/detail?name={}&limit=2", w.name))
            .await;
        w.is("the first page", told.list("volumes").len(), 2);
        w.is(
            "there is a next page",
            told.at("/volumes_links/0/rel"),
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
        let told = w.post(NOVA, &path, body.clone()).await;
        w.status("giving it", &told, 200);
        w.has(
            "an attachment",
            &told.body["volumeAttachment"],
            &["id", "device", "serverId", "volumeId"],
        );
        w.is(
            "its id is the volume's",
            told.at("/volumeAttachment/id"),
            id.clone(),
        );
        let volume = format!("volumes/{id}");
        let told = w
            .until(CINDER, &volume, |told| {
                told.text("/volume/status") == "in-use"
            })
            .await;
        w.is(
            "whose it is",
            told.at("/volume/attachments/0/server_id"),
            server.clone(),
        );
        w.has(
            "an attachment as Cinder sees it",
            &told.body["volume"]["attachments"][0],
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
        let told = w.get(NOVA, &format!("servers/{server}")).await;
        w.is(
            "the server says it",
            told.at("/server/os-extended-volumes:volumes_attached"),
            json!([{"id": id}]),
        );
        let told = w.get(NOVA, &path).await;
        w.is(
            "its volumes",
            ids(&told.list("volumeAttachments")),
            json!([id]),
        );
        let told = w.post(NOVA, &path, body).await;
        w.is(
            "giving it twice is refused",
            matches!(told.status, 400 | 409),
            true,
        );
        let told = w.delete(CINDER, &volume).await;
        w.refused("a volume in use goes not", &told, 400, "badRequest");
        let told = w.delete(NOVA, &format!("{path}/{id}")).await;
        w.status("taking it", &told, 202);
        w.until(CINDER, &volume, |told| {
            told.text("/volume/status") == "available"
        })
        .await;
        let told = w.delete(NOVA, &format!("{path}/{id}")).await;
        w.refused("taking what it has not", &told, 404, "itemNotFound");
        let told = w
            .post(NOVA, &path, json!({"volumeAttachment": {"volumeId": GONE}}))
            .await;
        w.refused("giving what is not there", &told, 404, "itemNotFound");
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
            let told = order(devices).await;
            w.refused(what, &told, 400, "badRequest");
            let words = "Block Device Mapping is Invalid: Boot sequence for the instance and image/block device mapping \
                         combination is not valid.";
            w.is(&format!("{what}, in words"), told.at("/badRequest/message"), words);
        }
        let mut named = disk(Value::Null);
        named["device_name"] = "vda".into();
        let told = order(json!([root, named])).await;
        w.refused("a volume with the root disk's name", &told, 400, "badRequest");
        let words = "The volume cannot be assigned the same device name as the root device vda";
        w.is("its words", told.at("/badRequest/message"), words);

        let told = order(json!([root, disk(json!(-1))])).await;
        w.status("an image and a further volume", &told, 202);
        let server = format!("servers/{}", told.text("/server/id"));
        w.remember(NOVA, &server);
        let told = w
            .until(NOVA, &server, |told| told.text("/server/status") != "BUILD")
            .await;
        w.is("it becomes ACTIVE", told.at("/server/status"), "ACTIVE");
        w.is("it has its image", told.at("/server/image/id"), image.clone());
        let attached = "/server/os-extended-volumes:volumes_attached/0/id";
        w.is("and the volume", told.at(attached), volume.clone());
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
        let told = order(67).await;
        w.status("a volume type since 2.67", &told, 202);
        let server = format!("servers/{}", told.text("/server/id"));
        w.remember(NOVA, &server);
        let told = w
            .until(NOVA, &server, |told| told.text("/server/status") != "BUILD")
            .await;
        let attached = told.text("/server/os-extended-volumes:volumes_attached/0/id");
        let volume = w.get(CINDER, &format!("volumes/{attached}")).await;
        w.is("its volume type", volume.at("/volume/volume_type"), kind);
        w.remove(NOVA, &server).await;
    })
    .await;
}

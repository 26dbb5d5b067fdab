//! Glance: images.

use openstack::Service;
use serde_json::json;

use crate::world::case;

const IMAGE: Service = Service::Image;

#[tokio::test]
async fn images() {
    case("images", &[], async |w| {
        let response = w.get(IMAGE, "images?status=active").await;
        w.status("GET images", &response, 200);
        w.has("the list", &response.body, &["images", "first", "schema"]);
        let images = response.list("images");
        let image = images.first().expect("the cloud has an image");
        w.has(
            "an image",
            image,
            &[
                "id",
                "name",
                "status",
                "visibility",
                "min_disk",
                "min_ram",
                "size",
                "disk_format",
                "container_format",
                "checksum",
                "created_at",
                "updated_at",
                "tags",
                "owner",
                "protected",
                "self",
                "file",
                "schema",
            ],
        );
        let (id, name) = (
            image["id"].as_str().unwrap(),
            image["name"].as_str().unwrap(),
        );
        let response = w.get(IMAGE, &format!("images/{id}")).await;
        w.status("GET of an image", &response, 200);
        w.is("it stands in the body itself", response.at("/id"), id);
        let response = w.get(IMAGE, &format!("images?name={name}")).await;
        w.is(
            "the filter by name",
            response
                .list("images")
                .iter()
                .all(|image| image["name"] == name),
            true,
        );
        let response = w.get(IMAGE, "images?name=no-such-image").await;
        w.is("a name that none has", response.list("images").len(), 0);
        let gone = "00000000-0000-4000-8000-000000000000";
        let response = w.get(IMAGE, &format!("images/{gone}")).await;
        w.status("an image that is not there", &response, 404);
    })
    .await;
}

#[tokio::test]
async fn a_page_at_a_time() {
    case("image-pages", &[], async |w| {
        for index in 0..3 {
            let name = format!("{}-{index}", w.name);
            let body = json!({"name": name, "disk_format": "raw", "container_format": "bare", "tags": [w.name]});
            let response = w.post(IMAGE, "images", body).await;
            w.status("POST images", &response, 201);
            w.is("an image without data", response.at("/status"), "queued");
            w.remember(IMAGE, &format!("images/{}", response.text("/id")));
        }
        let response = w.get(IMAGE, &format!("images?tag={}&limit=2", w.name)).await;
        w.is("the first page of images", response.list("images").len(), 2);
        w.is(
            "there is a next page of images",
            response.text("/next").starts_with("/v2/images?"),
            true,
        );
        let all = w.session.image().image_list(&[("tag", &w.name), ("limit", "2")]).await.unwrap();
        w.is("all pages of images", all.len(), 3);
    })
    .await;
}

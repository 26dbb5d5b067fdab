//! Files of items on the disk: changed, gone, of other servers, and slow to read.

use super::*;

#[tokio::test]
async fn files_that_were_changed_on_the_disk_are_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let first = archive("hello", "1.0.0", "first");
    let item = catalogs
        .publish(&demo, member("ada"), first.clone(), None)
        .await
        .unwrap()
        .item;
    let Content::Stored(place, _) = &item.content else {
        panic!("it is stored");
    };
    std::fs::write(place.join("tasks/main.yml"), "- evil").unwrap();
    assert!(item.files().is_err());
    catalogs
        .publish(&demo, member("ada"), first, None)
        .await
        .unwrap();
    assert!(
        says(&catalogs.of(&demo).await.unwrap(), "first"),
        "an upload mends it"
    );
}

#[tokio::test]
async fn an_item_whose_folder_is_gone_is_unpacked_again() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let archive = archive("hello", "1.0.0", "first");
    let item = catalogs
        .publish(&demo, member("ada"), archive, None)
        .await
        .unwrap()
        .item;
    let Content::Stored(place, _) = &item.content else {
        panic!("it is stored");
    };
    std::fs::remove_dir_all(place).unwrap();
    catalogs.seen.lock().unwrap().clear();
    assert!(says(&catalogs.of(&demo).await.unwrap(), "first"));
}

#[tokio::test]
async fn small_files_count_with_their_size_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let first = archive("hello", "1.0.0", "first");
    catalogs
        .publish(&demo, member("ada"), first, None)
        .await
        .unwrap();
    let bytes = catalogs.store.item_bytes(&demo).await.unwrap();
    let block = BLOCK_BYTES as i64;
    assert_eq!(bytes, 6 * block, "three files in three folders");
    let large = Files::from([("a/b/c".to_owned(), vec![0; 4097])]);
    assert_eq!(bytes_on_disk(&large), 5 * block);
}

#[tokio::test]
async fn another_server_has_what_was_uploaded_here() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let demo = tenant("demo");
    let here = catalogs(&folders[0]).await;
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    let own = Catalog::load(&own).unwrap();
    let there = Catalogs::new(own, folders[1].path(), here.store.clone());
    assert!(there.of(&demo).await.unwrap().get("hello").is_none());
    for (version, word) in [("1.0.0", "first"), ("1.1.0", "second")] {
        let archive = archive("hello", version, word);
        here.publish(&demo, member("ada"), archive, None)
            .await
            .unwrap();
        assert!(says(&there.of(&demo).await.unwrap(), word));
    }
}

#[tokio::test]
async fn the_items_of_a_project_that_take_long_to_read_delay_no_other_project() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let slow = catalogs.seen(&demo);
    let _reading = slow.lock().await;
    let archive = archive("hello", "1.0.0", "first");
    let other = tenant("other");
    let publish = catalogs.publish(&other, member("ada"), archive, None);
    tokio::select! {
        biased;
        read = catalogs.of(&demo) => panic!("it is not read yet: {}", read.is_ok()),
        published = publish => drop(published.unwrap()),
    }
    assert!(says(&catalogs.of(&other).await.unwrap(), "first"));
}

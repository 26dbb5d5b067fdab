use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

use super::*;

fn tenant(project: &str) -> Tenant {
    Tenant {
        cloud: "lab".into(),
        project_id: project.into(),
    }
}

/// The archive of an item of this name, with `word` in its role.
fn archive(name: &str, version: &str, word: &str) -> Vec<u8> {
    let manifest =
        format!("name: {name}\ntitle: T\nversion: {version}\nsummary: s\ncategory: test\n");
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in [
        ("item.yml", manifest),
        (
            "meta/argument_specs.yml",
            "argument_specs: {main: {options: {}}}".to_owned(),
        ),
        ("tasks/main.yml", format!("- debug: {{msg: {word}}}")),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        builder
            .append_data(&mut header, path, text.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

async fn catalogs(folder: &TempDir) -> Catalogs {
    let store = store::testing::memory().await.store().clone();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    Catalogs::new(Catalog::load(&own).unwrap(), folder.path(), store)
}

fn says(catalog: &Catalog, word: &str) -> bool {
    let files = catalog.get("hello").unwrap().files().unwrap();
    String::from_utf8_lossy(&files["tasks/main.yml"]).contains(word)
}

fn member(user: &str) -> Publisher<'_> {
    Publisher {
        user,
        user_id: user,
        rank: Rank::Member,
    }
}

#[tokio::test]
async fn a_deployment_keeps_the_version_that_it_was_made_with() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |version: &str, word: &str| {
        let archive = archive("hello", version, word);
        catalogs
            .publish(&demo, member("ada"), archive, None)
            .await
            .unwrap()
    };
    publish("1.9.0", "first").await;
    store::testing::deployment_insert(&catalogs.store, &demo, "d").await;
    let pin = async |types: &[&str]| {
        let catalog = catalogs.of_deployment(&demo, "d").await.unwrap();
        let mut transaction = catalogs.store.begin("testing").await.unwrap();
        let types = types.iter().copied().collect();
        catalogs
            .pin(&mut transaction, (&demo, "d"), &catalog, &types)
            .await
            .unwrap();
        transaction.commit().await.unwrap();
    };
    pin(&["Stackloom::Catalog::hello", "Stackloom::Catalog::nginx"]).await;

    let second = publish("1.10.0", "second").await;
    let versions = &second.item.uploaded.as_ref().unwrap().versions;
    assert_eq!(versions, &["1.10.0", "1.9.0"], "by number, not by letter");
    assert!(says(&catalogs.of(&demo).await.unwrap(), "second"));
    assert!(says(
        &catalogs.of_deployment(&demo, "d").await.unwrap(),
        "first"
    ));
    assert!(says(
        &catalogs.of_deployment(&demo, "e").await.unwrap(),
        "second"
    ));
    pin(&["Stackloom::Catalog::hello"]).await;
    assert!(says(
        &catalogs.of_deployment(&demo, "d").await.unwrap(),
        "first"
    ));

    // A change can ask for another version, and only for one that is there.
    let wanted = |version: &str| BTreeMap::from([("hello".to_owned(), version.to_owned())]);
    let second = catalogs
        .with_versions(&demo, Some("d"), &wanted("1.10.0"))
        .await;
    assert!(says(&second.unwrap(), "second"));
    let missing = catalogs
        .with_versions(&demo, Some("d"), &wanted("2.0.0"))
        .await;
    assert_eq!(missing.unwrap_err().code(), "not-found");
    let first = catalogs.version(&demo, "hello", "1.9.0").await.unwrap();
    assert_eq!(first.described.version, "1.9.0");
    let foreign = catalogs.version(&tenant("other"), "hello", "1.9.0").await;
    assert_eq!(foreign.unwrap_err().code(), "not-found");

    // A deleted version does not become another version.
    store::testing::item_delete(&catalogs.store, "1.9.0").await;
    let without = catalogs.of_deployment(&demo, "d").await.unwrap();
    assert!(without.get("hello").is_none() && without.get("nginx").is_some());
    pin(&[]).await;
    assert!(says(
        &catalogs.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
}

/// A server on this database whose folder has the item `hello` in this version.
fn server_with(store: &Store, data: &TempDir, version: &str, word: &str) -> Catalogs {
    let folder = tempfile::tempdir().unwrap();
    let files = unpack(&archive("hello", version, word), &Limits::default()).unwrap();
    folder::store_files(&folder.path().join("hello"), &files).unwrap();
    let own = Catalog::load(folder.path()).unwrap();
    Catalogs::new(own, data.path(), store.clone())
}

#[tokio::test]
async fn a_deployment_keeps_its_version_when_the_server_has_another_one() {
    let data = tempfile::tempdir().unwrap();
    let (store, demo) = (
        store::testing::memory().await.store().clone(),
        tenant("demo"),
    );
    let types = BTreeSet::from(["Stackloom::Catalog::hello"]);
    store::testing::deployment_insert(&store, &demo, "d").await;
    let change = async |catalogs: &Catalogs, catalog: &Catalog| {
        catalogs.keep_own(catalog, &types).await.unwrap();
        let mut transaction = store.begin("testing").await.unwrap();
        let pinned = catalogs.pin(&mut transaction, (&demo, "d"), catalog, &types);
        pinned.await.unwrap();
        transaction.commit().await.unwrap();
    };
    let before = server_with(&store, &data, "1.0.0", "first");
    change(&before, &before.of(&demo).await.unwrap()).await;

    let after = server_with(&store, &data, "1.1.0", "second");
    assert!(says(&after.of(&demo).await.unwrap(), "second"));
    let kept = after.of_deployment(&demo, "d").await.unwrap();
    assert!(says(&kept, "first"));
    assert_eq!(kept.get("hello").unwrap().described.version, "1.0.0");
    assert!(says(
        &after.of_deployment(&demo, "e").await.unwrap(),
        "second"
    ));
    // An unrelated change keeps the version.
    change(&after, &kept).await;
    assert!(says(
        &after.of_deployment(&demo, "d").await.unwrap(),
        "first"
    ));

    // An upgrade goes to the present version, and a roll-back to the stored one.
    let versions = after.versions(&demo).await.unwrap();
    assert_eq!(versions["hello"], ["1.1.0", "1.0.0"]);
    let wanted = |version: &str| BTreeMap::from([("hello".to_owned(), version.to_owned())]);
    let next = wanted("1.1.0");
    let upgraded = after.with_versions(&demo, Some("d"), &next);
    change(&after, &upgraded.await.unwrap()).await;
    assert!(says(
        &after.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
    let back = after
        .with_versions(&demo, Some("d"), &wanted("1.0.0"))
        .await;
    assert!(says(&back.unwrap(), "first"));
    let missing = after
        .with_versions(&demo, Some("d"), &wanted("2.0.0"))
        .await;
    assert_eq!(missing.unwrap_err().code(), "not-found");
    let first = after.version(&demo, "hello", "1.0.0").await.unwrap();
    assert_eq!(first.described.version, "1.0.0");

    // The operator goes back: the newer version stays with its deployment and is not offered.
    let back = server_with(&store, &data, "1.0.0", "first");
    assert!(says(
        &back.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
    assert_eq!(back.versions(&demo).await.unwrap()["hello"], ["1.0.0"]);

    // A server without the item serves the deployment, and the name stays taken.
    let without = Catalogs::new(Catalog::default(), data.path(), store.clone());
    assert!(says(
        &without.of_deployment(&demo, "d").await.unwrap(),
        "second"
    ));
    let archive = archive("hello", "3.0.0", "mine");
    let refused = without.publish(&demo, member("ada"), archive, None).await;
    assert_eq!(refused.unwrap_err().code(), "item-name-taken");
}

/// The server got an item whose name a draft of the project has.
#[tokio::test]
async fn a_draft_does_not_hide_the_versions_of_the_servers_own_item() {
    let data = tempfile::tempdir().unwrap();
    let (store, demo) = (
        store::testing::memory().await.store().clone(),
        tenant("demo"),
    );
    let empty = Catalogs::new(Catalog::default(), data.path(), store.clone());
    let mine = archive("hello", "1.0.0", "mine");
    let draft = empty.store_draft(&demo, member("ada"), mine, None).await;
    let draft = draft.unwrap().item.described.version.clone();

    let types = BTreeSet::from(["Stackloom::Catalog::hello"]);
    let before = server_with(&store, &data, "1.0.0", "first");
    let catalog = before.of(&demo).await.unwrap();
    before.keep_own(&catalog, &types).await.unwrap();
    let after = server_with(&store, &data, "1.1.0", "second");
    let versions = after.versions(&demo).await.unwrap();
    assert_eq!(versions["hello"], ["1.1.0", "1.0.0"]);
    for (version, word) in [
        ("1.0.0", "first"),
        ("1.1.0", "second"),
        (draft.as_str(), "mine"),
    ] {
        let wanted = BTreeMap::from([("hello".to_owned(), version.to_owned())]);
        let catalog = after.with_versions(&demo, None, &wanted).await.unwrap();
        assert!(says(&catalog, word), "{version}");
        let item = after.version(&demo, "hello", version).await.unwrap();
        assert_eq!(item.described.version, version);
    }
    // A published item would hide the versions that deployments use.
    let mine = archive("hello", "2.0.0", "mine");
    let refused = after.publish(&demo, member("ada"), mine, None).await;
    assert_eq!(refused.unwrap_err().code(), "item-name-taken");
}

#[tokio::test]
async fn a_version_never_changes_and_names_of_the_servers_own_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |name: &str, word: &str| {
        let archive = archive(name, "1.0.0", word);
        catalogs.publish(&demo, member("ada"), archive, None).await
    };
    assert!(!publish("hello", "first").await.unwrap().was_there);
    assert!(publish("hello", "first").await.unwrap().was_there);
    let refused = publish("hello", "second").await.unwrap_err();
    assert_eq!(refused.code(), "item-version-taken");
    assert_eq!(
        publish("nginx", "x").await.unwrap_err().code(),
        "item-name-taken"
    );
    let refused = catalogs
        .publish(&demo, member("ada"), b"PK".to_vec(), None)
        .await;
    assert_eq!(refused.unwrap_err().code(), "item-refused");
    assert!(says(&catalogs.of(&demo).await.unwrap(), "first"));
    assert!(
        catalogs
            .of(&tenant("other"))
            .await
            .unwrap()
            .get("hello")
            .is_none()
    );
}

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
async fn the_number_of_versions_of_an_item_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |name: &str, version: &str| {
        let archive = archive(name, version, "first");
        catalogs.publish(&demo, member("ada"), archive, None).await
    };
    publish("hello", "1.0.0").await.unwrap();
    for minor in 1..VERSIONS_MAX {
        let store = &catalogs.store;
        let first = store.item_list(&demo).await.unwrap().remove(0);
        let (name, version) = (first.name.as_str(), format!("1.{minor}.0"));
        let ada = ("ada", "ada");
        let inserted = store.item_insert(&demo, (name, &version), &first.digest, 4096, ada, b"");
        assert_eq!(inserted.await.unwrap(), Outcome::Done);
    }
    let refused = publish("hello", "2.0.0").await.unwrap_err();
    assert_eq!(refused.code(), "catalog-full");
    assert!(publish("hello", "1.0.0").await.unwrap().was_there);
    assert!(!publish("bye", "1.0.0").await.unwrap().was_there);
}

#[tokio::test]
async fn only_the_owner_and_administrators_publish_versions() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |user, rank, version: &str| {
        let archive = archive("hello", version, "x");
        let publisher = Publisher {
            rank,
            ..member(user)
        };
        catalogs.publish(&demo, publisher, archive, None).await
    };
    publish("ada", Rank::Member, "1.0.0").await.unwrap();
    let refused = publish("eve", Rank::Member, "2.0.0").await.unwrap_err();
    assert_eq!(refused.code(), "item-owned");
    assert!(refused.to_string().contains("published by ada"));
    // Who may not publish a change can test it, and nobody else's next deployment has it.
    let change = archive("hello", "2.0.0", "y");
    let draft = catalogs.store_draft(&demo, member("eve"), change, None);
    assert!(is_draft(&draft.await.unwrap().item.described.version));
    let catalog = catalogs.of(&demo).await.unwrap();
    assert_eq!(catalog.get("hello").unwrap().described.version, "1.0.0");
    publish("ada", Rank::Member, "2.0.0").await.unwrap();
    publish("root", Rank::Administrator, "3.0.0").await.unwrap();
    // An administrator's version does not change the owner.
    publish("ada", Rank::Member, "4.0.0").await.unwrap();
    // The user of this name in another domain.
    let other = Publisher {
        user_id: "other-id",
        ..member("ada")
    };
    let archive = archive("hello", "5.0.0", "x");
    let refused = catalogs
        .publish(&demo, other, archive, None)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "item-owned");
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
async fn a_role_without_a_manifest_gets_one_and_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let role = Files::from([
        (
            "role/tasks/main.yml".to_owned(),
            b"- debug: {msg: hi}".to_vec(),
        ),
        (
            "role/defaults/main.yml".to_owned(),
            b"web_port: 8080\n".to_vec(),
        ),
    ]);
    let archive = pack(&role).unwrap();
    let draft = catalogs.draft(archive.clone()).await.unwrap();
    assert_eq!(draft.recipe.ports[0].option, "web_port");
    let publish = async |manifest: Option<String>| {
        let archive = archive.clone();
        catalogs
            .publish(&demo, member("ada"), archive, manifest)
            .await
    };
    let Err(Error::ItemRefused(problems)) = publish(None).await else {
        panic!("it has no manifest")
    };
    assert_eq!(problems[0].code, "manifest-missing");
    let manifest = "{name: hello, title: T, version: 1.0.0, summary: s, category: c, listens: [{port: web_port}]}";
    let published = publish(Some(manifest.to_owned())).await.unwrap();
    assert_eq!(published.item.described.inputs[0].name, "web_port");
    // The stored archive has the added files too.
    let row = catalogs.store.item_list(&demo).await.unwrap().remove(0);
    let archive = catalogs
        .store
        .item_archive(&demo, ("hello", &row.version))
        .await
        .unwrap()
        .unwrap();
    let files = unpack(archive.as_slice(), &Limits::default()).unwrap();
    assert_eq!(digest(&files), row.digest);
}

#[tokio::test]
async fn a_draft_is_in_no_catalogue_until_a_deployment_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let draft = async |user, word: &str| {
        let archive = archive("hello", "1.0.0", word);
        let stored = catalogs.store_draft(&demo, member(user), archive, None);
        let item = stored.await.unwrap().item;
        (item.described.version.clone(), item)
    };
    let (first, item) = draft("ada", "first").await;
    assert!(first.starts_with("1.0.0-draft."), "{first}");
    assert_eq!(
        item.described.command("again").unwrap().tasks_from(),
        "main.yml"
    );
    assert!(catalogs.of(&demo).await.unwrap().get("hello").is_none());
    let versions = catalogs.versions(&demo).await.unwrap();
    assert!(!versions.contains_key("hello"));

    // A deployment that asks for it keeps it.
    let wanted = BTreeMap::from([("hello".to_owned(), first.clone())]);
    let catalog = catalogs.with_versions(&demo, None, &wanted).await.unwrap();
    assert!(says(&catalog, "first"));
    let foreign = catalogs
        .with_versions(&tenant("other"), None, &wanted)
        .await;
    assert_eq!(foreign.unwrap_err().code(), "not-found");
    store::testing::deployment_insert(&catalogs.store, &demo, "d").await;
    let mut transaction = catalogs.store.begin("testing").await.unwrap();
    let types = BTreeSet::from(["Stackloom::Catalog::hello"]);
    let pinned = catalogs.pin(&mut transaction, (&demo, "d"), &catalog, &types);
    pinned.await.unwrap();
    transaction.commit().await.unwrap();

    // A user's next draft replaces the one before that no deployment uses, with its files.
    let (second, _) = draft("ada", "second").await;
    let (others, _) = draft("eve", "other").await;
    let (third, _) = draft("ada", "third").await;
    let versions = async || {
        let rows = catalogs.store.item_list(&demo).await.unwrap().into_iter();
        rows.map(|row| row.version).collect::<BTreeSet<_>>()
    };
    let folders = || {
        let folder = catalogs.item_folder(&demo, "hello");
        std::fs::read_dir(folder).unwrap().count()
    };
    let kept = BTreeSet::from([first.clone(), others.clone(), third]);
    assert_eq!(versions().await, kept);
    assert_eq!(folders(), 3);
    assert!(!kept.contains(&second));
    let with_draft = catalogs.of_deployment(&demo, "d").await.unwrap();
    assert!(says(&with_draft, "first"));

    // Others delete a draft whose author is gone, unless a deployment has it.
    let kept_for = catalogs.delete_draft(&demo, ("hello", &first)).await;
    let kept_for = kept_for.unwrap_err();
    assert_eq!(kept_for.code(), "not-possible-now");
    assert!(kept_for.to_string().contains("`d`"), "{kept_for}");
    let elsewhere = tenant("other");
    let foreign = catalogs.delete_draft(&elsewhere, ("hello", &others));
    assert_eq!(foreign.await.unwrap_err().code(), "not-found");
    let drafts = catalogs.drafts(&demo).await.unwrap();
    assert_eq!(drafts.len(), 3);
    let deleted = catalogs.delete_draft(&demo, ("hello", &others)).await;
    deleted.unwrap();
    assert_eq!(folders(), 2);

    // A draft makes nobody the owner. The published version ends its author's drafts.
    let archive = archive("hello", "1.0.0", "third");
    let published = catalogs.publish(&demo, member("ada"), archive, None).await;
    assert!(!published.unwrap().was_there);
    let kept = BTreeSet::from([first, "1.0.0".to_owned()]);
    assert_eq!(versions().await, kept);
    assert_eq!(folders(), 2);
    let catalog = catalogs.of(&demo).await.unwrap();
    assert_eq!(catalog.get("hello").unwrap().described.version, "1.0.0");
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

#[tokio::test]
async fn a_project_has_only_so_many_items() {
    let folder = tempfile::tempdir().unwrap();
    let (catalogs, demo) = (catalogs(&folder).await, tenant("demo"));
    let publish = async |name: &str, version: &str| {
        let archive = archive(name, version, "word");
        catalogs.publish(&demo, member("ada"), archive, None).await
    };
    publish("hello", "1.0.0").await.unwrap();
    let draft = draft_version("1.0.0", &"0".repeat(64));
    for number in 1..ITEMS_MAX {
        let name = format!("draft-{number}");
        let key = (name.as_str(), draft.as_str());
        let stored = catalogs
            .store
            .item_insert(&demo, key, "digest", 1, ("ada", "ada"), b"");
        assert_eq!(stored.await.unwrap(), store::Outcome::Done);
    }
    let full = publish("world", "1.0.0").await.unwrap_err();
    assert_eq!(full.code(), "project-full");
    let versions = publish("hello", "1.1.0").await;
    assert!(versions.is_ok(), "the items that are there get versions");
}

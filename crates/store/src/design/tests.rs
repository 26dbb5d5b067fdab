use super::*;
use crate::testing::{Database, tenant};

fn content(template: &str) -> DesignContent<'_> {
    static NO_FILES: TemplateFiles = TemplateFiles {
        files: None,
        environments: None,
    };
    static NOWHERE: Layout = Layout {
        nodes: std::collections::BTreeMap::new(),
    };
    DesignContent {
        name: "shop",
        template,
        beside: &NO_FILES,
        layout: &NOWHERE,
        resources: 0,
        author: "demo",
    }
}

const LIMITS: VersionLimits = VersionLimits {
    recent: 100,
    count: 3,
    bytes: 1000,
};

#[tokio::test]
async fn a_save_from_an_older_version_changes_nothing() {
    for database in Database::each().await {
        let (store, tenant) = (&database.store, tenant());
        let id = store.design_insert(&tenant, content("1"), 1).await.unwrap();
        let id = id.unwrap();
        let save = async |base, template| {
            store
                .design_save(&tenant, &id, base, content(template), LIMITS)
                .await
                .unwrap()
        };
        assert_eq!(save(1, "2").await, Outcome::Done);
        assert_eq!(save(1, "another").await, Outcome::Conflict);
        let found = store.design_find(&tenant, &id).await.unwrap().unwrap();
        assert_eq!((found.version, found.template.as_str()), (2, "2"));
        let bytes = async || store.design_bytes(&tenant).await.unwrap();
        let of_two = bytes().await;
        assert!(of_two > 2, "{of_two}");
        let stored = async || {
            let versions = store.design_version_list(&tenant, &id).await.unwrap();
            versions.iter().map(|one| one.version).collect::<Vec<_>>()
        };
        for base in 2..5 {
            assert_eq!(save(base, "more").await, Outcome::Done);
        }
        assert_eq!(stored().await, [5, 4, 3], "by number");
        let large = "x".repeat(900);
        assert_eq!(save(5, &large).await, Outcome::Done);
        assert_eq!(stored().await, [6, 5, 4], "by number");
        assert_eq!(save(6, &large).await, Outcome::Done);
        assert_eq!(stored().await, [7], "by size; the newest stays in any case");
        // The templates of two versions had a byte each, this one has 900.
        assert_eq!(bytes().await, (of_two - 2) / 2 + 900);
        for stranger in crate::testing::strangers() {
            assert_eq!(store.design_bytes(&stranger).await.unwrap(), 0);
        }
        let deleted = store.design_delete(&tenant, &id).await.unwrap();
        assert_eq!(deleted, Outcome::Done);
        assert_eq!(bytes().await, 0);
    }
}

#[tokio::test]
async fn of_older_versions_the_last_of_each_ten_minutes_and_those_with_a_label_are_kept() {
    for database in Database::each().await {
        let (store, tenant) = (&database.store, tenant());
        let limits = VersionLimits {
            recent: 2,
            count: 100,
            bytes: 1000,
        };
        let id = store.design_insert(&tenant, content("1"), 1).await.unwrap();
        let id = id.unwrap();
        let times = ["09:59:59", "10:00:00", "10:03:00", "10:09:59", "10:10:00"];
        for (base, time) in (1..).zip(times) {
            sqlx::query("UPDATE design_versions SET saved = $1 WHERE version = $2")
                .bind(format!("2026-01-01T{time}Z"))
                .bind(base)
                .execute(&store.pool)
                .await
                .unwrap();
            let base = u32::try_from(base).unwrap();
            if base == 2 {
                let label = async |version, limit| {
                    let label = Some("first");
                    let labelled = store.design_version_label(&tenant, &id, version, label, limit);
                    labelled.await.unwrap()
                };
                assert_eq!(label(2, 1).await, Some(Outcome::Done));
                assert_eq!(label(1, 1).await, None, "one has a label already");
                assert_eq!(label(9, 2).await, Some(Outcome::Conflict));
            }
            let saved = store.design_save(&tenant, &id, base, content("more"), limits);
            assert_eq!(saved.await.unwrap(), Outcome::Done);
        }
        let versions = store.design_version_list(&tenant, &id).await.unwrap();
        let stored: Vec<_> = versions
            .iter()
            .map(|one| (one.version, one.label.as_deref()))
            .collect();
        assert_eq!(
            stored,
            [
                (6, None),
                (5, None),
                (4, None),
                (2, Some("first")),
                (1, None)
            ],
            "3 was saved shortly before 4"
        );
        let first = store.design_version_find(&tenant, &id, 1).await.unwrap();
        assert_eq!(first.unwrap().template, "1");
    }
}

#[tokio::test]
async fn a_project_has_only_so_many_designs_and_lists_them_in_parts() {
    for database in Database::each().await {
        let store = &database.store;
        for _ in 0..3 {
            let id = store.design_insert(&tenant(), content("1"), 3).await;
            assert!(id.unwrap().is_some());
        }
        let more = store.design_insert(&tenant(), content("1"), 3).await;
        assert_eq!(more.unwrap(), None);
        let part = async |offset| {
            let page = Page { limit: 2, offset };
            store.design_list(&tenant(), page).await.unwrap().len()
        };
        assert_eq!([part(0).await, part(2).await, part(4).await], [2, 1, 0]);
        for stranger in crate::testing::strangers() {
            let own = store.design_insert(&stranger, content("1"), 1).await;
            assert!(own.unwrap().is_some(), "another project has its own");
        }
    }
}

#[tokio::test]
async fn another_project_finds_no_design() {
    for database in Database::each().await {
        let store = &database.store;
        let id = store
            .design_insert(&tenant(), content("1"), 1)
            .await
            .unwrap();
        let id = id.unwrap();
        for stranger in crate::testing::strangers() {
            assert!(
                store
                    .design_list(&stranger, Page::ALL)
                    .await
                    .unwrap()
                    .is_empty()
            );
            assert_eq!(store.design_find(&stranger, &id).await.unwrap(), None);
            assert!(
                store
                    .design_version_list(&stranger, &id)
                    .await
                    .unwrap()
                    .is_empty()
            );
            let saved = store.design_save(&stranger, &id, 1, content("2"), LIMITS);
            assert_eq!(saved.await.unwrap(), Outcome::Conflict);
            assert_eq!(
                store.design_delete(&stranger, &id).await.unwrap(),
                Outcome::Conflict
            );
        }
        assert_eq!(
            store.design_delete(&tenant(), &id).await.unwrap(),
            Outcome::Done
        );
    }
}

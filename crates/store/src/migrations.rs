//! The migrations that the program applies: the files of `migrations/`, in the order of their numbers.
//!
//! A plain list, and not `sqlx::migrate!`: sqlx's macros link SQLite into the compiler, which costs minutes of every first build.

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

/// The text of a migration, by its file's name without the ending.
macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../migrations/", $name, ".sql")))),*]
    };
}

const FILES: &[(&str, &str)] = &files! {
    "0101_server_sessions"
    "0102_server_designs"
    "0103_server_design_files"
    "0201_engine_deployments"
    "0202_engine_runs"
    "0203_engine_sealed"
    "0204_engine_deployment_files"
    "0205_engine_updates"
    "0206_engine_claims"
    "0207_engine_made_with"
    "0208_engine_creations"
    "0209_engine_read_at"
    "0301_catalog_items"
    "0401_store_kinds"
    "0402_store_resumed_from"
    "0403_store_json_columns"
};

pub(crate) fn migrator() -> Migrator {
    let migration = |(name, text): &(&'static str, &'static str)| {
        let (number, description) = name.split_once('_').expect("a name has a number");
        Migration::new(
            number.parse().expect("digits stand before the first `_`"),
            description.replace('_', " ").into(),
            MigrationType::Simple,
            text.into_sql_str(),
            false,
        )
    };
    Migrator::with_migrations(FILES.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn every_file_is_applied_as_sqlx_reads_it() {
        let read = Migrator::new(Path::new("../../migrations")).await.unwrap();
        let ours = migrator();
        assert_eq!(ours.migrations.len(), read.migrations.len());
        for (ours, read) in ours.iter().zip(read.iter()) {
            assert_eq!(ours.version, read.version);
            assert_eq!(ours.description, read.description);
            assert_eq!(ours.checksum, read.checksum);
        }
    }
}

//! The migrations of the program: the files of `migrations/sqlite/` or `migrations/postgres/`, in the order of their
//! numbers. A change of the schema has the same number and name in both. PostgreSQL begins with number 403, SQLite's
//! last one at that time.
//!
//! A plain list instead of `sqlx::migrate!`: sqlx's macros link SQLite into the compiler, which takes minutes in every
//! first build.

use sqlx::{
    SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
};

use crate::database::Kind;

/// The texts of a database's migrations, by their file names without the extension.
macro_rules! files {
    ($database:literal: $($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../migrations/", $database, "/", $name, ".sql")))),*]
    };
}

const SQLITE: &[(&str, &str)] = &files! {
    "sqlite":
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
    "0501_store_audit"
    "0502_store_crashes"
    "0503_store_session_owners"
    "0504_store_author_ids"
    "0601_store_leases"
    "0602_catalog_archives"
    "0701_log_segments"
    "0801_engine_run_contents"
    "0901_design_version_labels"
    "1001_signals"
    "1011_run_scaling"
    "1021_bastion_users"
    "1031_deployment_checks"
    "1101_run_commands"
    "1111_run_parameters"
    "1121_permissions"
    "1141_suspension"
    "1151_run_replacements"
    "1161_design_viewers"
    "1171_hooks"
    "1190_audit_named_projects"
    "1211_audit_deployments"
    "1230_resource_health"
    "1240_engine_run_changes"
    "1270_run_beside"
    "1280_signal_source"
    "1330_snapshots"
    "1345_design_bytes"
    "1350_server_items"
    "1360_steps_at_hooks"
};

const POSTGRES: &[(&str, &str)] = &files! {
    "postgres":
    "0403_baseline"
    "0501_store_audit"
    "0502_store_crashes"
    "0503_store_session_owners"
    "0504_store_author_ids"
    "0601_store_leases"
    "0602_catalog_archives"
    "0701_log_segments"
    "0801_engine_run_contents"
    "0901_design_version_labels"
    "1001_signals"
    "1011_run_scaling"
    "1021_bastion_users"
    "1031_deployment_checks"
    "1101_run_commands"
    "1111_run_parameters"
    "1121_permissions"
    "1141_suspension"
    "1151_run_replacements"
    "1161_design_viewers"
    "1171_hooks"
    "1190_audit_named_projects"
    "1211_audit_deployments"
    "1230_resource_health"
    "1240_engine_run_changes"
    "1270_run_beside"
    "1280_signal_source"
    "1330_snapshots"
    "1345_design_bytes"
    "1350_server_items"
    "1360_steps_at_hooks"
};

pub(crate) fn migrator(kind: Kind) -> Migrator {
    let files = match kind {
        Kind::Sqlite => SQLITE,
        Kind::Postgres => POSTGRES,
    };
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
    Migrator::with_migrations(files.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn every_file_is_applied_as_sqlx_reads_it() {
        for (kind, folder) in [
            (Kind::Sqlite, "../../migrations/sqlite"),
            (Kind::Postgres, "../../migrations/postgres"),
        ] {
            let read = Migrator::new(Path::new(folder)).await.unwrap();
            let ours = migrator(kind);
            assert_eq!(ours.migrations.len(), read.migrations.len());
            for (ours, read) in ours.iter().zip(read.iter()) {
                assert_eq!(ours.version, read.version);
                assert_eq!(ours.description, read.description);
                assert_eq!(ours.checksum, read.checksum);
            }
        }
    }

    #[test]
    fn changes_of_the_schema_are_made_in_both_databases() {
        let after_the_baseline = |files: &[(&'static str, &str)]| -> Vec<&'static str> {
            let names = files.iter().map(|(name, _)| *name);
            names.filter(|name| *name >= "0404").collect()
        };
        assert_eq!(after_the_baseline(SQLITE), after_the_baseline(POSTGRES));
    }
}

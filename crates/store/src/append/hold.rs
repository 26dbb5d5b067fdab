//! The hold of a server on the runs that it writes to.

use std::collections::BTreeSet;

use super::Write;
use crate::{
    Entry,
    database::{Connection, Kind, statement},
};

/// Locks the runs of the writes until the end of the transaction, if they are still held under the writes' numbers. Locks the
/// deployments that the writes change first, as requests do.
pub(super) async fn lock(
    connection: &mut Connection,
    kind: Kind,
    writes: &[&Write],
) -> sqlx::Result<()> {
    let is_of_run = |entry: &Entry| matches!(entry, Entry::Run { .. });
    let changing = writes
        .iter()
        .filter(|write| write.entries.iter().any(is_of_run));
    for run in changing
        .map(|write| write.run.as_str())
        .collect::<BTreeSet<_>>()
    {
        sqlx::query(statement(&[
            "SELECT id FROM deployments WHERE id = (SELECT deployment FROM runs WHERE id = $1)",
            kind.lock_rows(),
        ]))
        .bind(run)
        .execute(&mut *connection)
        .await?;
    }
    let held = writes.iter().map(|write| (write.run.as_str(), write.fence));
    for (run, fence) in held.collect::<BTreeSet<_>>() {
        if !lock_run(connection, kind, run, fence).await? {
            return Err(sqlx::Error::RowNotFound);
        }
    }
    Ok(())
}

/// Locks a run until the end of the transaction. False if it is no longer held under this number.
pub(super) async fn lock_run(
    connection: &mut Connection,
    kind: Kind,
    run: &str,
    fence: i64,
) -> sqlx::Result<bool> {
    let found = sqlx::query(statement(&[
        "SELECT fence FROM runs WHERE id = $1 AND fence = $2",
        kind.lock_rows(),
    ]))
    .bind(run)
    .bind(fence)
    .fetch_optional(connection)
    .await?;
    Ok(found.is_some())
}

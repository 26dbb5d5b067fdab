//! The record of all resources that a deployment ever began to create in the cloud.
//!
//! A creation gets a row before its first request is sent, in the transaction that journals the intent, and keeps it.
//! The row shows if a request of unknown outcome can still be carried out: its sender was killed or aborted, or got no
//! response. From then on the creation is *uncertain*, until the cloud has been searched after a horizon. Within the
//! horizon, every service has either carried out such a request or dropped it.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use jiff::Timestamp;
use planner::workflow::copy_of;
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use crate::{
    Result, Store, Tenant, Transaction,
    column::{from_json_column, time, to_json, to_u32},
    database::{Connection, Row, read_all, read_one},
};

/// The key of a creation. The marker in the cloud contains deployment, name and incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CreationKey {
    /// The resource's name in the template.
    pub name: String,
    /// Number of the resource among all that had the name, from 0.
    pub incarnation: u32,
    /// The resource's type.
    pub resource_type: String,
}

/// A creation as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Creation {
    /// Key of the creation.
    pub key: CreationKey,
    /// Start of the first attempt.
    pub begun: Timestamp,
    /// True while an attempt is active.
    pub in_flight: bool,
    /// End of the last attempt whose request the cloud can still carry out.
    pub uncertain_since: Option<Timestamp>,
    /// True if the cloud was searched after the horizon.
    pub swept: bool,
    /// True if the created object stays in the cloud.
    pub retained: bool,
    /// Objects with its name in the cloud before the first request. `None` for types with another marker.
    pub namesakes: Option<Namesakes>,
}

/// Objects in the cloud with the same name, if names are not unique.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namesakes {
    /// The name in the template.
    pub name: String,
    /// Ids of all objects with the name, as the cloud lists them.
    pub ids: Vec<String>,
}

impl Namesakes {
    /// True if an object has the name now and did not have it before.
    pub fn are_joined_by(&self, id: &str, name: &str) -> bool {
        self.name == name && self.ids.iter().all(|before| before != id)
    }
}

impl Creation {
    /// Time until which a request of unknown outcome can still be carried out. `None` once the cloud was searched after
    /// that time.
    pub fn pending_until(&self, horizon: Duration) -> Option<Timestamp> {
        self.uncertain_since
            .filter(|_| !self.swept)
            .map(|since| later(since, horizon))
    }

    /// True if an object with this creation time can come from a request of unknown outcome. The clocks can differ by a
    /// minute.
    pub fn explains(&self, created: Timestamp, horizon: Duration) -> bool {
        const CLOCKS_DIFFER: Duration = Duration::from_secs(60);
        let Some(since) = self.uncertain_since else {
            return false;
        };
        later(created, CLOCKS_DIFFER) >= self.begun
            && created <= later(later(since, horizon), CLOCKS_DIFFER)
    }
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// A deployment's creations and the recorded ids, at one moment.
#[derive(Clone, Debug, Default)]
pub struct CreationsNow {
    /// All creations of the deployment.
    pub creations: BTreeMap<CreationKey, Creation>,
    /// The given ids that belong to a resource or copy of any deployment.
    pub recorded: HashSet<String>,
    /// Creations of resources and copies that are not deleted and have no id yet.
    pub without_id: BTreeSet<CreationKey>,
}

pub(crate) const OF_DEPLOYMENT: &str = "SELECT c.name, c.incarnation, c.type, c.begun, c.in_flight, c.uncertain_since, c.swept, c.retained, c.namesakes \
    FROM creations c JOIN deployments d ON d.id = c.deployment \
    WHERE c.deployment = $1 AND d.cloud = $2 AND d.project_id = $3 ORDER BY c.name, c.incarnation";

impl Store {
    /// A deployment's creations, by name and incarnation.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn creation_list(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<Creation>> {
        let rows = sqlx::query(OF_DEPLOYMENT)
            .bind(deployment)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .fetch_all(&self.pool)
            .await;
        read_all(rows, creation, "reading creations")
    }

    /// Objects with a creation's name in the cloud before its first request. `None` before they are recorded.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn creation_namesakes(
        &self,
        tenant: &Tenant,
        deployment: &str,
        key: &CreationKey,
    ) -> Result<Option<Namesakes>> {
        let row = sqlx::query(
            "SELECT c.namesakes FROM creations c JOIN deployments d ON d.id = c.deployment \
             WHERE c.deployment = $1 AND d.cloud = $2 AND d.project_id = $3 AND c.name = $4 AND c.incarnation = $5 AND c.type = $6",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(&key.name)
        .bind(i64::from(key.incarnation))
        .bind(&key.resource_type)
        .fetch_optional(&self.pool)
        .await;
        let read = |row: &Row| from_json_column(row.try_get("namesakes")?);
        Ok(read_one(row, read, "reading namesakes")?.flatten())
    }

    /// The last incarnation of each name of a deployment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn creation_last_incarnations(
        &self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<BTreeMap<String, u32>> {
        let creations = self.creation_list(tenant, deployment).await?;
        // Ordered by incarnation: the last one of a name stays.
        let last = creations
            .into_iter()
            .map(|creation| (creation.key.name, creation.key.incarnation));
        Ok(last.collect())
    }

    /// Records that the cloud was searched for these creations after their horizons. A creation that has become
    /// uncertain again since then stays uncertain.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn creation_mark_swept(
        &self,
        tenant: &Tenant,
        deployment: &str,
        swept: &[&Creation],
    ) -> Result<()> {
        let mut transaction = self.begin("noting a sweep").await?;
        for creation in swept {
            sqlx::query(
                "UPDATE creations SET swept = 1 WHERE name = $4 AND incarnation = $5 AND type = $6 AND uncertain_since = $7 \
                 AND deployment IN (SELECT id FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3)",
            )
            .bind(deployment)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .bind(&creation.key.name)
            .bind(i64::from(creation.key.incarnation))
            .bind(&creation.key.resource_type)
            .bind(creation.uncertain_since.map(|since| format!("{since:.3}")))
            .execute(transaction.connection())
            .await
            .map_err(transaction.failed())?;
        }
        transaction.commit().await
    }
}

impl Transaction {
    /// Resource types of a deployment's creations of unknown outcome, one per creation.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn creation_list_uncertain(
        &mut self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Vec<String>> {
        sqlx::query_scalar(
            "SELECT c.type FROM creations c JOIN deployments d ON d.id = c.deployment \
             WHERE c.deployment = $1 AND d.cloud = $2 AND d.project_id = $3 AND c.uncertain_since IS NOT NULL AND c.swept = 0",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(self.connection())
        .await
        .map_err(self.failed())
    }
}

pub(crate) fn creation(row: &Row) -> sqlx::Result<Creation> {
    let uncertain_since: Option<String> = row.try_get("uncertain_since")?;
    Ok(Creation {
        key: CreationKey {
            name: row.try_get("name")?,
            incarnation: to_u32(row.try_get("incarnation")?)?,
            resource_type: row.try_get("type")?,
        },
        begun: time(row.try_get("begun")?)?,
        in_flight: row.try_get::<i64, _>("in_flight")? != 0,
        uncertain_since: uncertain_since.as_deref().map(time).transpose()?,
        swept: row.try_get::<i64, _>("swept")? != 0,
        retained: row.try_get::<i64, _>("retained")? != 0,
        namesakes: from_json_column(row.try_get("namesakes")?)?,
    })
}

/// Whether a new attempt can send a request for a creation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    Creation,
    Nothing,
}

/// Records the start of an attempt. A resource with an id is not requested again, unless it is deleted first.
pub(crate) async fn begin(
    connection: &mut Connection,
    deployment: &str,
    name: &str,
    (incarnation, resource_type): (u32, &str),
    requests: Requests,
    time: &str,
) -> sqlx::Result<()> {
    let id: Option<String> =
        sqlx::query_scalar("SELECT physical_id FROM resources WHERE deployment = $1 AND name = $2")
            .bind(deployment)
            .bind(name)
            .fetch_one(&mut *connection)
            .await?;
    let in_flight = requests == Requests::Creation && id.is_none();
    sqlx::query(
        "INSERT INTO creations (deployment, name, incarnation, type, begun, in_flight) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (deployment, name, incarnation, type) DO UPDATE SET \
         in_flight = CASE WHEN excluded.in_flight = 1 THEN 1 ELSE creations.in_flight END",
    )
    .bind(deployment)
    .bind(copy_of(name).unwrap_or(name))
    .bind(i64::from(incarnation))
    .bind(resource_type)
    .bind(time)
    .bind(i64::from(in_flight))
    .execute(connection)
    .await
    .map(drop)
}

/// A change of a creation during an attempt.
pub(crate) enum CreationChange<'a> {
    /// The attempt's requests returned an id or a refusal.
    Answered,
    /// The failed resource is deleted, and another request follows.
    RequestedAgain,
    /// Objects with the name before the first request.
    Namesakes(&'a Namesakes),
    /// The created object stays in the cloud.
    Retained,
}

/// Changes the creation of a resource.
pub(crate) async fn moved(
    connection: &mut Connection,
    deployment: &str,
    name: &str,
    moved: CreationChange<'_>,
) -> sqlx::Result<()> {
    const OF_RESOURCE: &str = " WHERE deployment = $1 AND name = $3 AND (incarnation, type) = \
        (SELECT incarnation, type FROM resources WHERE deployment = $1 AND name = $2)";
    let (set, namesakes) = match moved {
        CreationChange::Answered => ("UPDATE creations SET in_flight = 0", None),
        CreationChange::RequestedAgain => ("UPDATE creations SET in_flight = 1", None),
        CreationChange::Retained => ("UPDATE creations SET retained = 1", None),
        // The first attempt's list applies: the list of a later attempt can contain objects that an earlier one
        // created.
        CreationChange::Namesakes(namesakes) => (
            "UPDATE creations SET namesakes = COALESCE(namesakes, $4)",
            Some(to_json(namesakes)),
        ),
    };
    let mut query = sqlx::query(crate::database::statement(&[set, OF_RESOURCE]))
        .bind(deployment)
        .bind(name)
        .bind(copy_of(name).unwrap_or(name));
    if let Some(namesakes) = namesakes {
        query = query.bind(namesakes);
    }
    query.execute(connection).await.map(drop)
}

/// Records that a step's attempt did not succeed. If its request is still in flight, its outcome is unknown from now
/// on.
pub(crate) async fn attempt_ended(
    connection: &mut Connection,
    run: &str,
    step: &str,
    time: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "UPDATE creations SET in_flight = 0, uncertain_since = $1, swept = 0 \
         WHERE in_flight = 1 AND (deployment, name) = \
         (SELECT runs.deployment, steps.resource FROM steps JOIN runs ON runs.id = steps.run \
          WHERE steps.run = $2 AND steps.id = $3 AND steps.kind IN ('create', 'update'))",
    )
    .bind(time)
    .bind(run)
    .bind(step)
    .execute(connection)
    .await
    .map(drop)
}

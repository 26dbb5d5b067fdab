//! The record of everything that a deployment ever began to create in the cloud.
//!
//! A creation has a row before its first request is sent (in the transaction that journals the intent), and keeps it. The row says
//! whether a request may still be carried out whose outcome is not known: its sender died, was cut off, or got no answer. From then
//! on the creation is *uncertain* until the cloud has been searched after a horizon in which every service has either carried
//! out such a request or dropped it.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use jiff::Timestamp;
use planner::workflow::copy_of;
use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection, sqlite::SqliteRow};

use super::{
    Journal,
    read::{from_json, to_json},
    writer::now_text,
};
use crate::{
    Error, Result,
    driver::{Marker, Namesakes},
};

/// Which creation: the mark in the cloud says deployment, name and incarnation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CreationKey {
    /// The resource's name in the template.
    pub name: String,
    /// Which of all that had the name, from 0.
    pub incarnation: u32,
    /// Resource type.
    pub resource_type: String,
}

/// A creation as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Creation {
    /// Which.
    pub key: CreationKey,
    /// When its first attempt began.
    pub begun: Timestamp,
    /// An attempt is under way.
    pub in_flight: bool,
    /// When the last attempt ended whose request the cloud may still carry out.
    pub uncertain_since: Option<Timestamp>,
    /// The cloud was searched after the horizon.
    pub swept: bool,
    /// What it created stays in the cloud on purpose.
    pub retained: bool,
    /// Things that had its name in the cloud before the first request; `None` for types with another mark.
    pub namesakes: Option<Namesakes>,
}

impl Creation {
    /// The mark that its things carry.
    pub fn marker(&self, deployment: &str, deployment_name: &str) -> Marker {
        Marker {
            deployment: deployment.to_owned(),
            deployment_name: deployment_name.to_owned(),
            resource: Marker::resource_of(&self.key.name, self.key.incarnation),
        }
    }

    /// Until when a request of unknown outcome may still be carried out; `None` once the cloud was searched after that.
    pub fn pending_until(&self, horizon: Duration) -> Option<Timestamp> {
        self.uncertain_since
            .filter(|_| !self.swept)
            .map(|since| later(since, horizon))
    }

    /// Whether a thing of this age can come from a request of unknown outcome. A minute of difference between the
    /// clocks is allowed for.
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

/// What the journal has of a deployment's creations at one moment.
#[derive(Clone, Debug, Default)]
pub struct CreationsNow {
    /// All of the deployment.
    pub creations: BTreeMap<CreationKey, Creation>,
    /// Of the ids that were asked about, those that a resource or copy of any deployment has.
    pub recorded: HashSet<String>,
    /// Creations of resources and copies that are neither deleted nor have an id yet.
    pub without_id: BTreeSet<CreationKey>,
}

const CREATION: &str = "SELECT name, incarnation, type, begun, in_flight, uncertain_since, swept, retained, namesakes \
    FROM creations WHERE deployment = ? ORDER BY name, incarnation";

/// Ids in one query: far below SQLite's limit for values.
const IDS: usize = 500;

impl Journal {
    /// All that a deployment ever began to create, by name and incarnation.
    pub async fn creations(&self, deployment: &str) -> Result<Vec<Creation>> {
        let rows = sqlx::query(CREATION)
            .bind(deployment)
            .fetch_all(self.pool())
            .await;
        rows.and_then(|rows| rows.iter().map(creation).collect())
            .map_err(Error::storage("reading creations"))
    }

    /// Things that had a creation's name in the cloud before its first request; `None` before they are noted.
    pub async fn namesakes(
        &self,
        deployment: &str,
        key: &CreationKey,
    ) -> Result<Option<Namesakes>> {
        let found: Option<Option<String>> = sqlx::query_scalar(
            "SELECT namesakes FROM creations WHERE deployment = ? AND name = ? AND incarnation = ? AND type = ?",
        )
        .bind(deployment)
        .bind(&key.name)
        .bind(key.incarnation)
        .bind(&key.resource_type)
        .fetch_optional(self.pool())
        .await
        .map_err(Error::storage("reading namesakes"))?;
        let text = found.flatten();
        let read = text.as_deref().map(from_json).transpose();
        read.map_err(Error::storage("reading namesakes"))
    }

    /// The last incarnation of all that had a resource's name in a deployment.
    pub async fn last_incarnations(&self, deployment: &str) -> Result<BTreeMap<String, u32>> {
        let rows: Vec<(String, u32)> = sqlx::query_as(
            "SELECT name, MAX(incarnation) FROM creations WHERE deployment = ? GROUP BY name",
        )
        .bind(deployment)
        .fetch_all(self.pool())
        .await
        .map_err(Error::storage("reading creations"))?;
        Ok(rows.into_iter().collect())
    }

    /// What the journal says of things that were found in the cloud. All of it is read at one moment, after the search, so whatever
    /// an attempt made before the search is in flight or recorded by then.
    pub async fn creations_now(&self, deployment: &str, ids: &[String]) -> Result<CreationsNow> {
        self.read_creations_now(deployment, ids)
            .await
            .map_err(Error::storage("reading creations"))
    }

    async fn read_creations_now(
        &self,
        deployment: &str,
        ids: &[String],
    ) -> Result<CreationsNow, sqlx::Error> {
        let mut now = CreationsNow::default();
        let mut transaction = self.pool().begin().await?;
        for row in sqlx::query(CREATION)
            .bind(deployment)
            .fetch_all(&mut *transaction)
            .await?
        {
            let creation = creation(&row)?;
            now.creations.insert(creation.key.clone(), creation);
        }
        for ids in ids.chunks(IDS) {
            // What another resource stands for by `external_id` is recorded before that one is looked at, too.
            for (column, rest) in [
                ("physical_id", "AND state <> 'deleted'"),
                (
                    "json_extract(spec, '$.external_id')",
                    "AND state <> 'deleted' AND json_extract(spec, '$.external_id') IS NOT NULL",
                ),
            ] {
                let mut query = QueryBuilder::<Sqlite>::new("SELECT DISTINCT ");
                query.push(column);
                query.push(" FROM resources WHERE ");
                query.push(column);
                query.push(" IN (");
                let mut values = query.separated(", ");
                for id in ids {
                    values.push_bind(id);
                }
                query.push(") ");
                query.push(rest);
                let found = query.build_query_scalar::<String>();
                now.recorded
                    .extend(found.fetch_all(&mut *transaction).await?);
            }
        }
        let without_id: Vec<(String, u32, String)> = sqlx::query_as(
            "SELECT name, incarnation, type FROM resources WHERE deployment = ? AND physical_id IS NULL AND state <> 'deleted'",
        )
        .bind(deployment)
        .fetch_all(&mut *transaction)
        .await?;
        let key = |(name, incarnation, resource_type): (String, u32, String)| CreationKey {
            name: copy_of(&name).unwrap_or(&name).to_owned(),
            incarnation,
            resource_type,
        };
        now.without_id = without_id.into_iter().map(key).collect();
        Ok(now)
    }

    /// The process that sent them is gone: every request in flight is of unknown outcome from now on.
    pub async fn give_up_requests(&self) -> Result<()> {
        sqlx::query("UPDATE creations SET in_flight = 0, uncertain_since = ?, swept = 0 WHERE in_flight = 1")
            .bind(now_text())
            .execute(self.pool())
            .await
            .map(drop)
            .map_err(Error::storage("recovering creations"))
    }

    /// The cloud was searched for these after their horizons. One that has become uncertain again since stays so.
    pub async fn note_swept(&self, deployment: &str, swept: &[&Creation]) -> Result<()> {
        let doing = "noting a sweep";
        let mut transaction = self
            .pool()
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(Error::storage(doing))?;
        for creation in swept {
            sqlx::query(
                "UPDATE creations SET swept = 1 WHERE deployment = ? AND name = ? AND incarnation = ? AND type = ? AND uncertain_since = ?",
            )
            .bind(deployment)
            .bind(&creation.key.name)
            .bind(creation.key.incarnation)
            .bind(&creation.key.resource_type)
            .bind(creation.uncertain_since.map(|since| format!("{since:.3}")))
            .execute(&mut *transaction)
            .await
            .map_err(Error::storage(doing))?;
        }
        transaction.commit().await.map_err(Error::storage(doing))
    }
}

fn creation(row: &SqliteRow) -> Result<Creation, sqlx::Error> {
    let namesakes: Option<String> = row.try_get("namesakes")?;
    let uncertain_since: Option<String> = row.try_get("uncertain_since")?;
    Ok(Creation {
        key: CreationKey {
            name: row.try_get("name")?,
            incarnation: row.try_get("incarnation")?,
            resource_type: row.try_get("type")?,
        },
        begun: time(row.try_get("begun")?)?,
        in_flight: row.try_get::<i64, _>("in_flight")? != 0,
        uncertain_since: uncertain_since.as_deref().map(time).transpose()?,
        swept: row.try_get::<i64, _>("swept")? != 0,
        retained: row.try_get::<i64, _>("retained")? != 0,
        namesakes: namesakes.as_deref().map(from_json).transpose()?,
    })
}

fn time(text: &str) -> Result<Timestamp, sqlx::Error> {
    text.parse()
        .map_err(|error: jiff::Error| sqlx::Error::Decode(Box::new(error)))
}

// ---- what the writer does with entries ----

/// An attempt begins. Where the resource has an id, nothing is requested unless that is cleared away first.
pub(super) async fn begin(
    connection: &mut SqliteConnection,
    run: &str,
    name: &str,
    incarnation: u32,
    resource_type: &str,
    requests: Requests,
    time: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO creations (deployment, name, incarnation, type, begun, in_flight) \
         SELECT runs.deployment, ?1, ?2, ?3, ?4, ?5 AND resources.physical_id IS NULL \
         FROM runs JOIN resources ON resources.deployment = runs.deployment AND resources.name = ?6 WHERE runs.id = ?7 \
         ON CONFLICT DO UPDATE SET in_flight = MAX(in_flight, excluded.in_flight)",
    )
    .bind(copy_of(name).unwrap_or(name))
    .bind(incarnation)
    .bind(resource_type)
    .bind(time)
    .bind(requests == Requests::Creation)
    .bind(name)
    .bind(run)
    .execute(connection)
    .await
    .map(drop)
}

/// Whether what begins may request a creation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requests {
    Creation,
    Nothing,
}

/// What changes of a creation while an attempt goes on.
pub(super) enum Moved<'a> {
    /// The attempt's requests are answered: by an id, or by a refusal.
    Answered,
    /// What was made is cleared away, and a request for another one follows.
    RequestedAgain,
    /// Things that had the name before the first request.
    Namesakes(&'a Namesakes),
    /// What was made stays in the cloud on purpose.
    Retained,
}

/// The creation that a resource's row is of.
const OF_RESOURCE: &str = " WHERE (deployment, name, incarnation, type) = \
    (SELECT resources.deployment, CASE WHEN instr(resources.name, '@') > 0 THEN substr(resources.name, 1, instr(resources.name, '@') - 1) \
     ELSE resources.name END, resources.incarnation, resources.type \
     FROM resources JOIN runs ON runs.deployment = resources.deployment WHERE runs.id = ? AND resources.name = ?)";

pub(super) async fn moved(
    connection: &mut SqliteConnection,
    run: &str,
    name: &str,
    moved: Moved<'_>,
) -> Result<(), sqlx::Error> {
    let (set, value) = match moved {
        Moved::Answered => ("UPDATE creations SET in_flight = 0", None),
        Moved::RequestedAgain => ("UPDATE creations SET in_flight = 1", None),
        Moved::Retained => ("UPDATE creations SET retained = 1", None),
        // Those of the first attempt: a later one may see what an earlier one made.
        Moved::Namesakes(namesakes) => (
            "UPDATE creations SET namesakes = COALESCE(namesakes, ?)",
            Some(to_json(namesakes)),
        ),
    };
    let statement = sqlx::AssertSqlSafe([set, OF_RESOURCE].concat());
    let mut query = sqlx::query(statement);
    if let Some(value) = value {
        query = query.bind(value);
    }
    query
        .bind(run)
        .bind(name)
        .execute(connection)
        .await
        .map(drop)
}

/// A step's attempt has ended without success. If its request is still in flight, the outcome is unknown from now on.
pub(super) async fn attempt_ended(
    connection: &mut SqliteConnection,
    run: &str,
    step: &str,
    time: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE creations SET in_flight = 0, uncertain_since = ?, swept = 0 \
         WHERE in_flight = 1 AND (deployment, name) = \
         (SELECT runs.deployment, steps.resource FROM steps JOIN runs ON runs.id = steps.run \
          WHERE steps.run = ? AND steps.id = ? AND steps.kind IN ('create', 'update'))",
    )
    .bind(time)
    .bind(run)
    .bind(step)
    .execute(connection)
    .await
    .map(drop)
}

//! Resources that a deployment has, or possibly has, in the cloud.
//!
//! A row is written before the call to the cloud, and its cloud id before the engine waits for the resource.

use std::collections::BTreeMap;

use api::{DeployedResource, Named as _, ResourceState};
use planner::workflow::{Origin, ResourceSpec};
use serde_json::{Map, Value};
use sqlx::Row as _;

use crate::{
    Health, ResourceChange, Result, Store, Tenant, Transaction,
    column::{from_json, from_json_column, from_text, to_json, to_u32},
    creation::{self, CreationChange, Requests},
    database::{Connection, Row, read_all},
};

/// A resource as stored.
#[derive(Clone, Debug)]
pub struct ResourceRow {
    /// Name in the template. Older copies have their own names.
    pub name: String,
    /// Description of the resource at its creation or last update.
    pub spec: ResourceSpec,
    /// The cloud's id. `None` until it is known.
    pub physical_id: Option<String>,
    /// Value of `get_resource`. `None` until it is ready.
    pub reference: Option<Value>,
    /// Values of `get_attr`.
    pub attributes: Map<String, Value>,
    /// State of the resource.
    pub state: ResourceState,
    /// Number of the resource among all that had the name, from 0.
    pub incarnation: u32,
    /// Values of the properties that refer to other resources, when it was created or last updated.
    pub made_from: BTreeMap<String, Value>,
    /// Keyed digests of the hidden parameters' values at its creation or last update. `None` if they are unknown.
    pub made_with: Option<BTreeMap<String, String>>,
    /// Entries that unfinished updates may have added, by property.
    pub tried: Map<String, Value>,
    /// Time when the attributes were read from the cloud, RFC 3339. `None` if it is unknown.
    pub read_at: Option<String>,
    /// The last answers of its health checks. `None` if they never answered.
    pub health: Option<LastHealth>,
}

/// The last answers of a component's health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastHealth {
    /// Time of the first of the healthy answers without another one in between, RFC 3339. `None` if it was not healthy.
    pub since: Option<String>,
    /// Time of the last answers, RFC 3339.
    pub time: String,
    /// Newest run of the deployment at that time.
    pub run: Option<String>,
}

impl ResourceRow {
    /// The fields for the API.
    pub fn shown(&self) -> DeployedResource {
        DeployedResource {
            name: self.name.clone(),
            resource_type: self.spec.resource_type.clone(),
            physical_id: self.physical_id.clone(),
            state: self.state,
            derived: self.spec.origin != Origin::Drawn,
        }
    }
}

impl Store {
    /// A deployment's resources that are not deleted, by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn resource_list(
        &self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Vec<ResourceRow>> {
        let mut rows = self.resource_list_all(tenant, deployment).await?;
        rows.retain(|row| row.state != ResourceState::Removed);
        Ok(rows)
    }

    /// A deployment's resources, including deleted ones, by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn resource_list_all(
        &self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Vec<ResourceRow>> {
        let rows = sqlx::query(
            "SELECT r.name, r.spec, r.physical_id, r.reference, r.attributes, r.state, r.incarnation, r.made_from, r.made_with, r.tried, \
             r.read_at, r.suspended, r.healthy_since, r.health_at, r.health_run FROM resources r JOIN deployments d ON d.id = r.deployment \
             WHERE r.deployment = $1 AND d.cloud = $2 AND d.project_id = $3 ORDER BY r.name",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        read_all(rows, resource, "reading resources")
    }
}

impl Transaction {
    /// Renames copies to their original names, by name and copy, and deletes the rows of deleted copies, because their
    /// names can be used again.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn resource_restore_copies(
        &mut self,
        tenant: &Tenant,
        deployment: &str,
        restores: &BTreeMap<String, String>,
    ) -> Result<()> {
        const OWN: &str = " AND deployment IN (SELECT id FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3)";
        sqlx::query(crate::database::statement(&[
            "DELETE FROM resources WHERE state = 'deleted' AND name LIKE '%@%'",
            OWN,
        ]))
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        for (name, copy) in restores {
            let aside = format!("{copy}@");
            for (from, to) in [(name, &aside), (copy, name), (&aside, copy)] {
                sqlx::query(crate::database::statement(&[
                    "UPDATE resources SET name = $4 WHERE name = $5",
                    OWN,
                ]))
                .bind(deployment)
                .bind(&tenant.cloud)
                .bind(&tenant.project_id)
                .bind(to)
                .bind(from)
                .execute(self.connection())
                .await
                .map_err(self.failed())?;
            }
        }
        Ok(())
    }
}

/// Changes the row of a resource, and the record of its creation.
pub(crate) async fn change(
    connection: &mut Connection,
    deployment: &str,
    name: &str,
    change: &ResourceChange,
    (run, time): (&str, &str),
) -> sqlx::Result<()> {
    let query = match change {
        ResourceChange::Begin {
            spec,
            state,
            incarnation,
        } => {
            begin(
                connection,
                deployment,
                name,
                (spec, *state, *incarnation),
                time,
            )
            .await?;
            return Ok(());
        }
        ResourceChange::Refused => {
            return creation::moved(connection, deployment, name, CreationChange::Answered).await;
        }
        ResourceChange::Namesakes(namesakes) => {
            return creation::moved(connection, deployment, name, CreationChange::Namesakes(namesakes))
                .await;
        }
        ResourceChange::Retained => {
            creation::moved(connection, deployment, name, CreationChange::Retained).await?;
            sqlx::query(
                "UPDATE resources SET state = 'deleted', physical_id = NULL, reference = NULL, attributes = NULL \
                 WHERE deployment = $1 AND name = $2",
            )
            .bind(deployment)
            .bind(name)
        }
        ResourceChange::Known { physical_id } => {
            sqlx::query("UPDATE resources SET physical_id = $3 WHERE deployment = $1 AND name = $2")
                .bind(deployment)
                .bind(name)
                .bind(physical_id)
        }
        ResourceChange::Ready {
            reference,
            attributes,
            physical_id,
            made_from,
            made_with,
            health: _,
        } => sqlx::query(
            "UPDATE resources SET state = 'ready', reference = $3, attributes = $4, physical_id = $5, made_from = $6, made_with = $7, \
             read_at = $8, tried = NULL, suspended = 0 WHERE deployment = $1 AND name = $2",
        )
        .bind(deployment)
        .bind(name)
        .bind(to_json(reference))
        .bind(to_json(attributes))
        .bind(physical_id)
        .bind(to_json(made_from))
        .bind(to_json(made_with))
        .bind(time),
        ResourceChange::Attributes { attributes, .. } => {
            sqlx::query("UPDATE resources SET attributes = $3 WHERE deployment = $1 AND name = $2")
                .bind(deployment)
                .bind(name)
                .bind(to_json(attributes))
        }
        ResourceChange::Tries { tried } => {
            sqlx::query("UPDATE resources SET tried = $3 WHERE deployment = $1 AND name = $2")
                .bind(deployment)
                .bind(name)
                .bind(to_json(tried))
        }
        ResourceChange::PutAside { copy, .. } => {
            sqlx::query("UPDATE resources SET name = $3 WHERE deployment = $1 AND name = $2")
                .bind(deployment)
                .bind(name)
                .bind(copy)
        }
        ResourceChange::To { state, .. } if *state == ResourceState::Removed => sqlx::query(
            "UPDATE resources SET state = $3, physical_id = NULL, reference = NULL, attributes = NULL \
             WHERE deployment = $1 AND name = $2",
        )
        .bind(deployment)
        .bind(name)
        .bind(column_word(*state)),
        ResourceChange::To {
            state: state @ (ResourceState::Ready | ResourceState::Suspended),
            ..
        } => sqlx::query(
            "UPDATE resources SET state = 'ready', suspended = $3 WHERE deployment = $1 AND name = $2",
        )
        .bind(deployment)
        .bind(name)
        .bind(i64::from(*state == ResourceState::Suspended)),
        // A server whose deletion fails stays suspended.
        ResourceChange::To { state, .. } => sqlx::query(
            "UPDATE resources SET state = $3, healthy_since = CASE WHEN $3 = 'failed' THEN NULL ELSE healthy_since END \
             WHERE deployment = $1 AND name = $2",
        )
        .bind(deployment)
        .bind(name)
        .bind(column_word(*state)),
        ResourceChange::Forgotten => sqlx::query(
            "UPDATE resources SET state = 'creating', physical_id = NULL, reference = NULL, attributes = NULL \
             WHERE deployment = $1 AND name = $2",
        )
        .bind(deployment)
        .bind(name),
    };
    let done = query.execute(&mut *connection).await?;
    match change {
        // Without its row, an id and its object in the cloud would be lost.
        ResourceChange::Known { .. } | ResourceChange::Ready { .. }
            if done.rows_affected() == 0 =>
        {
            Err(sqlx::Error::RowNotFound)
        }
        ResourceChange::Ready {
            health: Some(health),
            ..
        } => {
            set_health(connection, deployment, name, *health, (Some(run), time)).await?;
            creation::moved(connection, deployment, name, CreationChange::Answered).await
        }
        ResourceChange::Known { .. } | ResourceChange::Ready { .. } => {
            creation::moved(connection, deployment, name, CreationChange::Answered).await
        }
        // Software on a suspended server is not healthy meanwhile.
        ResourceChange::To {
            state: ResourceState::Suspended,
            ..
        } => sqlx::query("UPDATE resources SET healthy_since = NULL WHERE deployment = $1")
            .bind(deployment)
            .execute(&mut *connection)
            .await
            .map(drop),
        ResourceChange::Forgotten => {
            creation::moved(connection, deployment, name, CreationChange::RequestedAgain).await
        }
        _ => Ok(()),
    }
}

/// Stores the results of a component's health checks. `run` is the deployment's newest run at that time.
pub(crate) async fn set_health(
    connection: &mut Connection,
    deployment: &str,
    name: &str,
    health: Health,
    (run, time): (Option<&str>, &str),
) -> sqlx::Result<()> {
    let query = match health {
        Health::Healthy => sqlx::query(
            "UPDATE resources SET healthy_since = COALESCE(healthy_since, $3), health_at = $3, health_run = $4 \
             WHERE deployment = $1 AND name = $2",
        ),
        Health::Unhealthy => sqlx::query(
            "UPDATE resources SET healthy_since = NULL, health_at = $3, health_run = $4 \
             WHERE deployment = $1 AND name = $2",
        ),
    };
    let query = query.bind(deployment).bind(name).bind(time).bind(run);
    query.execute(connection).await.map(drop)
}

/// An existing resource under the name keeps its id: it is read, or deleted, before another one is created.
async fn begin(
    connection: &mut Connection,
    deployment: &str,
    name: &str,
    (spec, state, incarnation): (&ResourceSpec, ResourceState, u32),
    time: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO resources (deployment, name, type, spec, external_id, state, incarnation) VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (deployment, name) DO UPDATE SET type = excluded.type, spec = excluded.spec, external_id = excluded.external_id, \
         state = excluded.state, incarnation = excluded.incarnation, suspended = 0, \
         healthy_since = CASE WHEN excluded.state = 'creating' THEN NULL ELSE resources.healthy_since END",
    )
    .bind(deployment)
    .bind(name)
    .bind(&spec.resource_type)
    .bind(to_json(spec))
    .bind(external_id(spec))
    .bind(column_word(state))
    .bind(i64::from(incarnation))
    .execute(&mut *connection)
    .await?;
    let requests = if spec.external_id.is_none() && state == ResourceState::Creating {
        Requests::Creation
    } else {
        Requests::Nothing
    };
    creation::begin(
        connection,
        deployment,
        name,
        (incarnation, &spec.resource_type),
        requests,
        time,
    )
    .await
}

/// The id of the resource's external object, if the template contains it as plain text.
fn external_id(spec: &ResourceSpec) -> Option<String> {
    match serde_json::to_value(&spec.external_id) {
        Ok(Value::String(id)) => Some(id),
        _ => None,
    }
}

/// Word of a state in the column, whose constraint has older ones for a removal.
fn column_word(state: ResourceState) -> &'static str {
    match state {
        ResourceState::Removing => "deleting",
        ResourceState::Removed => "deleted",
        state => state.word(),
    }
}

fn state(row: &Row) -> sqlx::Result<ResourceState> {
    let state = from_text(row.try_get("state")?)?;
    let is_suspended = row.try_get::<i64, _>("suspended")? != 0;
    Ok(match state {
        ResourceState::Ready | ResourceState::Failed if is_suspended => ResourceState::Suspended,
        state => state,
    })
}

fn last_health(row: &Row) -> sqlx::Result<Option<LastHealth>> {
    let time: Option<String> = row.try_get("health_at")?;
    let (since, run) = (row.try_get("healthy_since")?, row.try_get("health_run")?);
    Ok(time.map(|time| LastHealth { since, time, run }))
}

fn resource(row: &Row) -> sqlx::Result<ResourceRow> {
    Ok(ResourceRow {
        name: row.try_get("name")?,
        spec: from_json(row.try_get("spec")?)?,
        physical_id: row.try_get("physical_id")?,
        reference: from_json_column(row.try_get("reference")?)?,
        attributes: from_json_column(row.try_get("attributes")?)?.unwrap_or_default(),
        state: state(row)?,
        incarnation: to_u32(row.try_get("incarnation")?)?,
        made_from: from_json_column(row.try_get("made_from")?)?.unwrap_or_default(),
        made_with: from_json_column(row.try_get("made_with")?)?,
        tried: from_json_column(row.try_get("tried")?)?.unwrap_or_default(),
        read_at: row.try_get("read_at")?,
        health: last_health(row)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Entry, LogQuota, Outcome, Write,
        testing::{Database, deployment_insert_with_run, strangers, tenant},
    };

    fn write(change: ResourceChange) -> Write {
        Write {
            tenant: tenant(),
            run: "r".into(),
            fence: 0,
            entries: vec![Entry::Resource {
                name: "nginx".into(),
                change,
            }],
        }
    }

    fn begun(state: ResourceState) -> ResourceChange {
        let spec = r#"{"type": "Stackloom::Catalog::nginx", "origin": {"from": "drawn"}}"#;
        ResourceChange::Begin {
            spec: serde_json::from_str(spec).unwrap(),
            state,
            incarnation: 0,
        }
    }

    fn healthy() -> ResourceChange {
        ResourceChange::Ready {
            reference: Value::Null,
            attributes: Map::new(),
            physical_id: None,
            made_from: BTreeMap::new(),
            made_with: BTreeMap::new(),
            health: Some(Health::Healthy),
        }
    }

    fn check(time: &str) -> api::Check {
        api::Check {
            id: "c".into(),
            time: time.into(),
            author: "demo".into(),
            run: Some("r".into()),
            checked: 1,
            left_out: 0,
            findings: Vec::new(),
            following: None,
        }
    }

    #[tokio::test]
    async fn a_resource_is_read_in_the_state_in_which_it_was_stored() {
        for database in Database::each().await {
            let store = &database.store;
            deployment_insert_with_run(store, &tenant(), "d", "r").await;
            let mut appender = store.appender(LogQuota::NONE);
            let begin = write(begun(ResourceState::Creating));
            appender.append(&[&begin]).await.unwrap();
            let to = |state| {
                write(ResourceChange::To {
                    state,
                    physical_id: None,
                })
            };
            for state in ResourceState::ALL {
                let resumed = to(ResourceState::Ready);
                appender.append(&[&resumed, &to(*state)]).await.unwrap();
                let rows = store.resource_list_all(&tenant(), "d").await.unwrap();
                assert_eq!(rows[0].state, *state);
            }
        }
    }

    #[tokio::test]
    async fn health_begins_with_the_first_healthy_answer_and_ends_with_an_unhealthy_one() {
        for database in Database::each().await {
            let store = &database.store;
            deployment_insert_with_run(store, &tenant(), "d", "r").await;
            let mut appender = store.appender(LogQuota::NONE);
            let health = async || {
                let rows = store.resource_list(&tenant(), "d").await.unwrap();
                rows[0].health.clone()
            };
            let checked = async |time: &str, health: Health| {
                let seen = BTreeMap::from([("nginx".to_owned(), health)]);
                let stored = store
                    .deployment_set_check(&tenant(), "d", &check(time), &seen)
                    .await;
                assert_eq!(stored.unwrap(), Outcome::Done);
            };
            let begin = write(begun(ResourceState::Creating));
            appender.append(&[&begin]).await.unwrap();
            assert_eq!(health().await, None);
            // The wait of the run is the first answer. Later runs and checks go on from there.
            appender.append(&[&write(healthy())]).await.unwrap();
            let first = health().await.unwrap();
            assert_eq!(first.since.as_ref(), Some(&first.time));
            assert_eq!(first.run.as_deref(), Some("r"));
            let update = write(begun(ResourceState::Updating));
            appender
                .append(&[&update, &write(healthy())])
                .await
                .unwrap();
            checked("2999-01-01T00:00:00Z", Health::Healthy).await;
            let later = health().await.unwrap();
            assert_eq!(later.since, first.since);
            assert_eq!(later.time, "2999-01-01T00:00:00Z");
            checked("2999-01-02T00:00:00Z", Health::Unhealthy).await;
            assert_eq!(health().await.unwrap().since, None);
            checked("2999-01-03T00:00:00Z", Health::Healthy).await;
            let since = health().await.unwrap().since;
            assert_eq!(since.as_deref(), Some("2999-01-03T00:00:00Z"));
            // A restoration makes the last check and its answers outdated.
            let outdate = async |who: &Tenant| {
                let mut transaction = store.begin("testing").await.unwrap();
                let outdated = transaction.deployment_outdate_check(who, "d").await;
                outdated.unwrap();
                transaction.commit().await.unwrap();
                let found = store.deployment_find(&tenant(), "d").await.unwrap();
                let check = found.and_then(|row| row.shown.check).unwrap();
                (check.run, health().await.unwrap().run)
            };
            for stranger in &strangers() {
                let present = Some("r".to_owned());
                assert_eq!(outdate(stranger).await, (present.clone(), present));
            }
            assert_eq!(outdate(&tenant()).await, (None, None));
            assert_eq!(health().await.unwrap().since, since);
            // A new one begins anew.
            appender.append(&[&begin]).await.unwrap();
            assert_eq!(health().await.unwrap().since, None);
        }
    }
}

//! Resources that a deployment has, or possibly has, in the cloud.
//!
//! A row is written before the call to the cloud, and its cloud id before the engine waits for the resource.

use std::collections::BTreeMap;

use api::{DeployedResource, ResourceState};
use planner::workflow::{Origin, ResourceSpec};
use serde_json::{Map, Value};
use sqlx::Row as _;

use crate::{
    ResourceChange, Result, Store, Tenant, Transaction,
    column::{from_json, from_json_column, from_text, to_json, to_text, to_u32},
    creation::{self, CreationChange, Requests},
    database::{Connection, Row, read_all},
};

/// A resource as stored.
#[derive(Clone, Debug)]
pub struct ResourceRow {
    /// Name in the template. Older copies have their own names.
    pub name: String,
    /// Its description when it was created or last updated.
    pub spec: ResourceSpec,
    /// The cloud's id. `None` until it is known.
    pub physical_id: Option<String>,
    /// Value of `get_resource`. `None` until it is ready.
    pub reference: Option<Value>,
    /// Values of `get_attr`.
    pub attributes: Map<String, Value>,
    /// Its state.
    pub state: ResourceState,
    /// Its number among all resources that had the name, from 0.
    pub incarnation: u32,
    /// Values of the properties that refer to other resources, when it was created or last updated.
    pub made_from: BTreeMap<String, Value>,
    /// Keyed digests of the hidden parameters' values at its creation or last update. `None` if they are unknown.
    pub made_with: Option<BTreeMap<String, String>>,
    /// Entries that unfinished updates may have added, by property.
    pub tried: Map<String, Value>,
    /// Time when the attributes were read from the cloud, RFC 3339. `None` if it is unknown.
    pub read_at: Option<String>,
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
        rows.retain(|row| row.state != ResourceState::Deleted);
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
             r.read_at, r.suspended FROM resources r JOIN deployments d ON d.id = r.deployment \
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
    time: &str,
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
        ResourceChange::To { state, .. } if *state == ResourceState::Deleted => sqlx::query(
            "UPDATE resources SET state = $3, physical_id = NULL, reference = NULL, attributes = NULL \
             WHERE deployment = $1 AND name = $2",
        )
        .bind(deployment)
        .bind(name)
        .bind(to_text(state)),
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
        ResourceChange::To { state, .. } => {
            sqlx::query("UPDATE resources SET state = $3 WHERE deployment = $1 AND name = $2")
                .bind(deployment)
                .bind(name)
                .bind(to_text(state))
        }
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
        ResourceChange::Known { .. } | ResourceChange::Ready { .. } => {
            creation::moved(connection, deployment, name, CreationChange::Answered).await
        }
        ResourceChange::Forgotten => {
            creation::moved(connection, deployment, name, CreationChange::RequestedAgain).await
        }
        _ => Ok(()),
    }
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
         state = excluded.state, incarnation = excluded.incarnation, suspended = 0",
    )
    .bind(deployment)
    .bind(name)
    .bind(&spec.resource_type)
    .bind(to_json(spec))
    .bind(external_id(spec))
    .bind(to_text(&state))
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

fn state(row: &Row) -> sqlx::Result<ResourceState> {
    let state = from_text(row.try_get("state")?)?;
    let is_suspended = row.try_get::<i64, _>("suspended")? != 0;
    Ok(match state {
        ResourceState::Ready | ResourceState::Failed if is_suspended => ResourceState::Suspended,
        state => state,
    })
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
    })
}

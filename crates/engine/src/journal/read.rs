//! Reading the tables. What the facade shows takes a [`Tenant`]; what the engine itself reads does not.

use std::collections::BTreeMap;

use api::{
    DeployedResource, Deployment, DeploymentState, Event, EventBody, ResourceState, Run, RunKind,
    RunState, RunStep, StepState,
};
use planner::workflow::{Origin, OutputSpec, ResourceSpec, StepKind, Workflow};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use sqlx::{Row, sqlite::SqliteRow};

use super::Journal;
use crate::{Error, Result, Tenant, machine::Ending};

/// A deployment with what only the engine needs.
#[derive(Clone, Debug)]
pub struct DeploymentRow {
    /// As shown, without resources and outputs.
    pub shown: Deployment,
    /// Whose.
    pub tenant: Tenant,
    /// Parameter values, hidden ones left out.
    pub parameters: BTreeMap<String, Value>,
    /// Not yet resolved.
    pub outputs: BTreeMap<String, OutputSpec>,
    /// What a roll-back leads to.
    pub good: Option<Good>,
    /// The name of the secret in the vault that has the hidden parameters.
    pub hidden: Option<String>,
}

/// A resource as stored.
#[derive(Clone, Debug)]
pub struct ResourceRow {
    /// Its name.
    pub name: String,
    /// As it was made.
    pub spec: ResourceSpec,
    /// The cloud's id, once there is one.
    pub physical_id: Option<String>,
    /// What `get_resource` gives, once it is there.
    pub reference: Option<Value>,
    /// What `get_attr` gives.
    pub attributes: Map<String, Value>,
    /// What it is in.
    pub state: ResourceState,
    /// Which one it is of all that had the name.
    pub incarnation: u32,
    /// Values of the properties that mention others, when it was made or last changed.
    pub made_from: BTreeMap<String, Value>,
    /// Digests of the hidden parameters' values that it was made with or last changed to; `None` where that is not known.
    pub made_with: Option<BTreeMap<String, String>>,
    /// What changes that did not end may have put into it, by property.
    pub tried: Map<String, Value>,
    /// When the attributes were read from the cloud, RFC 3339; `None` where that is not known.
    pub read_at: Option<String>,
}

/// What the last run that ended well was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Good {
    /// HOT.
    pub template: String,
    /// Files and environments beside it, as the column has them.
    #[serde(default)]
    pub beside: Value,
    /// Where nodes stood.
    pub layout: Value,
    /// Parameter values, hidden ones left out.
    pub parameters: BTreeMap<String, Value>,
    /// The name of the secret in the vault that has those.
    #[serde(default)]
    pub hidden: Option<String>,
    /// That design's version.
    pub design_version: Option<u32>,
}

/// A run with what only the engine needs.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// As shown, without steps.
    pub shown: Run,
    /// Whose.
    pub tenant: Tenant,
    /// The bad end that it is bound for.
    pub ending: Option<Ending>,
    /// Goes on past failed steps.
    pub forced: bool,
    /// What the cloud has, in JSON, if it shall be rolled back when it fails.
    pub roll_back: Option<String>,
    /// JSON; see [`RunRow::workflow`].
    pub workflow: String,
}

impl RunRow {
    /// What it walks.
    pub fn workflow(&self) -> Result<Workflow> {
        from_json(&self.workflow).map_err(Error::storage("reading a workflow"))
    }
}

/// How far a run is for who looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It goes on.
    AtWork,
    /// It has ended, and shall be rolled back: why that does not begin is told in its own events.
    ToBeRolledBack,
    /// Nothing comes any more, unless somebody resumes it.
    Over,
}

/// A step as stored.
pub type StepRow = RunStep;

/// Whose rows a query may see.
#[derive(Clone, Copy, Debug)]
pub enum Scoped<'a> {
    /// One project's.
    To(&'a Tenant),
    /// All: the engine's own recovery.
    ToNone,
}

const DEPLOYMENT: &str = "SELECT id, cloud, project_id, name, state, template, beside, layout, parameters, outputs, design, design_version, \
    author, last_run, created, updated, good, hidden FROM deployments";
const RUN: &str = "SELECT id, deployment, cloud, project_id, kind, state, ending, forced, reason, workflow, author, created, started, ended, rolls_back, roll_back FROM runs";

impl Journal {
    /// The project's deployments, newest first.
    pub async fn deployments(&self, tenant: &Tenant) -> Result<Vec<DeploymentRow>> {
        let rows = sqlx::query(sql(&[
            DEPLOYMENT,
            " WHERE cloud = ? AND project_id = ? ORDER BY created DESC, id DESC",
        ]))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(self.pool())
        .await;
        read_all(rows, deployment, "listing deployments")
    }

    /// One of them.
    pub async fn deployment(&self, scope: Scoped<'_>, id: &str) -> Result<Option<DeploymentRow>> {
        let row = sqlx::query(sql(&[DEPLOYMENT, " WHERE id = ?"]))
            .bind(id)
            .fetch_optional(self.pool())
            .await;
        let row = row
            .and_then(|row| row.as_ref().map(deployment).transpose())
            .map_err(Error::storage("reading a deployment"))?;
        Ok(row.filter(|row| scope.allows(&row.tenant)))
    }

    /// What a deployment has in the cloud, deleted things left out, by name.
    pub async fn resources(&self, deployment: &str) -> Result<Vec<ResourceRow>> {
        let mut rows = self.all_resources(deployment).await?;
        rows.retain(|row| row.state != ResourceState::Deleted);
        Ok(rows)
    }

    /// The same with deleted things.
    pub async fn all_resources(&self, deployment: &str) -> Result<Vec<ResourceRow>> {
        let rows = sqlx::query(
            "SELECT name, spec, physical_id, reference, attributes, state, incarnation, made_from, made_with, tried, read_at FROM resources \
             WHERE deployment = ? ORDER BY name",
        )
        .bind(deployment)
        .fetch_all(self.pool())
        .await;
        read_all(rows, resource, "reading resources")
    }

    /// A deployment's runs, newest first.
    pub async fn runs(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<RunRow>> {
        let rows = sqlx::query(sql(&[
            RUN,
            " WHERE deployment = ? AND cloud = ? AND project_id = ? ORDER BY created DESC, id DESC",
        ]))
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(self.pool())
        .await;
        read_all(rows, run, "listing runs")
    }

    /// One of them.
    pub async fn run(&self, scope: Scoped<'_>, id: &str) -> Result<Option<RunRow>> {
        let row = sqlx::query(sql(&[RUN, " WHERE id = ?"]))
            .bind(id)
            .fetch_optional(self.pool())
            .await;
        let row = row
            .and_then(|row| row.as_ref().map(run).transpose())
            .map_err(Error::storage("reading a run"))?;
        Ok(row.filter(|row| scope.allows(&row.tenant)))
    }

    /// Runs that have not ended, oldest first.
    pub async fn runs_at_work(&self, scope: Scoped<'_>) -> Result<Vec<RunRow>> {
        let rows = sqlx::query(sql(&[
            RUN,
            " WHERE state NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY created, id",
        ]))
        .fetch_all(self.pool())
        .await;
        let mut all = read_all(rows, run, "listing runs")?;
        all.retain(|row| scope.allows(&row.tenant));
        Ok(all)
    }

    /// Runs that failed and are to be rolled back, oldest first.
    pub async fn runs_to_roll_back(&self) -> Result<Vec<RunRow>> {
        let rows = sqlx::query(sql(&[
            RUN,
            " WHERE roll_back IS NOT NULL AND state = 'failed' ORDER BY created",
        ]))
        .fetch_all(self.pool())
        .await;
        read_all(rows, run, "listing runs")
    }

    /// A run is not rolled back by itself. If it has ended, the token that was kept for it goes.
    pub async fn forget_roll_back(&self, run: &str) -> Result<()> {
        let doing = "deciding about a roll-back";
        let mut transaction = self
            .pool()
            .begin_with("BEGIN IMMEDIATE")
            .await
            .map_err(Error::storage(doing))?;
        for statement in [
            "DELETE FROM sealed WHERE kind = 'run' AND name IN (SELECT id FROM runs WHERE id = ? AND roll_back IS NOT NULL \
             AND state IN ('succeeded', 'failed', 'cancelled'))",
            "UPDATE runs SET roll_back = NULL WHERE id = ?",
        ] {
            sqlx::query(statement)
                .bind(run)
                .execute(&mut *transaction)
                .await
                .map_err(Error::storage(doing))?;
        }
        transaction.commit().await.map_err(Error::storage(doing))
    }

    /// A run's steps, in the workflow's order.
    pub async fn steps(&self, run: &str) -> Result<Vec<StepRow>> {
        let rows = sqlx::query(
            "SELECT id, kind, resource, state, waits_for, attempts, started, ended, error FROM steps WHERE run = ? ORDER BY position",
        )
        .bind(run)
        .fetch_all(self.pool())
        .await;
        read_all(rows, step, "reading steps")
    }

    /// Events after a number, at most `limit`.
    pub async fn events(&self, run: &str, after: u64, limit: u32) -> Result<Vec<Event>> {
        let rows = sqlx::query(
            "SELECT seq, time, body FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?",
        )
        .bind(run)
        .bind(i64::try_from(after).unwrap_or(i64::MAX))
        .bind(i64::from(limit))
        .fetch_all(self.pool())
        .await;
        read_all(rows, event, "reading events")
    }

    /// How far a run is for who looks at it; one that is not there is over.
    pub async fn standing(&self, run: &str) -> Result<Standing> {
        let row: Option<(String, bool)> =
            sqlx::query_as("SELECT state, roll_back IS NOT NULL FROM runs WHERE id = ?")
                .bind(run)
                .fetch_optional(self.pool())
                .await
                .map_err(Error::storage("reading a run"))?;
        let Some((state, is_rolled_back)) = row else {
            return Ok(Standing::Over);
        };
        let state = from_text::<RunState>(&state).map_err(Error::storage("reading a run"))?;
        Ok(match (state.is_final(), is_rolled_back) {
            (false, _) => Standing::AtWork,
            (true, true) => Standing::ToBeRolledBack,
            (true, false) => Standing::Over,
        })
    }

    /// How often a run has ended badly so far; each time somebody may resume it.
    pub async fn bad_ends(&self, run: &str) -> Result<i64> {
        sqlx::query_scalar(
            "SELECT COUNT(*) FROM events WHERE run = ? AND type = 'run' AND json_extract(body, '$.state') IN ('failed', 'cancelled')",
        )
        .bind(run)
        .fetch_one(self.pool())
        .await
        .map_err(Error::storage("reading events"))
    }
}

impl Scoped<'_> {
    fn allows(&self, tenant: &Tenant) -> bool {
        match self {
            Scoped::To(allowed) => *allowed == tenant,
            Scoped::ToNone => true,
        }
    }
}

/// Rows that a query gave, as what they say.
fn read_all<T>(
    rows: Result<Vec<SqliteRow>, sqlx::Error>,
    read: impl Fn(&SqliteRow) -> Result<T, sqlx::Error>,
    doing: &'static str,
) -> Result<Vec<T>> {
    rows.and_then(|rows| rows.iter().map(read).collect())
        .map_err(Error::storage(doing))
}

/// Statements are made of our own constants only.
fn sql(parts: &[&'static str]) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(parts.concat())
}

fn tenant(row: &SqliteRow) -> Result<Tenant, sqlx::Error> {
    Ok(Tenant {
        cloud: row.try_get("cloud")?,
        project_id: row.try_get("project_id")?,
    })
}

fn deployment(row: &SqliteRow) -> Result<DeploymentRow, sqlx::Error> {
    let good: Option<String> = row.try_get("good")?;
    let state = from_text::<DeploymentState>(row.try_get("state")?)?;
    Ok(DeploymentRow {
        tenant: tenant(row)?,
        parameters: from_json(row.try_get("parameters")?)?,
        outputs: from_json(row.try_get("outputs")?)?,
        good: good.as_deref().map(from_json).transpose()?,
        hidden: row.try_get("hidden")?,
        shown: Deployment {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            state,
            can_roll_back: state == DeploymentState::Failed && good.is_some(),
            created: row.try_get("created")?,
            updated: row.try_get("updated")?,
            author: row.try_get("author")?,
            design: row.try_get("design")?,
            design_version: row.try_get("design_version")?,
            last_run: row.try_get("last_run")?,
            template: row.try_get("template")?,
            beside: from_json(row.try_get("beside")?)?,
            layout: from_json(row.try_get("layout")?)?,
            resources: Vec::new(),
            outputs: BTreeMap::new(),
        },
    })
}

fn resource(row: &SqliteRow) -> Result<ResourceRow, sqlx::Error> {
    let reference: Option<String> = row.try_get("reference")?;
    let attributes: Option<String> = row.try_get("attributes")?;
    let made_from: Option<String> = row.try_get("made_from")?;
    let made_with: Option<String> = row.try_get("made_with")?;
    let tried: Option<String> = row.try_get("tried")?;
    Ok(ResourceRow {
        name: row.try_get("name")?,
        spec: from_json(row.try_get("spec")?)?,
        physical_id: row.try_get("physical_id")?,
        reference: reference.as_deref().map(from_json).transpose()?,
        attributes: attributes
            .as_deref()
            .map(from_json)
            .transpose()?
            .unwrap_or_default(),
        state: from_text(row.try_get("state")?)?,
        incarnation: row.try_get("incarnation")?,
        made_from: made_from
            .as_deref()
            .map(from_json)
            .transpose()?
            .unwrap_or_default(),
        made_with: made_with.as_deref().map(from_json).transpose()?,
        tried: tried
            .as_deref()
            .map(from_json)
            .transpose()?
            .unwrap_or_default(),
        read_at: row.try_get("read_at")?,
    })
}

impl ResourceRow {
    /// For the API.
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

fn run(row: &SqliteRow) -> Result<RunRow, sqlx::Error> {
    let ending: Option<String> = row.try_get("ending")?;
    Ok(RunRow {
        tenant: tenant(row)?,
        ending: ending.as_deref().map(from_text).transpose()?,
        forced: row.try_get::<i64, _>("forced")? != 0,
        roll_back: row.try_get("roll_back")?,
        workflow: row.try_get("workflow")?,
        shown: Run {
            id: row.try_get("id")?,
            deployment: row.try_get("deployment")?,
            kind: from_text::<RunKind>(row.try_get("kind")?)?,
            rolls_back: row.try_get::<i64, _>("rolls_back")? != 0,
            state: from_text::<RunState>(row.try_get("state")?)?,
            reason: row.try_get("reason")?,
            author: row.try_get("author")?,
            created: row.try_get("created")?,
            started: row.try_get("started")?,
            ended: row.try_get("ended")?,
            steps: Vec::new(),
        },
    })
}

fn step(row: &SqliteRow) -> Result<StepRow, sqlx::Error> {
    Ok(RunStep {
        id: row.try_get("id")?,
        kind: from_text::<StepKind>(row.try_get("kind")?)?,
        resource: row.try_get("resource")?,
        state: from_text::<StepState>(row.try_get("state")?)?,
        after: from_json(row.try_get("waits_for")?)?,
        attempts: row.try_get::<u32, _>("attempts")?,
        started: row.try_get("started")?,
        ended: row.try_get("ended")?,
        error: row.try_get("error")?,
    })
}

fn event(row: &SqliteRow) -> Result<Event, sqlx::Error> {
    Ok(Event {
        seq: row.try_get::<i64, _>("seq")?.cast_unsigned(),
        time: row.try_get("time")?,
        body: from_json::<EventBody>(row.try_get("body")?)?,
    })
}

/// What our own types look like in a column. They are maps with text keys, so this cannot fail.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("our types have text keys")
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, sqlx::Error> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// A state or kind as the API writes it.
pub(crate) fn to_text(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        other => unreachable!("states are written as text, not {other:?}"),
    }
}

pub(crate) fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, sqlx::Error> {
    serde_json::from_value(Value::String(text.to_owned()))
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

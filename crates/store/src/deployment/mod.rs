//! Deployments. The row of an undeployed deployment stays as history.

mod check;

use std::collections::{BTreeMap, HashMap};

use api::{
    CheckSummary, Deployment, DeploymentState, DeploymentSummary, Layout, Named as _, Run,
    TemplateFiles,
};
use planner::{
    scaling::{SCALING_GROUP, members},
    workflow::{OutputSpec, ResourceSpec},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::Row as _;

use crate::{
    Error, Outcome, Page, Result, Store, Tenant, Transaction,
    column::{from_json, from_json_column, from_text, now_text, to_json, to_u32},
    database::{Connection, Row, read_all, read_one, statement},
    run,
};

/// A deployment as stored.
#[derive(Clone, Debug)]
pub struct DeploymentRow {
    /// The fields for the API, without resources and outputs.
    pub shown: Deployment,
    /// The owner.
    pub tenant: Tenant,
    /// Parameter values without hidden ones.
    pub parameters: BTreeMap<String, Value>,
    /// Expressions of the outputs, not yet resolved.
    pub outputs: BTreeMap<String, OutputSpec>,
    /// The target of a roll-back. `None` until a run has succeeded.
    pub good: Option<LastGoodContent>,
    /// Name of the secret with the hidden parameters. `None` if there is no such secret.
    pub hidden: Option<String>,
}

/// The content of a deployment after its last successful run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LastGoodContent {
    /// The template as HOT text.
    pub template: String,
    /// Files and environments.
    #[serde(default)]
    pub beside: Value,
    /// Positions of the nodes.
    pub layout: Value,
    /// Parameter values without hidden ones.
    pub parameters: BTreeMap<String, Value>,
    /// Names of the members of each scaling group.
    #[serde(default)]
    pub groups: BTreeMap<String, Vec<String>>,
    /// Versions of the project's catalogue items.
    #[serde(default)]
    pub items: BTreeMap<String, String>,
    /// Name of the secret with the hidden parameters; a column of its own.
    #[serde(skip)]
    pub hidden: Option<String>,
    /// Version of the design.
    pub design_version: Option<u32>,
}

/// The content that a deployment or an update stores.
#[derive(Clone, Copy, Debug)]
pub struct DeploymentContent<'a> {
    /// The template as HOT text.
    pub template: &'a str,
    /// Files and environments.
    pub beside: &'a TemplateFiles,
    /// Positions of the nodes.
    pub layout: &'a Layout,
    /// Parameter values without hidden ones.
    pub parameters: &'a BTreeMap<String, Value>,
    /// Expressions of the outputs.
    pub outputs: &'a BTreeMap<String, OutputSpec>,
    /// Name of the secret with the hidden parameters.
    pub hidden: Option<&'a str>,
    /// Id of the design. An update without one keeps it.
    pub design: Option<&'a str>,
    /// Version of the design. An update without one keeps it.
    pub design_version: Option<u32>,
}

/// The state of a deployment when a plan was made.
#[derive(Clone, Debug)]
pub struct DeploymentRevision {
    last_run: String,
    updated: String,
}

impl DeploymentRow {
    /// The revision that the caller has seen, for [`Transaction::deployment_claim`].
    pub fn seen(&self) -> DeploymentRevision {
        DeploymentRevision {
            last_run: self.shown.last_run.clone().unwrap_or_default(),
            updated: self.shown.updated.clone(),
        }
    }
}

const SELECT: &str = "SELECT id, cloud, project_id, name, state, template, beside, layout, parameters, outputs, design, design_version, \
    author, last_run, created, updated, good, good_hidden, hidden, last_check, suspended FROM deployments";

/// The deployments of a page of the list.
const ON_PAGE: &str = " (SELECT id, last_run FROM deployments WHERE cloud = $1 AND project_id = $2 \
    ORDER BY created DESC, id DESC LIMIT $3 OFFSET $4) AS page";

/// A resource that counts for a [`DeploymentSummary`].
enum Summarised {
    Server,
    /// The address of a floating IP, if it is known.
    Address(Option<String>),
}

impl Store {
    /// A page of the project's deployments, newest first, with summaries, without template, files and positions.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_list(&self, tenant: &Tenant, page: Page) -> Result<Vec<Deployment>> {
        let doing = "listing deployments";
        let rows = sqlx::query(
            "SELECT id, name, state, suspended, design, design_version, author, last_run, last_check, created, updated, CAST(CASE WHEN good IS NULL THEN 0 ELSE 1 END AS BIGINT) AS has_good \
             FROM deployments WHERE cloud = $1 AND project_id = $2 ORDER BY created DESC, id DESC LIMIT $3 OFFSET $4",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(page.limit))
        .bind(i64::from(page.offset))
        .fetch_all(&self.pool)
        .await;
        let mut deployments = read_all(rows, listed, doing)?;
        let rows = sqlx::query(statement(&[
            run::SHOWN,
            " FROM runs WHERE id IN (SELECT last_run FROM",
            ON_PAGE,
            ")",
        ]))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(page.limit))
        .bind(i64::from(page.offset))
        .fetch_all(&self.pool)
        .await;
        let mut runs: HashMap<String, Run> = read_all(rows, run::shown, doing)?
            .into_iter()
            .map(|run| (run.deployment.clone(), run))
            .collect();
        let rows = sqlx::query(statement(&[
            "SELECT deployment, type, attributes FROM resources \
             WHERE type IN ('OS::Nova::Server', 'OS::Neutron::FloatingIP') AND state <> 'deleted' AND physical_id IS NOT NULL \
             AND deployment IN (SELECT id FROM",
            ON_PAGE,
            ") ORDER BY name",
        ]))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(page.limit))
        .bind(i64::from(page.offset))
        .fetch_all(&self.pool)
        .await;
        let mut resources: HashMap<String, (u32, Vec<String>)> = HashMap::new();
        for (deployment, resource) in read_all(rows, summarised, doing)? {
            let (servers, addresses) = resources.entry(deployment).or_default();
            match resource {
                Summarised::Server => *servers += 1,
                Summarised::Address(address) => addresses.extend(address),
            }
        }
        for deployment in &mut deployments {
            let (servers, addresses) = resources.remove(&deployment.id).unwrap_or_default();
            deployment.summary = Some(DeploymentSummary {
                servers,
                addresses,
                run: runs.remove(&deployment.id),
                check: deployment.present_check().map(CheckSummary::of),
            });
            deployment.check = None;
        }
        Ok(deployments)
    }

    /// A deployment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_find(
        &self,
        tenant: &Tenant,
        id: &str,
    ) -> Result<Option<DeploymentRow>> {
        let row = sqlx::query(statement(&[
            SELECT,
            " WHERE id = $1 AND cloud = $2 AND project_id = $3",
        ]))
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await;
        read_one(row, deployment, "reading a deployment")
    }

    /// True if a live deployment of the project has the name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_name_is_taken(&self, tenant: &Tenant, name: &str) -> Result<bool> {
        let count: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM deployments WHERE cloud = $1 AND project_id = $2 AND name = $3 AND state <> 'undeployed'",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .fetch_one(&self.pool)
        .await
        .map_err(Error::at("looking for a name"))?;
        Ok(count > 0)
    }
}

/// Numbers of a project's deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeploymentCount {
    /// Number of deployments that are not undeployed.
    pub live: i64,
    /// Number of undeployed deployments.
    pub undeployed: i64,
}

impl Transaction {
    /// Numbers of the project's deployments.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_count(&mut self, tenant: &Tenant) -> Result<DeploymentCount> {
        let row = sqlx::query(
            "SELECT COUNT(*) AS known, CAST(COALESCE(SUM(CASE WHEN state = 'undeployed' THEN 1 ELSE 0 END), 0) AS BIGINT) AS undeployed \
             FROM deployments WHERE cloud = $1 AND project_id = $2",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_one(self.connection())
        .await;
        let count = |row: Row| {
            let (known, undeployed): (i64, i64) =
                (row.try_get("known")?, row.try_get("undeployed")?);
            Ok(DeploymentCount {
                live: known - undeployed,
                undeployed,
            })
        };
        row.and_then(count).map_err(self.failed())
    }

    /// Inserts a running deployment. [`Outcome::Conflict`] where a live deployment has the name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_insert(
        &mut self,
        tenant: &Tenant,
        id: &str,
        name: &str,
        author: &str,
        content: DeploymentContent<'_>,
    ) -> Result<Outcome> {
        let done = sqlx::query(
            "INSERT INTO deployments (id, cloud, project_id, name, state, template, beside, layout, parameters, outputs, hidden, design, \
             design_version, author, created, updated) VALUES ($1, $2, $3, $4, 'busy', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14) \
             ON CONFLICT DO NOTHING",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .bind(content.template)
        .bind(to_json(content.beside))
        .bind(to_json(content.layout))
        .bind(to_json(content.parameters))
        .bind(to_json(content.outputs))
        .bind(content.hidden)
        .bind(content.design)
        .bind(content.design_version.map(i64::from))
        .bind(author)
        .bind(now_text())
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Replaces the content of a deployment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_update(
        &mut self,
        tenant: &Tenant,
        id: &str,
        content: DeploymentContent<'_>,
    ) -> Result<()> {
        sqlx::query(
            "UPDATE deployments SET template = $1, beside = $2, layout = $3, parameters = $4, outputs = $5, hidden = $6, \
             design = COALESCE($7, design), design_version = COALESCE($8, design_version) \
             WHERE id = $9 AND cloud = $10 AND project_id = $11",
        )
        .bind(content.template)
        .bind(to_json(content.beside))
        .bind(to_json(content.layout))
        .bind(to_json(content.parameters))
        .bind(to_json(content.outputs))
        .bind(content.hidden)
        .bind(content.design)
        .bind(content.design_version.map(i64::from))
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map(drop)
        .map_err(self.failed())
    }

    /// Makes a deployment busy with a new run. [`Outcome::Conflict`] if it has changed since `seen`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_claim(
        &mut self,
        tenant: &Tenant,
        id: &str,
        run: &str,
        seen: Option<&DeploymentRevision>,
    ) -> Result<Outcome> {
        let done = sqlx::query(
            "UPDATE deployments SET state = 'busy', last_run = $1, updated = $2 WHERE id = $3 AND cloud = $4 AND project_id = $5 \
             AND COALESCE(last_run, '') = COALESCE($6, last_run, '') AND updated = COALESCE($7, updated)",
        )
        .bind(run)
        .bind(now_text())
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(seen.map(|seen| &seen.last_run))
        .bind(seen.map(|seen| &seen.updated))
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Locks a deployment for the storing of a run that changes nothing of it. [`Outcome::Conflict`] if it is undeployed.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_hold(&mut self, tenant: &Tenant, id: &str) -> Result<Outcome> {
        let done = sqlx::query(
            "UPDATE deployments SET updated = updated WHERE id = $1 AND cloud = $2 AND project_id = $3 AND state <> 'undeployed'",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Makes a failed deployment busy with its last run again. [`Outcome::Conflict`] if it is not failed, or another
    /// run came after.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn deployment_reclaim(
        &mut self,
        tenant: &Tenant,
        id: &str,
        run: &str,
    ) -> Result<Outcome> {
        let done = sqlx::query(
            "UPDATE deployments SET state = 'busy', updated = $1 \
             WHERE id = $2 AND cloud = $3 AND project_id = $4 AND last_run = $5 AND state = 'failed'",
        )
        .bind(now_text())
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(run)
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        Ok(Outcome::of(done.rows_affected()))
    }
}

/// Sets the state of a deployment. If it is deployed, its content becomes the last good content.
pub(crate) async fn set_state(
    connection: &mut Connection,
    id: &str,
    state: DeploymentState,
    time: &str,
) -> sqlx::Result<()> {
    sqlx::query("UPDATE deployments SET state = $1, updated = $2, suspended = $4 WHERE id = $3")
        .bind(column_word(state))
        .bind(time)
        .bind(id)
        .bind(i64::from(state == DeploymentState::Suspended))
        .execute(&mut *connection)
        .await?;
    if state != DeploymentState::Deployed {
        return Ok(());
    }
    let row = sqlx::query(statement(&[SELECT, " WHERE id = $1"]))
        .bind(id)
        .fetch_one(&mut *connection)
        .await?;
    let good = LastGoodContent {
        template: row.try_get("template")?,
        beside: from_json(row.try_get("beside")?)?,
        layout: from_json(row.try_get("layout")?)?,
        parameters: from_json(row.try_get("parameters")?)?,
        groups: group_members(connection, id).await?,
        items: item_versions(connection, id).await?,
        hidden: None,
        design_version: design_version(&row)?,
    };
    sqlx::query("UPDATE deployments SET good = $1, good_hidden = hidden WHERE id = $2")
        .bind(to_json(&good))
        .bind(id)
        .execute(connection)
        .await
        .map(drop)
}

/// Versions of the catalogue items that a deployment uses.
async fn item_versions(
    connection: &mut Connection,
    deployment: &str,
) -> sqlx::Result<BTreeMap<String, String>> {
    let rows = sqlx::query("SELECT item, version FROM deployment_items WHERE deployment = $1")
        .bind(deployment)
        .fetch_all(connection)
        .await?;
    let versions = rows
        .iter()
        .map(|row| Ok((row.try_get("item")?, row.try_get("version")?)));
    versions.collect()
}

/// Names of the members of a deployment's scaling groups.
async fn group_members(
    connection: &mut Connection,
    deployment: &str,
) -> sqlx::Result<BTreeMap<String, Vec<String>>> {
    let rows = sqlx::query(
        "SELECT name, spec FROM resources WHERE deployment = $1 AND type = $2 AND state <> 'deleted'",
    )
    .bind(deployment)
    .bind(SCALING_GROUP)
    .fetch_all(connection)
    .await?;
    let mut groups = BTreeMap::new();
    for row in rows {
        let spec: ResourceSpec = from_json(row.try_get("spec")?)?;
        groups.insert(row.try_get("name")?, members(&spec));
    }
    Ok(groups)
}

fn design_version(row: &Row) -> sqlx::Result<Option<u32>> {
    let version: Option<i64> = row.try_get("design_version")?;
    version.map(to_u32).transpose()
}

/// Word of a state in the column. Its constraint has an older word for a running deployment, and none for a suspended one,
/// which is stored as deployed and has a mark in another column.
pub(crate) fn column_word(state: DeploymentState) -> &'static str {
    match state {
        DeploymentState::Running => "busy",
        DeploymentState::Suspended => DeploymentState::Deployed.word(),
        state => state.word(),
    }
}

fn state(row: &Row) -> sqlx::Result<DeploymentState> {
    let state = from_text::<DeploymentState>(row.try_get("state")?)?;
    let is_suspended = row.try_get::<i64, _>("suspended")? != 0;
    Ok(match state {
        DeploymentState::Deployed if is_suspended => DeploymentState::Suspended,
        state => state,
    })
}

fn listed(row: &Row) -> sqlx::Result<Deployment> {
    let state = state(row)?;
    let has_good = row.try_get::<i64, _>("has_good")? != 0;
    Ok(Deployment {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        state,
        can_roll_back: state == DeploymentState::Failed && has_good,
        created: row.try_get("created")?,
        updated: row.try_get("updated")?,
        author: row.try_get("author")?,
        design: row.try_get("design")?,
        design_version: design_version(row)?,
        last_run: row.try_get("last_run")?,
        summary: None,
        template: String::new(),
        beside: TemplateFiles::nothing(),
        layout: Layout::default(),
        resources: Vec::new(),
        groups: Vec::new(),
        services: Vec::new(),
        items: Vec::new(),
        check: from_json_column(row.try_get("last_check")?)?,
        permission: None,
        outputs: BTreeMap::new(),
    })
}

fn summarised(row: &Row) -> sqlx::Result<(String, Summarised)> {
    let attributes: Option<Map<String, Value>> = from_json_column(row.try_get("attributes")?)?;
    let address = || {
        let address = attributes.as_ref()?.get("floating_ip_address")?;
        address.as_str().map(str::to_owned)
    };
    let resource = match row.try_get::<&str, _>("type")? {
        "OS::Nova::Server" => Summarised::Server,
        _ => Summarised::Address(address()),
    };
    Ok((row.try_get("deployment")?, resource))
}

fn deployment(row: &Row) -> sqlx::Result<DeploymentRow> {
    let good: Option<LastGoodContent> = from_json_column(row.try_get("good")?)?;
    let good_hidden: Option<String> = row.try_get("good_hidden")?;
    let good = good.map(|good| LastGoodContent {
        hidden: good_hidden,
        ..good
    });
    let state = state(row)?;
    Ok(DeploymentRow {
        tenant: Tenant::read(row)?,
        parameters: from_json(row.try_get("parameters")?)?,
        outputs: from_json(row.try_get("outputs")?)?,
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
            design_version: design_version(row)?,
            last_run: row.try_get("last_run")?,
            summary: None,
            template: row.try_get("template")?,
            beside: from_json(row.try_get("beside")?)?,
            layout: from_json(row.try_get("layout")?)?,
            resources: Vec::new(),
            groups: Vec::new(),
            services: Vec::new(),
            items: Vec::new(),
            check: from_json_column(row.try_get("last_check")?)?,
            permission: None,
            outputs: BTreeMap::new(),
        },
        good,
    })
}

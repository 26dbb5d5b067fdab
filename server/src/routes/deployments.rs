//! Deployments of templates.

use api::{
    DeployRequest, Deployment, Layout, Plan, Run, ScaleRequest, Started, Stray, TemplateFiles,
    UpgradeRequest,
};
use axum::{
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use engine::{Changes, Force, NewDeployment, RollBack};
use serde::Deserialize;

use crate::{
    auth::{Caller, Member},
    codes,
    extract::{DONE, Json, Paged, Query},
    problem::{Error, Result},
    services::Services,
};

/// The project's deployments, newest first, without template, resources and outputs.
///
/// At most `limit` (default 500, maximum 1,000). A full page has a header `Link` to the next one.
#[utoipa::path(get, path = "/api/v1/deployments", tag = "deployments", params(("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query)), responses((status = 200, body = Vec<Deployment>)))]
pub async fn list(
    State(services): State<Services>,
    caller: Caller,
    paged: Paged,
) -> Result<Response> {
    let deployments = services.engine.deployments(caller.tenant(), paged.page);
    Ok(paged.answer(deployments.await?))
}

/// Starts a run that deploys a template or a version of a design.
#[utoipa::path(post, path = "/api/v1/deployments", tag = "deployments", request_body = DeployRequest, responses((status = 202, body = Started)))]
pub async fn create(
    State(services): State<Services>,
    Member(caller): Member,
    Json(request): Json<DeployRequest>,
) -> Result<impl IntoResponse> {
    let wanted = Wanted::read(&services, &caller, &request).await?;
    let (template, bundle) = (&wanted.template, wanted.beside.bundle());
    let cloud = services
        .facts
        .for_template(&caller.actor, template, &bundle);
    let cloud = cloud.await?;
    let new = NewDeployment {
        name: request.name,
        template: wanted.template,
        bundle,
        layout: wanted.layout,
        parameters: request.parameters,
        design: wanted.design,
        design_version: wanted.design_version,
        versions: request.versions,
        cloud,
        plan_digest: request.plan_digest,
        despite_quota: request.despite_quota,
    };
    Ok(accepted(services.engine.deploy(&caller.actor, new).await?))
}

/// One deployment, with its resources and outputs. Attributes in outputs are read from the cloud.
///
/// The values of secret outputs are for members.
#[utoipa::path(get, path = "/api/v1/deployments/{id}", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = Deployment)))]
pub async fn get(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Deployment>> {
    let mut deployment = services.engine.deployment_now(&caller.actor, &id).await?;
    if !caller.me.can_change {
        let outputs = deployment.outputs.into_iter();
        deployment.outputs = outputs
            .map(|(name, output)| (name, output.without_secret()))
            .collect();
    }
    Ok(Json(deployment))
}

/// Starts a run that updates the deployment to another template.
#[utoipa::path(put, path = "/api/v1/deployments/{id}", tag = "deployments", params(("id" = String, Path)), request_body = DeployRequest, responses((status = 202, body = Started)))]
pub async fn update(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Json(request): Json<DeployRequest>,
) -> Result<impl IntoResponse> {
    let wanted = Wanted::read(&services, &caller, &request).await?;
    let (template, bundle) = (&wanted.template, wanted.beside.bundle());
    let cloud = services
        .facts
        .for_template(&caller.actor, template, &bundle);
    let cloud = cloud.await?;
    let changes = Changes {
        template: wanted.template,
        bundle: wanted
            .beside
            .files
            .is_some()
            .then(|| wanted.beside.bundle()),
        layout: wanted.layout,
        parameters: request.parameters,
        design: wanted.design,
        design_version: wanted.design_version,
        versions: request.versions,
        cloud,
        rolls_back: request.run.map(|_run| RollBack::EarlierRun),
        base_run: request.base_run,
        plan_digest: request.plan_digest,
        instead_of: request.instead_of,
        on_failure: request.on_failure,
        despite_quota: request.despite_quota,
        ..Changes::default()
    };
    Ok(accepted(
        services.engine.update(&caller.actor, &id, changes).await?,
    ))
}

/// Starts a run that gives a scaling group another size: the one of the request, or the one of a policy.
///
/// The run is an update that changes nothing else. A policy is refused during a cooldown, unless `force` is set.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/groups/{name}/scale", tag = "deployments", params(("id" = String, Path), ("name" = String, Path)), request_body = ScaleRequest, responses((status = 202, body = Started)))]
pub async fn scale(
    State(services): State<Services>,
    Member(caller): Member,
    Path((id, group)): Path<(String, String)>,
    Json(request): Json<ScaleRequest>,
) -> Result<impl IntoResponse> {
    let engine = &services.engine;
    let deployment = engine.deployment(caller.tenant(), &id).await?;
    if request.size.is_some() == request.policy.is_some() {
        return Err(Error::new(
            codes::INVALID_REQUEST,
            "Exactly one of `size` and `policy` must be given.",
        )
        .hint("Send the size that the group is to have, or the name of its policy.")
        .path("size"));
    }
    let cloud = services.facts.for_deployment(&caller.actor, &deployment);
    let cloud = cloud.await?;
    let started = engine.scale(&caller.actor, &id, &group, request, cloud);
    Ok(accepted(started.await?))
}

/// Sets the components of a catalogue item up with another version of it, in batches.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/upgrade", tag = "deployments", params(("id" = String, Path)), request_body = UpgradeRequest, responses((status = 202, body = Started)))]
pub async fn upgrade(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Json(request): Json<UpgradeRequest>,
) -> Result<impl IntoResponse> {
    if request.batch == Some(0) {
        return Err(Error::new(
            codes::INVALID_REQUEST,
            "`batch` is 0: no component would be set up.",
        )
        .hint("Give the number of components that are set up at the same time, or leave it out for 1."));
    }
    let engine = &services.engine;
    let deployment = engine.deployment(caller.tenant(), &id).await?;
    let cloud = services.facts.for_deployment(&caller.actor, &deployment);
    let started = engine.upgrade(&caller.actor, &id, request, cloud.await?);
    Ok(accepted(started.await?))
}

/// `?base_run=...`
#[derive(Deserialize)]
pub struct BaseQuery {
    base_run: Option<String>,
}

/// The plan of the run that returns the deployment to its state before a failed change. For members.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/rollback", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = Object)))]
pub async fn roll_back_plan(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> Result<Json<Plan>> {
    let cloud = services.facts.of(&caller.actor).await;
    let plan = services
        .engine
        .roll_back_plan(&caller.actor, &id, &cloud)
        .await;
    Ok(Json(plan?))
}

/// `?base_run=...&plan_digest=...`
#[derive(Deserialize)]
pub struct RollBackQuery {
    base_run: Option<String>,
    plan_digest: Option<String>,
}

/// Starts a run that returns the deployment to its state before a failed change.
///
/// With `base_run`, the newest run that the user has seen, it is refused if there is a newer one. With `plan_digest`, the
/// `digest` of the plan that the user has reviewed, it is refused if the plan has other changes.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/rollback", tag = "deployments", params(("id" = String, Path), ("base_run" = Option<String>, Query), ("plan_digest" = Option<String>, Query)), responses((status = 202, body = Started)))]
pub async fn roll_back(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Query(query): Query<RollBackQuery>,
) -> Result<impl IntoResponse> {
    check_base(&services, &caller, &id, query.base_run.as_deref()).await?;
    let cloud = services.facts.of(&caller.actor).await;
    let started = services
        .engine
        .roll_back_reviewed(&caller.actor, &id, &cloud, query.plan_digest);
    Ok(accepted(started.await?))
}

/// Starts a run that suspends all servers, dependents first. Memory, volumes and addresses are kept.
///
/// A suspended deployment can be checked, resumed and undeployed; other changes are refused. With `base_run`, the newest
/// run that the user has seen, it is refused if there is a newer one.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/suspend", tag = "deployments", params(("id" = String, Path), ("base_run" = Option<String>, Query)), responses((status = 202, body = Started)))]
pub async fn suspend(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Query(query): Query<BaseQuery>,
) -> Result<impl IntoResponse> {
    check_base(&services, &caller, &id, query.base_run.as_deref()).await?;
    let engine = &services.engine;
    Ok(accepted(engine.suspend(&caller.actor, &id).await?))
}

/// Starts a run that resumes the suspended servers, dependents last.
///
/// With `base_run`, the newest run that the user has seen, it is refused if there is a newer one.
#[utoipa::path(post, path = "/api/v1/deployments/{id}/resume", tag = "deployments", params(("id" = String, Path), ("base_run" = Option<String>, Query)), responses((status = 202, body = Started)))]
pub async fn resume(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Query(query): Query<BaseQuery>,
) -> Result<impl IntoResponse> {
    check_base(&services, &caller, &id, query.base_run.as_deref()).await?;
    let resumed = services.engine.resume_deployment(&caller.actor, &id);
    Ok(accepted(resumed.await?))
}

/// `?force=true&base_run=...`
#[derive(Deserialize)]
pub struct UndeployQuery {
    #[serde(default)]
    force: bool,
    base_run: Option<String>,
}

/// Refuses a change of a deployment that has a newer run than the user has seen.
async fn check_base(
    services: &Services,
    caller: &Caller,
    id: &str,
    base: Option<&str>,
) -> Result<()> {
    if let Some(base) = base {
        let engine = &services.engine;
        engine.check_base(caller.tenant(), id, base).await?;
    }
    Ok(())
}

/// Starts a run that removes all resources. With `force` it skips resources that cannot be removed, and reports them.
///
/// With `base_run`, the newest run that the user has seen, it is refused if there is a newer one.
#[utoipa::path(delete, path = "/api/v1/deployments/{id}", tag = "deployments", params(("id" = String, Path), ("force" = Option<bool>, Query), ("base_run" = Option<String>, Query)), responses((status = 202, body = Started)))]
pub async fn delete(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
    Query(query): Query<UndeployQuery>,
) -> Result<impl IntoResponse> {
    check_base(&services, &caller, &id, query.base_run.as_deref()).await?;
    let force = if query.force { Force::Yes } else { Force::No };
    Ok(accepted(
        services.engine.undeploy(&caller.actor, &id, force).await?,
    ))
}

/// Deletes an undeployed deployment with its runs and logs. Nothing in the cloud changes.
#[utoipa::path(delete, path = "/api/v1/deployments/{id}/record", tag = "deployments", params(("id" = String, Path)), responses((status = 204)))]
pub async fn remove(
    State(services): State<Services>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> Result<StatusCode> {
    services.engine.remove(caller.tenant(), &id).await?;
    Ok(DONE)
}

/// Cloud objects with the deployment's marker that belong to none of its resources, as of now.
///
/// During a run the response can contain objects that it is about to adopt or remove.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/strays", tag = "deployments", params(("id" = String, Path)), responses((status = 200, body = Vec<Stray>)))]
pub async fn strays(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<Stray>>> {
    Ok(Json(services.engine.strays(&caller.actor, &id).await?))
}

/// The deployment's runs, newest first, without steps. Pages as in the list of deployments.
#[utoipa::path(get, path = "/api/v1/deployments/{id}/runs", tag = "deployments", params(("id" = String, Path), ("limit" = Option<u32>, Query), ("offset" = Option<u32>, Query)), responses((status = 200, body = Vec<Run>)))]
pub async fn runs(
    State(services): State<Services>,
    caller: Caller,
    Path(id): Path<String>,
    paged: Paged,
) -> Result<Response> {
    let runs = services.engine.runs(caller.tenant(), &id, paged.page);
    Ok(paged.answer(runs.await?))
}

/// The requested template: the request's own, a design's, or an earlier run's.
struct Wanted {
    template: String,
    beside: TemplateFiles,
    layout: Layout,
    design: Option<String>,
    design_version: Option<u32>,
}

impl Wanted {
    async fn read(services: &Services, caller: &Caller, request: &DeployRequest) -> Result<Wanted> {
        if let Some(run) = &request.run {
            let content = services.engine.run_content(caller.tenant(), run).await?;
            return Ok(Wanted {
                template: content.template,
                // All files, so that none of the present ones stays.
                beside: TemplateFiles::of(&content.beside.bundle()),
                layout: content.layout,
                design: content.design,
                design_version: content.design_version,
            });
        }
        match (&request.template, &request.design) {
            (template, Some(id)) => {
                Wanted::of_design(services, caller, request, id, template.as_deref()).await
            }
            (Some(template), None) => Ok(Wanted {
                template: template.clone(),
                beside: request.beside.clone(),
                layout: Layout::default(),
                design: None,
                design_version: None,
            }),
            (None, None) => Err(Error::new(
                codes::INVALID_REQUEST,
                "None of `template`, `design` and `run` was given.",
            )
            .hint("Send the text of a template, or the id of a design.")
            .path("template")),
        }
    }

    /// The requested version of a design, or a text of it that was reviewed.
    ///
    /// A reviewed text is deployed as it is, whatever was saved since. It is recorded with a version only if it is the text
    /// of that version.
    async fn of_design(
        services: &Services,
        caller: &Caller,
        request: &DeployRequest,
        id: &str,
        template: Option<&str>,
    ) -> Result<Wanted> {
        let designs = &services.designs;
        let newest = designs.get(caller.tenant(), id).await?;
        let asked = request.design_version.unwrap_or(newest.version);
        let stored = if asked == newest.version {
            Ok(DesignContent {
                template: newest.template,
                beside: newest.beside,
                layout: newest.layout,
            })
        } else {
            let found = designs.version(caller.tenant(), id, asked).await;
            found.map(|version| DesignContent {
                template: version.template,
                beside: version.beside,
                layout: version.layout,
            })
        };
        let Some(template) = template else {
            let stored = stored?;
            return Ok(Wanted {
                template: stored.template,
                beside: request.beside.clone().or(&stored.beside),
                layout: stored.layout,
                design: Some(newest.id),
                design_version: Some(asked),
            });
        };
        let stored = match stored {
            Ok(stored) => stored,
            Err(error) if error.is(codes::NOT_FOUND) => DesignContent::default(),
            Err(error) => return Err(error),
        };
        let beside = request.beside.clone().or(&stored.beside);
        let is_stored = template == stored.template
            && TemplateFiles::of(&beside.bundle()) == TemplateFiles::of(&stored.beside.bundle());
        Ok(Wanted {
            template: template.to_owned(),
            beside,
            layout: stored.layout,
            design: Some(newest.id),
            design_version: is_stored.then_some(asked),
        })
    }
}

/// The stored content of a design's version.
#[derive(Default)]
struct DesignContent {
    template: String,
    beside: TemplateFiles,
    layout: Layout,
}

pub(super) fn accepted(started: Started) -> impl IntoResponse {
    let location = format!("/api/v1/runs/{}", started.run);
    (
        StatusCode::ACCEPTED,
        [(header::LOCATION, location)],
        Json(started),
    )
}

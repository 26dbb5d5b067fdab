//! The configured clouds.

use api::CloudInfo;
use axum::extract::State;
use openstack::{Domain, LoginMethod, Scope};

use crate::{extract::Json, services::Services};

/// Names, regions and login methods, as configured; no secrets. Needs no session, because the login form uses it.
#[utoipa::path(get, path = "/api/v1/clouds", tag = "session", responses((status = 200, body = Vec<CloudInfo>)))]
pub async fn list(State(services): State<Services>) -> Json<Vec<CloudInfo>> {
    Json(
        services
            .clouds
            .iter()
            .map(|cloud| CloudInfo {
                name: cloud.name.clone(),
                region: cloud.region.clone(),
                methods: cloud
                    .login_methods()
                    .into_iter()
                    .map(|method| name(method).to_owned())
                    .collect(),
                domain: match &cloud.user_domain {
                    Domain::Name(name) | Domain::Id(name) => Some(name.clone()),
                },
                project: match &cloud.scope {
                    Some(Scope::Project(project)) => Some(project.as_str().to_owned()),
                    _ => None,
                },
            })
            .collect(),
    )
}

fn name(method: LoginMethod) -> &'static str {
    match method {
        LoginMethod::Password => "password",
        LoginMethod::ApplicationCredential => "application_credential",
        LoginMethod::Token => "token",
    }
}

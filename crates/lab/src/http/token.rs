//! Who calls: the token check that stands in front of every service.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::App;
use crate::model::asker::Asker;
use crate::model::identity::Token;
use crate::model::refusal::Refusal;

/// The caller's token, if there is a valid one. Handlers ask for what they need, so that each service refuses in its own way.
#[derive(Debug, Clone)]
pub struct Caller {
    token: Option<Token>,
}

/// A caller with a project.
#[derive(Debug, Clone)]
pub struct Member {
    /// The project.
    pub project_id: String,
    /// The user.
    pub user_id: String,
    /// Whether the user may see and change what is others'.
    pub admin: bool,
}

impl Member {
    /// Whether something of this project may be touched.
    pub fn may_touch(&self, project_id: &str) -> bool {
        self.admin || self.project_id == project_id
    }

    /// The caller, as the model asks for it.
    pub fn asker(&self) -> Asker<'_> {
        Asker {
            project_id: &self.project_id,
            user_id: &self.user_id,
            admin: self.admin,
        }
    }
}

impl Caller {
    /// A valid token, or 401.
    pub fn token(&self) -> Result<&Token, Refusal> {
        self.token.as_ref().ok_or_else(Refusal::unauthorized)
    }

    /// A valid token for a project, or 401 or 403.
    pub fn member(&self) -> Result<Member, Refusal> {
        let token = self.token()?;
        let project_id = token.project_id.clone();
        let project_id = project_id.ok_or_else(|| {
            Refusal::forbidden("Policy doesn't allow this without a project scope.")
        })?;
        Ok(Member {
            project_id,
            user_id: token.user_id.clone(),
            admin: token.roles.iter().any(|role| role == "admin"),
        })
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let text = parts
            .headers
            .get("x-auth-token")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let token = app.read(|model| model.identity.token(text));
        Ok(Self { token })
    }
}

//! Names of designs and deployments, for lists that show nothing else: the code for all that a deployment has is in
//! another piece (see [`lazy`](crate::lazy)).

use serde::Deserialize;

use super::transport::{Answer, get_all};

/// A design or a deployment.
#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
}

/// `GET /designs`.
pub async fn design_names() -> Answer<Vec<Named>> {
    get_all("/designs").await
}

/// `GET /deployments`.
pub async fn deployment_names() -> Answer<Vec<Named>> {
    get_all("/deployments").await
}

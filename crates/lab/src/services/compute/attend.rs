//! The metadata service of each running server: opened when it starts, closed when it stops. An open socket would keep a stopped
//! server's network namespace in being.

use std::sync::{Arc, PoisonError};

use crate::services::cloud::Cloud;

/// What answers a server's questions about itself.
pub type MetadataApp = fn(Arc<Cloud>, String) -> axum::Router;

impl Cloud {
    /// Who answers; without it nobody does.
    pub fn answer_metadata_with(&self, app: MetadataApp) {
        // Said once, at the start; a second word changes nothing.
        let _ = self.metadata_app.set(app);
    }

    /// Be there for a server that runs now.
    pub(crate) async fn attend(self: &Arc<Self>, id: &str) {
        let Some(app) = self.metadata_app.get() else {
            return;
        };
        self.leave(id);
        let listener = match self.substrate.metadata_listener(id).await {
            Ok(Some(listener)) => tokio::net::TcpListener::from_std(listener),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(server = %id, %error, "a server has no metadata service");
                return;
            }
        };
        let Ok(listener) = listener else { return };
        let app = app(Arc::clone(self), id.to_owned());
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::warn!(%error, "a metadata service ended");
            }
        });
        self.attended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.to_owned(), task);
    }

    /// It does not run any more.
    pub(crate) fn leave(&self, id: &str) {
        let task = self
            .attended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id);
        if let Some(task) = task {
            task.abort();
        }
    }

    /// None does: the lab stops.
    pub fn leave_all(&self) {
        let all =
            std::mem::take(&mut *self.attended.lock().unwrap_or_else(PoisonError::into_inner));
        for task in all.into_values() {
            task.abort();
        }
    }
}

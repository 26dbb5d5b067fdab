//! The metadata services of running servers: opened when a server starts, closed when it stops. An open socket would keep a
//! stopped server's network namespace alive.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use tokio::task::JoinHandle;

use crate::services::cloud::Cloud;
use crate::services::compute::metadata;

impl Cloud {
    /// Opens the metadata service of a server that has started.
    pub(crate) async fn open_metadata(self: &Arc<Self>, id: &str) {
        self.close_metadata(id);
        let listener = match self.substrate.metadata_listener(id).await {
            Ok(Some(listener)) => tokio::net::TcpListener::from_std(listener),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(server = %id, %error, "a server has no metadata service");
                return;
            }
        };
        let Ok(listener) = listener else { return };
        let app = metadata::app(Arc::clone(self), id.to_owned());
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                tracing::warn!(%error, "a metadata service ended");
            }
        });
        self.metadata_tasks().insert(id.to_owned(), task);
    }

    /// Closes the metadata service of a server.
    pub(crate) fn close_metadata(&self, id: &str) {
        if let Some(task) = self.metadata_tasks().remove(id) {
            task.abort();
        }
    }

    /// Closes all metadata services.
    pub fn close_all_metadata(&self) {
        for (_, task) in self.metadata_tasks().drain() {
            task.abort();
        }
    }

    fn metadata_tasks(&self) -> MutexGuard<'_, HashMap<String, JoinHandle<()>>> {
        let tasks = self.metadata_services.lock();
        tasks.unwrap_or_else(PoisonError::into_inner)
    }
}

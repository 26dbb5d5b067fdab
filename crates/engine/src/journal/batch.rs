//! Events of a run that travel together, with one JSON text for all viewers.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use api::Event;
use bytes::Bytes;

/// Events of one run, in order. Clones share the events and their JSON text.
#[derive(Clone, Debug)]
pub struct EventBatch(Arc<Content>);

#[derive(Debug)]
struct Content {
    events: Vec<Event>,
    json: OnceLock<Bytes>,
}

impl From<Vec<Event>> for EventBatch {
    fn from(events: Vec<Event>) -> EventBatch {
        let json = OnceLock::new();
        EventBatch(Arc::new(Content { events, json }))
    }
}

impl Deref for EventBatch {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        &self.0.events
    }
}

impl EventBatch {
    /// The events as a JSON array. The first viewer writes it, the others share its bytes.
    pub fn json(&self) -> Bytes {
        let Content { events, json } = &*self.0;
        let write = || serde_json::to_vec(events).expect("events have no keys but strings");
        json.get_or_init(|| write().into()).clone()
    }
}

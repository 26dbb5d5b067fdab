//! Events of a run that travel together, with JSON texts for all viewers.

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use api::{Event, EventBody};
use bytes::Bytes;

/// Size from which a JSON text ends, in bytes. A viewer's socket keeps a buffer for the largest text that it has sent: of
/// thousands of viewers, these buffers are most of the memory.
pub const TEXT_BYTES: usize = 32 * 1024;

/// Events of one run, in order. Clones share the events and their JSON texts.
#[derive(Clone, Debug)]
pub struct EventBatch(Arc<Content>);

#[derive(Debug)]
struct Content {
    events: Vec<Event>,
    texts: OnceLock<Vec<EventText>>,
}

/// A JSON array of events that follow each other.
#[derive(Clone, Debug)]
pub struct EventText {
    /// The array, with at least one event.
    pub json: Bytes,
    /// Number of the last event.
    pub last: u64,
}

impl From<Vec<Event>> for EventBatch {
    fn from(events: Vec<Event>) -> EventBatch {
        let texts = OnceLock::new();
        EventBatch(Arc::new(Content { events, texts }))
    }
}

impl Deref for EventBatch {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        &self.0.events
    }
}

impl EventBatch {
    /// Memory of the events, in bytes. Their JSON texts take about as much again.
    pub(super) fn bytes(&self) -> usize {
        self.iter().map(event_bytes).sum()
    }

    /// All events, in texts that end at [`TEXT_BYTES`] or soon after. The first viewer writes them, the others share their
    /// bytes.
    pub fn texts(&self) -> &[EventText] {
        let Content { events, texts } = &*self.0;
        texts.get_or_init(|| texts_of(events))
    }
}

/// Memory of an event, in bytes. Only lines of the log are long.
pub(super) fn event_bytes(event: &Event) -> usize {
    let text = match &event.body {
        EventBody::Log(line) => line.text.len(),
        _ => 0,
    };
    size_of::<Event>() + text
}

fn texts_of(events: &[Event]) -> Vec<EventText> {
    let mut texts = Vec::new();
    let mut json = Vec::new();
    for (index, event) in events.iter().enumerate() {
        json.push(if json.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut json, event).expect("events have no keys but strings");
        if json.len() >= TEXT_BYTES || index + 1 == events.len() {
            json.push(b']');
            texts.push(EventText {
                json: std::mem::take(&mut json).into(),
                last: event.seq,
            });
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use api::RunState;

    use super::*;

    #[test]
    fn many_events_are_several_texts_of_limited_size() {
        let events: Vec<Event> = (1..=2000)
            .map(|seq| Event {
                seq,
                time: "2026-01-01T00:00:00Z".into(),
                body: EventBody::Run {
                    state: RunState::Running,
                    reason: Some("reason ".repeat(10)),
                },
            })
            .collect();
        let batch = EventBatch::from(events.clone());
        let texts = batch.texts();
        assert!(texts.len() > 5);
        let mut read = Vec::new();
        for text in texts {
            assert!(text.json.len() < TEXT_BYTES + 500);
            let part: Vec<Event> = serde_json::from_slice(&text.json).unwrap();
            assert_eq!(part.last().map(|event| event.seq), Some(text.last));
            read.extend(part);
        }
        assert_eq!(read, events);
        assert!(EventBatch::from(Vec::new()).texts().is_empty());
    }
}

//! Drafts: unsaved changes in the browser's local storage.
//!
//! Each visit of a design writes its own draft, so that two tabs of one design never overwrite each other's work. The
//! next visit restores the newest draft. A draft is removed once its content, or a later version of it, is on the
//! server. It is kept if it is newer than the text that the server accepted, because a user can type and leave while a
//! save is running.

use std::hash::{DefaultHasher, Hash, Hasher};

use api::{DesignRequest, Layout, TemplateFiles};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::browser;

/// Maximum number of stored fingerprints of sent texts.
const SENT_MAX: usize = 16;

/// Hash of a design's content. Requests that store the same content have the same hash.
pub(super) type Fingerprint = u64;

/// Hash of a design's content. The name is not part of it, because names never conflict.
pub(super) fn fingerprint(template: &str, beside: &TemplateFiles, layout: &Layout) -> Fingerprint {
    let mut hasher = DefaultHasher::new();
    template.hash(&mut hasher);
    // Normalised, so that omitted and empty fields are equal.
    let beside = TemplateFiles::of(&beside.bundle());
    // Content that cannot be serialised cannot be stored either.
    serde_json::to_string(&(beside, layout))
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}

/// Fingerprints of sent texts. If the server's text is one of these, no other client has changed the design.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Sent(Vec<Fingerprint>);

impl Sent {
    /// Adds a fingerprint and drops the oldest one beyond [`SENT_MAX`].
    pub fn add(&mut self, one: Fingerprint) {
        if !self.has(one) {
            self.0.push(one);
            self.0.drain(..self.0.len().saturating_sub(SENT_MAX));
        }
    }

    /// True if this content was sent.
    pub fn has(&self, one: Fingerprint) -> bool {
        self.0.contains(&one)
    }
}

/// The unsaved work of one visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Draft {
    pub base_version: u32,
    pub name: String,
    pub template: String,
    /// Files and environments. `None` in drafts of older releases; the server's files are then kept.
    #[serde(default)]
    pub beside: Option<TemplateFiles>,
    pub layout: Layout,
    /// Time of writing, in milliseconds since 1970.
    #[serde(default)]
    pub written: f64,
    /// Texts sent by this visit.
    #[serde(default)]
    pub sent: Sent,
}

impl Draft {
    /// Draft of the request that a save would send now.
    pub fn of(request: DesignRequest, sent: Sent) -> Self {
        Self {
            base_version: request.base_version.unwrap_or_default(),
            name: request.name,
            template: request.template,
            beside: Some(request.beside),
            layout: request.layout,
            written: browser::now_ms(),
            sent,
        }
    }

    /// True if the sent request contains all changes of the draft.
    fn is_in(&self, sent: &DesignRequest) -> bool {
        self.name == sent.name
            && self.template == sent.template
            && self.layout == sent.layout
            && self
                .beside
                .as_ref()
                .is_none_or(|beside| *beside == sent.beside)
    }

    /// Remaining draft after the server has accepted `sent`, sent at `sent_ms`, as version `version`. `None` if nothing
    /// remains.
    fn after(self, sent: &DesignRequest, sent_ms: f64, version: u32) -> Option<Draft> {
        // A draft that could not be overwritten is older than the sent text.
        let is_newer = self.written >= sent_ms && !self.is_in(sent);
        is_newer.then_some(Draft {
            base_version: version,
            ..self
        })
    }

    /// Hash of the draft's content.
    fn fingerprint(&self) -> Fingerprint {
        let beside = self.beside.clone().unwrap_or_default();
        fingerprint(&self.template, &beside, &self.layout)
    }

    fn request(&self) -> DesignRequest {
        DesignRequest {
            name: self.name.clone(),
            template: self.template.clone(),
            beside: self.beside.clone().unwrap_or_default(),
            layout: self.layout.clone(),
            base_version: Some(self.base_version),
        }
    }
}

/// Newest draft that is not `done`, and the keys of drafts that are done.
fn newest<T>(
    drafts: impl IntoIterator<Item = (T, Draft)>,
    done: impl Fn(&Draft) -> bool,
) -> (Option<(T, Draft)>, Vec<T>) {
    let (done, left): (Vec<_>, Vec<_>) = drafts.into_iter().partition(|(_, draft)| done(draft));
    let newest = left
        .into_iter()
        .max_by(|(_, one), (_, other)| one.written.total_cmp(&other.written));
    (newest, done.into_iter().map(|(key, _)| key).collect())
}

/// Drafts of one design, for one visit.
#[derive(Clone, Copy)]
pub(super) struct Drafts {
    design: StoredValue<String>,
    /// Key of this visit's draft.
    own: StoredValue<String>,
    /// Key and hash of the draft that this visit restored.
    taken: StoredValue<Option<(String, Fingerprint)>>,
}

impl Drafts {
    /// Drafts at the start of a visit.
    pub fn of(design: &str) -> Self {
        let visit = format!("{:x}-{:x}", browser::now_ms() as u64, browser::random_u32());
        Self {
            design: StoredValue::new(design.to_owned()),
            own: StoredValue::new(format!("draft.{design}.{visit}")),
            taken: StoredValue::new(None),
        }
    }

    /// Location of this visit's draft. It stays valid after the page is disposed.
    pub fn place(self) -> Option<Place> {
        Some(Place {
            own: self.own.try_get_value()?,
            taken: self.taken.try_get_value()?,
        })
    }

    /// Restores the draft of an earlier visit that is not on the server. Drafts that are `done` are removed.
    pub fn take(self, done: impl Fn(&Draft) -> bool) -> Option<Draft> {
        let (key, visits) = self
            .design
            .with_value(|id| (format!("draft.{id}"), format!("draft.{id}.")));
        let keys = browser::remembered_keys(&key).into_iter();
        let keys = keys.filter(|one| *one == key || one.starts_with(&visits));
        let drafts = keys.filter_map(|key| read(&key).map(|draft| (key, draft)));
        let (newest, done) = newest(drafts, done);
        done.iter().for_each(|key| browser::forget(key));
        let (key, draft) = newest?;
        self.taken.set_value(Some((key, draft.fingerprint())));
        Some(draft)
    }
}

/// Location of a visit's draft in the local storage. It stays valid after the page is disposed.
#[derive(Clone)]
pub(super) struct Place {
    own: String,
    taken: Option<(String, Fingerprint)>,
}

impl Place {
    /// Writes the draft, which replaces the one that the visit restored. Returns false if the local storage refuses it.
    pub fn keep(&self, draft: &Draft) -> bool {
        let is_stored =
            serde_json::to_string(draft).is_ok_and(|text| browser::remember(&self.own, &text));
        if is_stored {
            self.forget_taken();
        }
        is_stored
    }

    /// Removes the draft after all of it was saved on the server.
    pub fn forget(&self) {
        self.forget_taken();
        browser::forget(&self.own);
    }

    /// Handles a save that the server accepted: newer changes stay in the draft, based on the server's `version`.
    /// Returns the request for these changes.
    pub fn delivered(
        &self,
        sent: &DesignRequest,
        sent_ms: f64,
        version: u32,
    ) -> Option<DesignRequest> {
        self.forget_taken();
        let left = read(&self.own).and_then(|draft| draft.after(sent, sent_ms, version));
        match &left {
            Some(draft) => {
                self.keep(draft);
            }
            None => browser::forget(&self.own),
        }
        left.map(|draft| draft.request())
    }

    /// Removes the draft that this visit restored, unless the visit that wrote it is still active and has changed it
    /// since.
    fn forget_taken(&self) {
        if let Some((key, taken)) = &self.taken
            && read(key).is_some_and(|now| now.fingerprint() == *taken)
        {
            browser::forget(key);
        }
    }
}

fn read(key: &str) -> Option<Draft> {
    serde_json::from_str(&browser::remembered(key)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(template: &str) -> DesignRequest {
        DesignRequest {
            name: "shop".to_owned(),
            template: template.to_owned(),
            base_version: Some(4),
            ..DesignRequest::default()
        }
    }

    fn draft(template: &str, written: f64) -> Draft {
        Draft {
            written,
            ..Draft::of(request(template), Sent::default())
        }
    }

    #[test]
    fn text_typed_while_a_save_is_sent_is_kept() {
        assert_eq!(draft("a", 2.0).after(&request("a"), 1.0, 5), None);
        let left = draft("ab", 2.0)
            .after(&request("a"), 1.0, 5)
            .expect("newer");
        assert_eq!(left.request().base_version, Some(5));
        assert_eq!(left.template, "ab");
        let older = draft("0", 0.5).after(&request("a"), 1.0, 5);
        assert_eq!(older, None, "it could not be written over");
        let mut moved = draft("a", 2.0);
        moved
            .layout
            .nodes
            .insert("web".to_owned(), api::NodePosition::default());
        assert!(moved.after(&request("a"), 1.0, 5).is_some(), "it was moved");
    }

    #[test]
    fn the_newest_unsaved_draft_is_restored() {
        let drafts = [
            ("old", draft("a", 1.0)),
            ("stored", draft("b", 3.0)),
            ("new", draft("c", 2.0)),
        ];
        let (taken, done) = newest(drafts, |draft| draft.template == "b");
        assert_eq!(taken.map(|(key, _)| key), Some("new"));
        assert_eq!(done, ["stored"]);
    }

    #[test]
    fn drafts_in_the_older_format_are_read() {
        let text =
            r#"{"base_version": 3, "name": "shop", "template": "a", "layout": {"nodes": {}}}"#;
        let draft: Draft = serde_json::from_str(text).expect("a draft");
        assert!(draft.is_in(&request("a")) && draft.sent == Sent::default());
    }

    #[test]
    fn a_saved_text_is_recognised_in_the_servers_form() {
        let mut sent = Sent::default();
        let nothing = TemplateFiles::of(&hot::bundle::Bundle::default());
        sent.add(fingerprint("a", &nothing, &Layout::default()));
        assert!(sent.has(fingerprint(
            "a",
            &TemplateFiles::nothing(),
            &Layout::default()
        )));
        assert!(!sent.has(fingerprint("b", &nothing, &Layout::default())));
        (0..100).for_each(|number| sent.add(number));
        assert_eq!(sent.0.len(), SENT_MAX);
        let text = serde_json::to_string(&sent).expect("JSON");
        assert_eq!(serde_json::from_str::<Sent>(&text).expect("the same"), sent);
    }
}

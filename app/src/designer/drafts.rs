//! Drafts: what the server does not have yet, kept on this machine.
//!
//! Each visit of a design writes a draft of its own, so that two tabs of one design never write over each other's work. The next
//! visit takes the newest one that it finds; it is forgotten when what was made of it is on the server. Nothing is forgotten that
//! is newer than what the server took: a person may type and leave while a save is on its way.

use std::hash::{DefaultHasher, Hash, Hasher};

use api::{Beside, DesignRequest, Layout};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::browser;

/// So many of the texts that were sent are recognised.
const SENT_MAX: usize = 16;

/// Whether two requests store the same, as a number.
pub(super) type Fingerprint = u64;

/// What a design's content is known by. The name is no part of it: it is never in conflict.
pub(super) fn fingerprint(template: &str, beside: &Beside, layout: &Layout) -> Fingerprint {
    let mut hasher = DefaultHasher::new();
    template.hash(&mut hasher);
    // Spelled the same, whatever was left out.
    let beside = Beside::of(&beside.bundle());
    // Of what cannot be written down nothing is stored either.
    serde_json::to_string(&(beside, layout))
        .unwrap_or_default()
        .hash(&mut hasher);
    hasher.finish()
}

/// Texts on their way or there: one of these on the server is nobody else's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Sent(Vec<Fingerprint>);

impl Sent {
    /// One more.
    pub fn add(&mut self, one: Fingerprint) {
        if !self.has(one) {
            self.0.push(one);
            self.0.drain(..self.0.len().saturating_sub(SENT_MAX));
        }
    }

    /// Whether it is one of them.
    pub fn has(&self, one: Fingerprint) -> bool {
        self.0.contains(&one)
    }
}

/// One visit's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Draft {
    pub base_version: u32,
    pub name: String,
    pub template: String,
    /// Drafts of older visits have none: the server's files are kept then.
    #[serde(default)]
    pub beside: Option<Beside>,
    pub layout: Layout,
    /// Milliseconds since 1970.
    #[serde(default)]
    pub written: f64,
    /// What the visit has sent so far.
    #[serde(default)]
    pub sent: Sent,
}

impl Draft {
    /// Of what would be sent now.
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

    /// Nothing of it is missing in what was sent.
    fn is_in(&self, sent: &DesignRequest) -> bool {
        self.name == sent.name
            && self.template == sent.template
            && self.layout == sent.layout
            && self
                .beside
                .as_ref()
                .is_none_or(|beside| *beside == sent.beside)
    }

    /// What is left of it when the server has taken what was `sent` at that time as its version `version`.
    fn after(self, sent: &DesignRequest, sent_ms: f64, version: u32) -> Option<Draft> {
        // A draft that could not be written over is older than what was sent.
        let is_newer = self.written >= sent_ms && !self.is_in(sent);
        is_newer.then_some(Draft {
            base_version: version,
            ..self
        })
    }

    /// What its content is known by.
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

/// The newest of them that is not `done`, and which are.
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

/// The drafts of one design, as one visit sees them.
#[derive(Clone, Copy)]
pub(super) struct Drafts {
    design: StoredValue<String>,
    /// Where this visit's draft is.
    own: StoredValue<String>,
    /// The draft that this visit began with.
    taken: StoredValue<Option<(String, Fingerprint)>>,
}

impl Drafts {
    /// For a visit that begins.
    pub fn of(design: &str) -> Self {
        let visit = format!("{:x}-{:x}", browser::now_ms() as u64, browser::random_u32());
        Self {
            design: StoredValue::new(design.to_owned()),
            own: StoredValue::new(format!("draft.{design}.{visit}")),
            taken: StoredValue::new(None),
        }
    }

    /// Where this visit's draft is; it outlives the page.
    pub fn place(self) -> Option<Place> {
        Some(Place {
            own: self.own.try_get_value()?,
            taken: self.taken.try_get_value()?,
        })
    }

    /// What an earlier visit left and the server never got. Those that are `done` are forgotten.
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

/// Where a visit's draft is, page or no page.
#[derive(Clone)]
pub(super) struct Place {
    own: String,
    taken: Option<(String, Fingerprint)>,
}

impl Place {
    /// Writes the draft; false where this machine does not take it. It stands for the one that the visit began with.
    pub fn keep(&self, draft: &Draft) -> bool {
        let kept =
            serde_json::to_string(draft).is_ok_and(|text| browser::remember(&self.own, &text));
        if kept {
            self.forget_taken();
        }
        kept
    }

    /// The server has all of it.
    pub fn forget(&self) {
        self.forget_taken();
        browser::forget(&self.own);
    }

    /// The server has taken what was `sent` at that time: what is newer stays, on top of the server's `version`. Gives what is
    /// still to be sent.
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

    /// The draft that the visit began with, unless the visit that wrote it goes on and has written more since.
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
    fn what_was_typed_after_the_save_was_sent_stays_on_top_of_it() {
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
            .insert("web".to_owned(), api::Place::default());
        assert!(moved.after(&request("a"), 1.0, 5).is_some(), "it was moved");
    }

    #[test]
    fn the_newest_of_several_visits_comes_back_and_the_others_stay() {
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
    fn drafts_of_older_visits_are_read() {
        let text =
            r#"{"base_version": 3, "name": "shop", "template": "a", "layout": {"nodes": {}}}"#;
        let draft: Draft = serde_json::from_str(text).expect("a draft");
        assert!(draft.is_in(&request("a")) && draft.sent == Sent::default());
    }

    #[test]
    fn what_was_sent_is_known_again_as_the_server_spells_it() {
        let mut sent = Sent::default();
        let nothing = Beside::of(&hot::bundle::Bundle::default());
        sent.add(fingerprint("a", &nothing, &Layout::default()));
        assert!(sent.has(fingerprint("a", &Beside::nothing(), &Layout::default())));
        assert!(!sent.has(fingerprint("b", &nothing, &Layout::default())));
        (0..100).for_each(|number| sent.add(number));
        assert_eq!(sent.0.len(), SENT_MAX);
        let text = serde_json::to_string(&sent).expect("JSON");
        assert_eq!(serde_json::from_str::<Sent>(&text).expect("the same"), sent);
    }
}

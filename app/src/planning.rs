//! Plans for drawings, from a worker beside the page (the crate `worker`).
//!
//! One worker serves the tab. It is started with the first page that needs it, keeps types and facts, and answers in the
//! order of the questions. If it cannot be loaded or breaks, its open questions fail, and the next one starts another.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use api::CloudFacts;
use futures::channel::oneshot;
use hot::bundle::Bundle;
use planner::{plan::Plan, preview::Question};
use types::Registry;
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, Worker};

use crate::{
    browser,
    client::{Answer, page_missing},
};

#[wasm_bindgen(
    inline_js = "export const open = () => new Worker(new URL('../../worker.js', import.meta.url), { type: 'module' });"
)]
extern "C" {
    #[wasm_bindgen(catch)]
    fn open() -> Result<Worker, JsValue>;
}

thread_local! {
    static PLANNER: RefCell<Option<Planner>> = const { RefCell::new(None) };
}

/// A template to plan, for a new deployment with the parameters' defaults.
pub struct Template<'a> {
    /// Text of the template.
    pub text: &'a str,
    /// Files beside it.
    pub bundle: &'a Bundle,
    /// Present members of scaling groups, by group.
    pub members: BTreeMap<String, Vec<String>>,
    /// Resource types without those of the files.
    pub types: &'a Arc<Registry>,
    /// Facts about the cloud.
    pub cloud: &'a Arc<CloudFacts>,
}

/// The plan that a drawing shows. See [`planner::preview`].
///
/// # Errors
/// The worker could not be loaded, or broke.
pub async fn plan(template: Template<'_>) -> Answer<Plan> {
    let answered = async {
        let answer = ask(&template).map_err(|_| page_missing())?;
        let answer = answer.await.map_err(|_gone| page_missing())?;
        serde_json::from_str(&answer).map_err(|_| page_missing())
    };
    browser::measured("plan", answered).await
}

/// Loads the worker, so that the first plan does not wait for it.
pub fn warm_up() {
    // If this fails, the first question tries again.
    let _ = with_planner(|_| Ok(()));
}

/// Sends a question. The receiver gets the answer, or is cancelled when the worker breaks.
fn ask(template: &Template<'_>) -> Result<oneshot::Receiver<String>, JsValue> {
    with_planner(|planner| planner.ask(template))
}

fn with_planner<T>(work: impl FnOnce(&mut Planner) -> Result<T, JsValue>) -> Result<T, JsValue> {
    PLANNER.with_borrow_mut(|planner| match planner {
        Some(planner) => work(planner),
        None => work(planner.insert(Planner::start()?)),
    })
}

/// The worker and its open questions.
struct Planner {
    worker: Worker,
    waiting: VecDeque<oneshot::Sender<String>>,
    /// Types and facts that the worker has.
    sent: Option<(Arc<Registry>, Arc<CloudFacts>)>,
}

impl Planner {
    fn start() -> Result<Planner, JsValue> {
        let worker = open()?;
        let answered = Closure::<dyn Fn(MessageEvent)>::new(|event: MessageEvent| {
            let answer = event.data().as_string().unwrap_or_default();
            let first = PLANNER.with_borrow_mut(|planner| planner.as_mut()?.waiting.pop_front());
            if let Some(first) = first {
                // The page may have been left.
                let _ = first.send(answer);
            }
        });
        let failed = Closure::<dyn Fn()>::new(|| {
            if let Some(planner) = PLANNER.take() {
                planner.worker.terminate();
            }
        });
        worker.set_onmessage(Some(answered.as_ref().unchecked_ref()));
        worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
        // As long as the tab.
        answered.forget();
        failed.forget();
        Ok(Planner {
            worker,
            waiting: VecDeque::new(),
            sent: None,
        })
    }

    fn ask(&mut self, template: &Template<'_>) -> Result<oneshot::Receiver<String>, JsValue> {
        let (types, cloud) = (template.types, template.cloud);
        let sent = self.sent.as_ref();
        let has_types = sent.is_some_and(|(sent, _)| Arc::ptr_eq(sent, types));
        let has_cloud = sent.is_some_and(|(_, sent)| Arc::ptr_eq(sent, cloud));
        let files = template.bundle.files();
        let question = Question {
            types: (!has_types).then(|| types.iter().cloned().collect()),
            cloud: (!has_cloud).then(|| CloudFacts::clone(cloud)),
            template: template.text.to_owned(),
            files: files
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
            environments: template.bundle.environments().to_vec(),
            members: template.members.clone(),
        };
        let text = serde_json::to_string(&question).map_err(|_| JsValue::NULL)?;
        self.worker.post_message(&JsValue::from_str(&text))?;
        self.sent = Some((types.clone(), cloud.clone()));
        let (answer, answered) = oneshot::channel();
        self.waiting.push_back(answer);
        Ok(answered)
    }
}

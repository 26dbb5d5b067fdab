//! Plans, arrangements and lines of drawings, from a worker beside the page (the crate `worker`).
//!
//! One worker serves the tab. It is started with the first page that needs it, and keeps types and facts. Requests have
//! numbers, which their answers repeat. If the worker cannot be loaded or breaks, its open requests fail, and the next
//! one starts another.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use api::CloudFacts;
use canvas::{
    arrangement::Arrangement,
    edges::{Line, Routing},
    geometry::Rect,
    request::Request,
};
use futures::channel::oneshot;
use hot::bundle::Bundle;
use js_sys::Array;
use planner::preview::{Preview, Question};
use serde::de::DeserializeOwned;
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
    static CLIENT: RefCell<Option<Client>> = const { RefCell::new(None) };
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

/// The part of a template's plan that its drawing shows. See [`planner::preview`].
///
/// # Errors
/// The worker could not be loaded, or broke.
pub async fn plan(template: Template<'_>) -> Answer<Preview> {
    let answered = async {
        let asked = with_client(|client| client.ask_for_plan(&template));
        received(asked).await
    };
    browser::measured("plan", answered).await
}

/// The rectangle of each node of an arrangement. Without a worker, the page computes them itself.
pub async fn arranged(arrangement: &Arrangement) -> Vec<Rect> {
    let request = Request::Arrange(arrangement.clone());
    let asked = with_client(|client| client.ask(&request));
    let rects = received(asked).await;
    rects.unwrap_or_else(|_| arrangement.rects())
}

/// The lines of a drawing. Without a worker, the page computes them itself.
pub async fn routed(routing: &Routing) -> Vec<Line> {
    let request = Request::Route(routing.clone());
    let asked = with_client(|client| client.ask(&request));
    let lines = received(asked).await;
    lines.unwrap_or_else(|_| routing.lines())
}

/// Loads the worker, so that the first plan does not wait for it.
pub fn warm_up() {
    // If this fails, the first request tries again.
    let _ = with_client(|_| Ok(()));
}

/// The receiver gets the answer, or is cancelled when the worker breaks.
type Asked = Result<oneshot::Receiver<String>, JsValue>;

async fn received<T: DeserializeOwned>(asked: Asked) -> Answer<T> {
    let answer = asked.map_err(|_| page_missing())?;
    let answer = answer.await.map_err(|_gone| page_missing())?;
    serde_json::from_str(&answer).map_err(|_| page_missing())
}

fn with_client<T>(work: impl FnOnce(&mut Client) -> Result<T, JsValue>) -> Result<T, JsValue> {
    CLIENT.with_borrow_mut(|client| match client {
        Some(client) => work(client),
        None => work(client.insert(Client::start()?)),
    })
}

/// The worker and its open requests.
struct Client {
    worker: Worker,
    /// Number of requests until now.
    asked: u32,
    /// Open requests, by number.
    waiting: HashMap<u32, oneshot::Sender<String>>,
    /// Types and facts that the worker has.
    sent: Option<(Arc<Registry>, Arc<CloudFacts>)>,
}

impl Client {
    fn start() -> Result<Client, JsValue> {
        let worker = open()?;
        let answered = Closure::<dyn Fn(MessageEvent)>::new(|event: MessageEvent| {
            let message: Array = event.data().unchecked_into();
            let number = message.get(0).as_f64().unwrap_or_default() as u32;
            let asked = CLIENT.with_borrow_mut(|client| client.as_mut()?.waiting.remove(&number));
            if let Some(asked) = asked {
                // The page may have been left.
                let _ = asked.send(message.get(1).as_string().unwrap_or_default());
            }
        });
        let failed = Closure::<dyn Fn()>::new(|| {
            if let Some(client) = CLIENT.take() {
                // An event of this worker that is still queued must not reach the next client.
                client.worker.set_onmessage(None);
                client.worker.set_onerror(None);
                client.worker.terminate();
            }
        });
        worker.set_onmessage(Some(answered.as_ref().unchecked_ref()));
        worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
        // As long as the tab.
        answered.forget();
        failed.forget();
        Ok(Client {
            worker,
            asked: 0,
            waiting: HashMap::new(),
            sent: None,
        })
    }

    fn ask_for_plan(&mut self, template: &Template<'_>) -> Asked {
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
        let asked = self.ask(&Request::Plan(Box::new(question)))?;
        self.sent = Some((types.clone(), cloud.clone()));
        Ok(asked)
    }

    fn ask(&mut self, request: &Request) -> Asked {
        let text = serde_json::to_string(request).map_err(|_| JsValue::NULL)?;
        self.asked += 1;
        let message = Array::of2(&JsValue::from(self.asked), &JsValue::from_str(&text));
        self.worker.post_message(&message)?;
        let (answer, answered) = oneshot::channel();
        self.waiting.insert(self.asked, answer);
        Ok(answered)
    }
}

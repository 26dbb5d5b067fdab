//! Planning beside the pages: its own wasm module in a web worker, so that no plan blocks a frame and the pages'
//! program has no planner. `worker.js` starts it; `app::planning` asks it.

use std::cell::RefCell;

use planner::preview::Previews;
use wasm_bindgen::prelude::*;

thread_local! {
    static PREVIEWS: RefCell<Previews> = RefCell::default();
}

/// Prepares the module. Called once.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// The plan (JSON of [`planner::plan::Plan`]) for a question (JSON of [`planner::preview::Question`]).
///
/// # Errors
/// The text is no question: page and worker are of different builds.
#[wasm_bindgen]
pub fn answer(question: &str) -> Result<String, JsError> {
    let question = serde_json::from_str(question)?;
    let plan = PREVIEWS.with_borrow_mut(|previews| previews.answer(question));
    Ok(serde_json::to_string(&plan)?)
}

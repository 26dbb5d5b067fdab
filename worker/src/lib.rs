//! The pages' worker: plans, arrangements and lines of drawings, in its own wasm module. So no large design blocks a frame,
//! and the pages' program has no planner. `worker.js` starts it; `app::worker` asks it.

use std::cell::RefCell;

use canvas::request::Request;
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

/// The answer to a [`Request`], both as JSON.
///
/// # Errors
/// The text is no request: page and worker are of different builds.
#[wasm_bindgen]
pub fn answer(request: &str) -> Result<String, JsError> {
    let answer = match serde_json::from_str(request)? {
        Request::Plan(question) => {
            let preview = PREVIEWS.with_borrow_mut(|previews| previews.answer(*question));
            serde_json::to_string(&preview)?
        }
        Request::Arrange(arrangement) => serde_json::to_string(&arrangement.rects())?,
        Request::Route(routing) => serde_json::to_string(&routing.lines())?,
    };
    Ok(answer)
}

//! `/api/v1` as typed functions over the browser's `fetch`.
//!
//! Every call returns a type of the `api` crate or an [`api::Problem`]. A request without a response is a problem too,
//! with the code [`OFFLINE`]. These requests are never sent during server-side rendering, because pages fetch after
//! mount.
//!
//! If the session has ended, a read redirects to the login page, which returns to the present page after the login. A
//! write does not, since that would lose the user's input. Its problem states that the session has ended.

mod account;
mod catalog;
mod deployments;
mod designs;
mod names;
mod runs;
mod transport;

pub use account::*;
pub use catalog::*;
pub use deployments::*;
pub use designs::*;
pub use names::*;
pub use runs::*;
pub use transport::{
    Answer, OFFLINE, Outage, PAGE, Page, Parameters, is_temporary, on_outage, outage_of,
    page_missing,
};

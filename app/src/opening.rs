//! Opens files as designs. Parsing templates needs the piece `designer` (see [`lazy`](crate::lazy)).

use api::{DesignRequest, TemplateFiles};
use leptos::wasm_split::SplitLoaderError;

use crate::client;

/// Error for a piece that could not be loaded.
pub struct Missing;

impl From<SplitLoaderError> for Missing {
    fn from(_: SplitLoaderError) -> Self {
        Missing
    }
}

#[leptos::wasm_split::wasm_split(designer, wasm_split_path = ::leptos::wasm_split, fallible)]
fn open_piece(files: Vec<(String, String)>) -> Result<Vec<DesignRequest>, Missing> {
    let opened = hot::bundle::open(files).into_iter();
    Ok(opened
        .map(|one| DesignRequest {
            name: one.name,
            template: one.template,
            beside: TemplateFiles::of(&one.bundle),
            ..DesignRequest::default()
        })
        .collect())
}

/// One design for each template among these files (name, text) that is not used by another one, with the files beside
/// it.
///
/// # Errors
/// The piece with the parser could not be loaded.
pub async fn open(files: Vec<(String, String)>) -> client::Answer<Vec<DesignRequest>> {
    open_piece(files)
        .await
        .map_err(|Missing| client::page_missing())
}

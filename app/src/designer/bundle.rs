//! Changes of the files beside the template.

use hot::bundle::Bundle;

/// Bundle with another text of a file. An environment stays an environment.
pub(super) fn with_file(bundle: &Bundle, path: &str, text: String) -> Bundle {
    let others = bundle.files().filter(|(other, _)| *other != path);
    let others = others.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let this = (path.to_owned(), text);
    Bundle::new(others.chain([this]), bundle.environments().iter().cloned())
}

//! Images of components: warnings for images on which an item was not tested.
//!
//! The role of an item installs packages of the distribution. Their names, paths and versions differ between images, so an
//! item names the images on which its test ran. A cloud can call the same image `Debian 12 (bookworm)`: the words of the
//! names are compared, and the operating system in the image's properties counts too.

use std::collections::BTreeMap;

use hot::{diagnostic::Diagnostic, text::listed};
use types::Registry;
use yaql::shown;

use crate::{
    cloud::{CloudFacts, Named},
    passes::Model,
    workflow::ResourceSpec,
};

/// Code of the warnings.
const NOT_TESTED: &str = "item-not-tested";

/// Warnings for components that are set up (`begun`) on images on which their items were not tested. There is none for
/// items that name no image, and for images that are unknown.
pub(crate) fn untested<'a>(
    model: &'a Model,
    begun: impl Iterator<Item = &'a str>,
    types: &'a Registry,
    cloud: &'a CloudFacts,
) -> Vec<Diagnostic> {
    // A group can have hundreds of components with the same item and image.
    let mut found = BTreeMap::new();
    for name in begun {
        let Some(spec) = model.get(name) else {
            continue;
        };
        let described = types.get(&spec.resource_type);
        let item = described.and_then(|described| described.component.as_ref());
        let Some(item) = item.filter(|item| !item.tested.is_empty()) else {
            continue;
        };
        let server = spec.host().and_then(|host| model.get(host));
        let Some(image) = server.and_then(|server| image_of(server, cloud)) else {
            continue;
        };
        let mut tested = item.tested.iter();
        if !tested.any(|tested| is_image(image, tested, cloud)) {
            let key = (item.name.as_str(), image.name.as_str());
            let (_, components) = found.entry(key).or_insert((item, Vec::new()));
            components.push(name);
        }
    }
    let warnings = found.into_iter().map(|((_, image), (item, components))| {
        let first = components[0];
        let subject = match components.len() - 1 {
            0 => format!("`{}` sets", shown(first)),
            more => format!("`{}` and {more} more set", shown(first)),
        };
        let tested: Vec<&str> = item.tested.iter().map(String::as_str).collect();
        let message = format!(
            "{subject} up the item `{}` on the image `{}`, and the item was tested on {} only; use such an image, or try the item on \
             this one first",
            item.name,
            shown(image),
            listed(&tested),
        );
        Diagnostic::warning(NOT_TESTED, format!("resources.{first}"), message)
    });
    warnings.collect()
}

/// The image of a server. `None` if it is unknown.
fn image_of<'c>(server: &ResourceSpec, cloud: &'c CloudFacts) -> Option<&'c Named> {
    let image = server.properties.get("image")?.as_str()?;
    let mut images = cloud.images.as_ref()?.iter();
    images.find(|one| one.id == image || one.name == image)
}

/// True if the image's name or operating system contains the words of a tested image's name.
fn is_image(image: &Named, tested: &str, cloud: &CloudFacts) -> bool {
    let facts = cloud.image_facts.get(&image.id);
    let os = facts.and_then(|facts| facts.os.as_deref());
    let mut names = [Some(image.name.as_str()), os].into_iter().flatten();
    names.any(|name| words(name).contains(&words(tested)))
}

/// The words of a name between hyphens: `-debian-12-bookworm-`.
fn words(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.fold("-".to_owned(), |all, word| all + &word.to_lowercase() + "-")
}

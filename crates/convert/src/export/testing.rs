//! A design for tests: text, files, and facts of a cloud.

use canvas::layout::Places;
use hot::bundle::Bundle;
use hot::document::Document;
use planner::cloud::{CloudFacts, Flavor, Named};
use types::Registry;
use types::catalog::CatalogItem;

use crate::export::{Additions, Export, Format, Source, Unreadable, export};

/// The design.
pub(crate) struct Design {
    document: Document,
    bundle: Bundle,
    places: Places,
    additions: Additions,
}

impl Design {
    pub(crate) fn of(text: &str) -> Design {
        Design {
            document: Document::parse(text),
            bundle: Bundle::default(),
            places: Places::new(),
            additions: Additions::Expanded,
        }
    }

    /// Adds files beside the template. Files that look like environments are used as such.
    pub(crate) fn with(mut self, files: &[(&str, &str)]) -> Design {
        let files = files.iter();
        let files = files.map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        self.bundle = self.bundle.with(files.collect());
        self
    }

    /// Sets the positions of nodes.
    pub(crate) fn placed(mut self, places: Places) -> Design {
        self.places = places;
        self
    }

    /// Leaves out the additions of passes.
    pub(crate) fn drawn_only(mut self) -> Design {
        self.additions = Additions::Drawn;
        self
    }

    pub(crate) fn try_export(&self, format: Format) -> Result<Export, Unreadable> {
        let source = Source {
            name: "My Shop!",
            document: &self.document,
            bundle: &self.bundle,
            types: &types(),
            cloud: &cloud(),
            places: &self.places,
            additions: self.additions,
        };
        export(&source, format)
    }

    pub(crate) fn export(&self, format: Format) -> Export {
        self.try_export(format).unwrap()
    }
}

pub(crate) fn types() -> Registry {
    let items = [
        (
            include_str!("../../../../catalog/nginx/item.yml"),
            include_str!("../../../../catalog/nginx/meta/argument_specs.yml"),
        ),
        (
            include_str!("../../../../catalog/haproxy/item.yml"),
            include_str!("../../../../catalog/haproxy/meta/argument_specs.yml"),
        ),
        (
            include_str!("../../../../catalog/script/item.yml"),
            include_str!("../../../../catalog/script/meta/argument_specs.yml"),
        ),
        (
            include_str!("../../../../catalog/mariadb/item.yml"),
            include_str!("../../../../catalog/mariadb/meta/argument_specs.yml"),
        ),
        (
            include_str!("../../../../catalog/wordpress/item.yml"),
            include_str!("../../../../catalog/wordpress/meta/argument_specs.yml"),
        ),
    ];
    let items = items.map(|(manifest, specs)| CatalogItem::parse(manifest, specs).unwrap());
    Registry::openstack().with_catalog(items)
}

fn cloud() -> CloudFacts {
    CloudFacts {
        external_networks: Some(vec![Named {
            id: "public-id".into(),
            name: "public".into(),
        }]),
        flavors: Some(vec![Flavor {
            id: "1".into(),
            name: "m1.small".into(),
            vcpus: 1,
            ram_mib: 2048,
            disk_gib: 20,
        }]),
        ..CloudFacts::default()
    }
}

//! Gestures on real templates, and the resulting text. One file per subject.

use hot::bundle::Bundle;
use planner::cloud::{CloudFacts, Flavor, Named};
use types::Registry;

use super::*;
use crate::{
    drawing::tests::{TWO_TIER, registry},
    editor::Editor,
    geometry::CanvasPoint,
    layout::Places,
};

mod arranging;
mod copying;
mod deleting;
mod drawing;
mod folding;
mod ghosts;
mod joining;
mod moving;
mod relations;
mod undoing;

const EMPTY: &str = "heat_template_version: 2021-04-16\n\nresources: {}\n";

fn cloud() -> CloudFacts {
    let named = |name: &str| Named {
        id: format!("id-of-{name}"),
        name: name.to_owned(),
    };
    CloudFacts {
        images: Some(vec![named("debian-12")]),
        flavors: Some(vec![Flavor {
            id: "1".into(),
            name: "m1.small".into(),
            vcpus: 1,
            ram_mib: 1024,
            disk_gib: 10,
        }]),
        external_networks: Some(vec![named("public")]),
        ..CloudFacts::default()
    }
}

/// An editor with the gestures as methods.
struct TestEditor {
    editor: Editor,
    types: Registry,
    cloud: CloudFacts,
}

impl TestEditor {
    fn on(text: &str) -> Self {
        let mut hands = Self {
            editor: Editor::open(text, Places::new(), Bundle::default()),
            types: registry(),
            cloud: cloud(),
        };
        hands.settle();
        hands
    }

    fn settle(&mut self) {
        let drawing = self.editor.draw(None, &self.types);
        self.editor.settle(&drawing);
    }

    fn with<R>(&self, look: impl FnOnce(&CommandInput<'_>) -> R) -> R {
        let drawing = self.editor.draw(None, &self.types);
        look(&CommandInput {
            text: self.text(),
            template: self.editor.template(),
            drawing: &drawing,
            types: &self.types,
            cloud: &self.cloud,
            recent: &Recent::default(),
        })
    }

    fn take(&mut self, answer: Result<Proposal, Refusal>) -> String {
        let proposal = answer.unwrap_or_else(|Refusal(reason)| panic!("refused: {reason}"));
        self.editor.apply(&proposal, None).expect("the edits fit");
        self.settle();
        proposal.select.first().cloned().unwrap_or_default()
    }

    fn drop(&mut self, item: Item, x: f64, y: f64) -> String {
        let answer = self.with(|input| drop_item(input, &item, CanvasPoint::new(x, y)));
        self.take(answer)
    }

    fn drop_on(&mut self, item: Item, node: &str) -> String {
        let at = self.with(|input| input.drawing.node(node).expect("a node").rect.centre());
        self.drop(item, at.x, at.y)
    }

    fn connect(&mut self, from: &str, to: &str) {
        let answer = self.with(|input| connect(input, from, to));
        self.take(answer);
    }

    fn text(&self) -> &str {
        self.editor.document().text()
    }

    /// A property of a resource as JSON.
    fn property(&self, resource: &str, property: &str) -> serde_json::Value {
        self.editor
            .template()
            .resource(resource)
            .and_then(|one| one.property(property))
            .map(|value| value.to_json())
            .unwrap_or_default()
    }
}

fn item(name: &str) -> Item {
    Item::Component(format!("Stackloom::Catalog::{name}"))
}

/// A template with `count` empty networks.
fn networks(count: usize) -> (String, Vec<String>) {
    let names: Vec<String> = (0..count).map(|number| format!("net_{number}")).collect();
    let lines = names
        .iter()
        .map(|name| format!("  {name}: {{type: OS::Neutron::Net}}\n"));
    let lines: String = lines.collect();
    (
        format!("heat_template_version: 2021-04-16\nresources:\n{lines}"),
        names,
    )
}

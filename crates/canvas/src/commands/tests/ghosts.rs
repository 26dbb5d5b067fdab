//! Ghosts: the resources that passes add, drawn during editing.

use std::sync::Arc;

use planner::{
    plan::{Deployed, PlanInput, plan},
    preview::Preview,
};

use super::*;

const ONE_SERVER: &str = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
  data: {type: OS::Cinder::Volume, properties: {size: 10}}
";

impl TestEditor {
    /// Types the text. Returns true if the template has no error, and the ghosts in the drawing.
    pub(super) fn ghosts(&mut self, text: &str) -> (bool, Vec<String>) {
        self.editor.type_text(text);
        let preview = Arc::new(Preview::of(plan(&PlanInput {
            document: self.editor.document(),
            bundle: self.editor.bundle(),
            parameters: &Default::default(),
            deployed: &Deployed::default(),
            types: &self.types,
            cloud: &self.cloud,
        })));
        self.editor.remember(&preview);
        let drawing = self.editor.draw(Some(&preview), &self.types);
        let mut ghosts = Vec::new();
        for node in drawing.nodes() {
            ghosts.extend(node.ghost.iter().map(|_| node.name.clone()));
            let parts = node.parts.iter().filter(|part| part.ghost.is_some());
            ghosts.extend(parts.map(|part| part.name.clone()));
        }
        (preview.ghosts.is_some(), ghosts)
    }
}

#[test]
fn an_invalid_value_removes_nothing_from_the_drawing() {
    let mut hands = TestEditor::on(ONE_SERVER);
    let (sound, all) = hands.ghosts(ONE_SERVER);
    assert!(sound && all.iter().any(|name| name.starts_with("web_")));
    let wrong = ONE_SERVER.replace("size: 10", "size: ten");
    assert_eq!(hands.ghosts(&wrong), (false, all.clone()));

    // Without the server, none of its ghosts remains.
    let from = wrong.find("  web:").expect("the server");
    let to = wrong.find("  data:").expect("the volume");
    let (sound, left) = hands.ghosts(&format!("{}{}", &wrong[..from], &wrong[to..]));
    assert!(
        !sound && left.iter().all(|name| !name.starts_with("web_")),
        "{left:?}"
    );
    assert!(left.iter().all(|name| all.contains(name)));
    assert_eq!(hands.ghosts(ONE_SERVER), (true, all));
}

//! `OS::Heat::ResourceChain`: members of several types with the same properties. They are created one after the other
//! unless `concurrent` is true. Source: Heat's `resource_chain.py`.

use super::{BTreeMap, CHAIN, Composer, Expr, Frame, Parent, Place, ResourceSpec, Value};

impl Composer<'_> {
    pub(super) fn chain(&mut self, frame: &Frame<'_>, name: &str, spec: ResourceSpec) {
        let full = frame.full(name);
        let inherits = self.waits_for(frame, &spec);
        let first = self.resources.len();
        let mut members = Vec::new();
        if self.may_nest(frame, name) {
            members = self.links(frame, name, &spec, &inherits);
        }
        let parent = ResourceSpec {
            resource_type: CHAIN.to_owned(),
            properties: BTreeMap::new(),
            ..spec
        };
        self.parent(full, parent, inherits, Parent::Group { members }, first);
    }

    fn links(
        &mut self,
        frame: &Frame<'_>,
        name: &str,
        spec: &ResourceSpec,
        inherits: &[String],
    ) -> Vec<String> {
        let full = frame.full(name);
        let Some(Expr::List(types)) = spec.properties.get("resources") else {
            let path = format!("resources.{full}.properties.resources");
            let message =
                format!("`{full}` needs the types of its members, known when the plan is made");
            self.error("group-definition", path, message);
            return Vec::new();
        };
        let shared: BTreeMap<String, Expr> = match spec.properties.get("resource_properties") {
            Some(Expr::Map(entries)) => entries.iter().cloned().collect(),
            _ => BTreeMap::new(),
        };
        let concurrent = spec.properties.get("concurrent").and_then(Expr::as_data);
        let concurrent = concurrent.map(|value| hot::parameter::coerce("boolean", &value))
            == Some(Value::Bool(true));
        let mut members: Vec<String> = Vec::new();
        for (number, written) in types.iter().enumerate() {
            let Some(written) = written.as_str() else {
                continue;
            };
            let member = number.to_string();
            let short = format!("{name}/{member}");
            let mut inherits = inherits.to_vec();
            if !concurrent {
                inherits.extend(members.last().map(|last| format!("{full}/{last}")));
            }
            let made = ResourceSpec {
                resource_type: written.to_owned(),
                properties: shared.clone(),
                marks: Default::default(),
                origin: spec.origin.clone(),
                requires: Vec::new(),
                depends_on: spec.depends_on.clone(),
                deletion_policy: Default::default(),
                external_id: None,
                version: None,
            };
            let place = Place {
                file: frame.file.map(str::to_owned),
                path: format!("resources.{name}.properties.resources.{number}"),
            };
            self.places.insert(frame.full(&short), place);
            self.resource(&frame.deeper(inherits), &short, made);
            members.push(member);
        }
        members
    }
}

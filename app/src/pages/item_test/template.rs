//! The design of a test: the one that the draft brings along, or one server with the draft.

use api::CatalogEntry;
use hot::document::{Document, Edit, EditError};
use serde_json::{Map, Value, json};
use types::{Property, PropertyKind};

const SERVER_TYPE: &str = "OS::Nova::Server";
const ONE_SERVER: &str = "heat_template_version: 2021-04-16

description: The test of a draft.

resources:
  net:
    type: OS::Neutron::Net
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: net}
      cidr: 10.251.7.0/24
  server:
    type: OS::Nova::Server
    properties:
      networks:
        - network: {get_resource: net}
    metadata:
      stackloom: {public: true}
";

/// The inputs without which the test cannot start.
pub fn required_inputs(draft: &CatalogEntry) -> Vec<Property> {
    let inputs = draft.item.inputs.iter();
    let required = inputs.filter(|input| input.required && input.default.is_none());
    required.cloned().collect()
}

/// The typed text of an input as a value of its type. The plan reports a text of another type.
pub fn value(kind: &PropertyKind, text: &str) -> Value {
    match kind {
        PropertyKind::String => Value::from(text),
        _ => serde_json::from_str(text.trim()).unwrap_or_else(|_| Value::from(text)),
    }
}

/// The template of a test on servers of this image and flavor. The values are those of the required inputs.
///
/// # Errors
/// If the design that the draft brings along cannot be edited.
pub fn template(
    draft: &CatalogEntry,
    (image, flavor): (&str, &str),
    values: Map<String, Value>,
) -> Result<String, EditError> {
    let own = draft.uploaded.as_ref().and_then(|it| it.test.clone());
    let is_own = own.is_some();
    let mut document = Document::parse(own.unwrap_or_else(|| ONE_SERVER.to_owned()));
    let resources = document.template().resources.iter();
    let servers = resources.filter(|resource| resource.resource_type == SERVER_TYPE);
    let servers: Vec<String> = servers.map(|server| server.name.clone()).collect();
    for server in servers {
        for (property, value) in [("image", image), ("flavor", flavor)] {
            let path = ["resources", server.as_str(), "properties", property];
            document = document.edit(&Edit::Set {
                path: path.map(str::to_owned).to_vec(),
                value: json!(value),
            })?;
        }
    }
    if !is_own {
        let mut properties = values;
        properties.insert("host".to_owned(), json!({"get_resource": "server"}));
        document = document.edit(&Edit::AddResource {
            name: "draft".to_owned(),
            resource_type: draft.item.type_name(),
            properties: Value::Object(properties),
        })?;
    }
    Ok(document.text().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::catalog::CatalogItem;

    const MANIFEST: &str =
        "{name: hello, title: Hello, version: 1.0.0, summary: s, category: test}";
    const SPECS: &str = "argument_specs: {main: {options: {word: {type: str, required: true}, times: {type: int, default: 1}}}}";

    fn draft(test: Option<&str>) -> CatalogEntry {
        CatalogEntry {
            item: CatalogItem::parse(MANIFEST, SPECS).unwrap(),
            uploaded: Some(api::Uploaded {
                author: "ada".to_owned(),
                time: String::new(),
                versions: Vec::new(),
                from_form: false,
                test: test.map(str::to_owned),
            }),
        }
    }

    #[test]
    fn a_draft_stands_on_one_server_with_its_required_inputs() {
        let draft = draft(None);
        let inputs = required_inputs(&draft);
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names, ["word"]);
        let values = Map::from_iter([("word".to_owned(), value(&inputs[0].kind, "12"))]);
        let text = template(&draft, ("debian-12", "m1.tiny"), values).unwrap();
        let document = Document::parse(text.as_str())
            .value(&["resources"])
            .unwrap();
        assert_eq!(document["server"]["properties"]["image"], "debian-12");
        assert_eq!(document["server"]["properties"]["flavor"], "m1.tiny");
        assert_eq!(document["draft"]["type"], "Stackloom::Catalog::hello");
        let properties = json!({"word": "12", "host": {"get_resource": "server"}});
        assert_eq!(document["draft"]["properties"], properties);
    }

    #[test]
    fn the_design_that_a_draft_brings_along_gets_the_chosen_image_and_flavor() {
        let own = "heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Nova::Server
    properties: {image: other, flavor: large, networks: [{network: net}]}
  hello:
    type: Stackloom::Catalog::hello
    properties: {host: {get_resource: web}, word: hi}
";
        let text = template(&draft(Some(own)), ("debian-12", "m1.tiny"), Map::new()).unwrap();
        let resources = |text: &str| Document::parse(text).value(&["resources"]).unwrap();
        let expected = own
            .replace("other", "debian-12")
            .replace("large", "m1.tiny");
        assert_eq!(resources(&text), resources(&expected));
    }
}

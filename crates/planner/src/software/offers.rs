//! Capabilities that a component does not provide with its present inputs.
//!
//! An item can provide a capability with certain values only (`when` in its manifest): a web server with HTTPS is no backend
//! of a proxy that speaks HTTP. Values that are known only during the run are not checked.

use hot::diagnostic::Diagnostic;
use types::{Registry, catalog::CatalogItem};
use yaql::shown;

use crate::{
    graph::{providers, target},
    passes::Model,
    workflow::ResourceSpec,
};

/// Errors for connections to components that do not provide the capability. The passes have set all inputs.
pub(crate) fn not_provided(model: &Model, types: &Registry) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (name, spec) in model.iter() {
        let item = item_of(spec, types);
        let requirements = item.map(|item| item.requires.as_slice());
        // A requirement that opens no port uses the address only.
        for requirement in requirements.into_iter().flatten().filter(|one| one.opens) {
            let value = spec.properties.get(&requirement.name);
            for provider in value.into_iter().flat_map(providers).filter_map(target) {
                let unmet = model
                    .get(provider)
                    .and_then(|spec| unmet(spec, &requirement.capability, types));
                let Some(Unmet {
                    input,
                    needed,
                    present,
                }) = unmet
                else {
                    continue;
                };
                let message = format!(
                    "`{}` does not provide `{}` with `{input}: {}`, so `{}` cannot use it as `{}`; set `{input}` to `{needed}`, or \
                     remove the connection",
                    shown(provider),
                    requirement.capability,
                    shown(present),
                    shown(name),
                    requirement.name,
                );
                let path = format!("resources.{name}.properties.{}", requirement.name);
                found.push(Diagnostic::error("capability-not-provided", path, message));
            }
        }
    }
    found
}

/// A condition of a capability that a component does not meet.
struct Unmet<'a> {
    input: &'a str,
    needed: &'a str,
    present: &'a str,
}

fn unmet<'a>(
    provider: &'a ResourceSpec,
    capability: &str,
    types: &'a Registry,
) -> Option<Unmet<'a>> {
    let offered = item_of(provider, types)?.capability(capability)?;
    offered.when.iter().find_map(|(input, needed)| {
        let present = provider.properties.get(input)?.as_str()?;
        (present != needed).then_some(Unmet {
            input,
            needed,
            present,
        })
    })
}

fn item_of<'a>(spec: &ResourceSpec, types: &'a Registry) -> Option<&'a CatalogItem> {
    types.get(&spec.resource_type)?.component.as_ref()
}

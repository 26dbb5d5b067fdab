//! Lists the components that are connected to a capability with `consumers`, each with a secret that is generated for
//! this connection.
//!
//! The list becomes a property of the provider, so a consumer that comes or goes changes the provider, and its role runs
//! again. It contains no reference to a consumer: the provider is set up first.

use super::*;
use types::{
    RANDOM_STRING,
    catalog::{NAME_KEY, SECRET_KEY},
};

const NAME: &str = "consumers";
/// Number of characters of a generated secret: letters and digits.
const SECRET_LENGTH: u32 = 32;

/// A provider with the role variable of its list, and the names of its consumers.
type Consumers = BTreeMap<(String, String), BTreeSet<String>>;

pub(super) fn pass(model: &mut Model, context: &PassContext<'_>) -> Vec<Diagnostic> {
    for ((provider, variable), consumers) in connected(model, context) {
        let entries = consumers.into_iter().map(|consumer| {
            let why = format!(
                "is the secret of `{consumer}` for `{provider}`, which no other component gets"
            );
            let secret = model.derive(
                // A consumer in a group keeps its secret among the other resources of its member.
                &format!("{consumer}_at_{}", provider.replace('/', "_")),
                Derived {
                    pass: NAME,
                    resource_type: RANDOM_STRING,
                    why,
                    serves: Some(&consumer),
                    properties: vec![("length", literal(SECRET_LENGTH))],
                },
            );
            map([
                (NAME_KEY, Expr::text(&consumer)),
                (SECRET_KEY, Expr::GetAttr(secret, vec![Expr::text("value")])),
            ])
        });
        let entries: Vec<Expr> = entries.collect();
        if let Some(spec) = model.get_mut(&provider) {
            spec.properties.insert(variable, Expr::List(entries));
        }
    }
    Vec::new()
}

/// The consumers of all providers that get a list of them.
fn connected(model: &Model, context: &PassContext<'_>) -> Consumers {
    let mut found = Consumers::new();
    for (name, spec) in model.iter() {
        let Some(item) = component(context, spec) else {
            continue;
        };
        for requirement in &item.requires {
            let value = spec.properties.get(&requirement.name);
            let all = list(spec, &requirement.name).iter().chain(value);
            for provider in all.filter_map(target) {
                let offered = model
                    .get(provider)
                    .and_then(|spec| component(context, spec));
                let offered = offered.and_then(|item| item.capability(&requirement.capability));
                if let Some(variable) = offered.and_then(|offered| offered.consumers.clone()) {
                    let consumers = found.entry((provider.to_owned(), variable)).or_default();
                    consumers.insert(name.to_owned());
                }
            }
        }
    }
    found
}

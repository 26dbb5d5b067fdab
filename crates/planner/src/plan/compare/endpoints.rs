//! Compares the endpoints of requirements that need addresses only.
//!
//! Such a provider can come after its consumer in the order, so its own change is not known yet. Its endpoint is: the resources
//! that it is made from come before both.

use types::catalog::{Need, SECRET_KEY};

use super::*;
use crate::graph::{providers, target};

/// The text of a value before and after.
type Texts<'e> = (Option<&'e Expr>, Option<&'e Expr>);

impl Comparison<'_> {
    /// The change of the endpoints in a property whose text stays. `None` if it is not a requirement that needs addresses
    /// only.
    pub(super) fn endpoints(
        &self,
        consumer: &str,
        described: Option<&ResourceType>,
        property: &str,
        value: Option<&Expr>,
    ) -> Option<Differs> {
        let item = described?.component.as_ref()?;
        let requirement = item.requirement(property)?;
        if requirement.needs != Need::Address {
            return None;
        }
        let all = providers(value?).iter().map(|provider| {
            self.endpoint(consumer, &requirement.capability, provider)
                .unwrap_or_else(|| self.mentioned(provider))
        });
        Some(all.fold(Differs::No, Differs::or_stronger))
    }

    /// The change of one endpoint. `None` if it is not one of a component.
    fn endpoint(&self, consumer: &str, capability: &str, provider: &Expr) -> Option<Differs> {
        let provider = target(provider)?;
        let new = self.model.get(provider)?;
        let described = self.types.get(&new.resource_type);
        let item = described?.component.as_ref()?;
        let offered = item.capability(capability)?;
        let Some(old) = self.deployed.resources.get(provider) else {
            let because = format!("`{provider}` is created anew");
            return Some(Differs::Yes(Some(because)));
        };
        if old.resource_type != new.resource_type || upgrade(old, new).is_some() {
            return Some(Differs::Yes(Some(format!("`{provider}` changes"))));
        }
        if !self.deployed.is_in_order(provider) {
            // The consumer may have been set up for what the provider did not become.
            let because = format!("the last step on `{provider}` did not end well");
            return Some(Differs::Yes(Some(because)));
        }
        let hidden = self.deployed.hidden_changed_of(provider);
        let differs = |property: &str, (before, after): Texts<'_>, made: Option<&Value>| {
            let another = (before == after)
                .then(|| of_another_value(after, hidden))
                .flatten();
            let found =
                another.unwrap_or_else(|| self.property(described, property, before, after, made));
            (before.is_some() || after.is_some()) && found != Differs::No
        };
        let actual = self.deployed.actual.get(provider);
        let mut properties = std::iter::once("host").chain(offered.endpoint_inputs());
        let changed = properties.find(|property| {
            let texts = (old.properties.get(*property), new.properties.get(*property));
            let made = actual.and_then(|actual| actual.made_from.get(*property));
            differs(property, texts, made)
        });
        let because = changed.map(|property| format!("`{property}` of `{provider}` changes"));
        let secret = |spec: &ResourceSpec| {
            let list = offered.consumers.as_deref()?;
            spec.secret_of(consumer, list).cloned()
        };
        let because = because.or_else(|| {
            let (before, after) = (secret(old), secret(new));
            let is_other = differs(SECRET_KEY, (before.as_ref(), after.as_ref()), None);
            is_other.then(|| format!("its secret at `{provider}` changes"))
        });
        let moved = || self.moved(new.properties.get("host"));
        Some(because.map_or_else(moved, |because| Differs::Yes(Some(because))))
    }
}

//! Hidden parameters: their values after a change, and where they are stored.

use std::collections::{BTreeMap, BTreeSet};

use api::Workflow;
use hot::{bundle::Bundle, document::Document, merged::Merged, template::Template};
use serde_json::Value;
use store::DeploymentRow;

use super::{Engine, compare};
use crate::{
    Actor, Error, Result,
    run::{defaults, divide},
    secrets::{RunVault, hidden_parameters::HiddenParameters},
};

impl Engine {
    pub(super) fn vault(&self, actor: &Actor) -> RunVault {
        RunVault::new(
            actor.session.clone(),
            self.core.store.clone(),
            actor.tenant.clone(),
            actor.vault_key.clone(),
        )
    }

    pub(super) fn hidden_parameters<'a>(
        &'a self,
        actor: &'a Actor,
        vault: &'a RunVault,
        deployment: &'a str,
    ) -> HiddenParameters<'a> {
        HiddenParameters {
            store: &self.core.store,
            vault,
            tenant: &actor.tenant,
            deployment,
        }
    }

    /// Stores values for a change that is about to be accepted, and returns the new name of their secret for the
    /// deployment. `stored` has the current values and their name. Fails early if secrets cannot be stored.
    pub(super) async fn store_hidden(
        &self,
        actor: &Actor,
        deployment: &str,
        workflow: &Workflow,
        values: &BTreeMap<String, Value>,
        stored: Option<&StoredHidden>,
    ) -> Result<Keeping> {
        let vault = self.vault(actor);
        let makes_keys = workflow
            .resources
            .values()
            .any(|spec| spec.resource_type == "Stackloom::SSHKey");
        if !vault.is_there() && (makes_keys || !values.is_empty()) {
            return Err(Error::NoVault);
        }
        if let Some(stored) = stored
            && stored.values == *values
        {
            return Ok(Keeping {
                name: stored.name.clone(),
                is_new: false,
            });
        }
        let name = if values.is_empty() {
            None
        } else {
            Some(
                self.hidden_parameters(actor, &vault, deployment)
                    .put(values)
                    .await?,
            )
        };
        Ok(Keeping {
            is_new: name.is_some(),
            name,
        })
    }

    /// Cleans up after a change was accepted or refused: no values of a refused change stay stored.
    pub(super) async fn clean_up_hidden(
        &self,
        actor: &Actor,
        deployment: &str,
        keeping: &Keeping,
        is_taken_up: bool,
    ) {
        let vault = self.vault(actor);
        let hidden_parameters = self.hidden_parameters(actor, &vault, deployment);
        match &keeping.name {
            Some(name) if keeping.is_new && !is_taken_up => hidden_parameters.give_up(name).await,
            _ if is_taken_up => hidden_parameters.forget_useless().await,
            _ => {}
        }
    }

    /// The hidden values of the deployment's last change.
    pub(super) async fn stored_hidden(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
    ) -> Result<BTreeMap<String, Value>> {
        let vault = self.vault(actor);
        self.hidden_parameters(actor, &vault, &row.shown.id)
            .get(row.hidden.as_deref())
            .await
    }

    /// As [`Engine::stored_hidden`], but unreadable values are no error: a change can contain them again.
    pub(super) async fn stored_hidden_or_lost(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
    ) -> Result<StoredHidden> {
        match self.stored_hidden(actor, row).await {
            Ok(values) => Ok(StoredHidden {
                name: row.hidden.clone(),
                values,
                lost: None,
            }),
            Err(Error::Lost(why)) => Ok(StoredHidden {
                name: None,
                values: BTreeMap::new(),
                lost: Some(why),
            }),
            Err(error) => Err(error),
        }
    }

    /// The hidden values that a roll-back restores.
    pub(super) async fn roll_back_hidden(
        &self,
        actor: &Actor,
        row: &DeploymentRow,
    ) -> Result<BTreeMap<String, Value>> {
        let vault = self.vault(actor);
        let good = row.good.as_ref().and_then(|good| good.hidden.as_deref());
        self.hidden_parameters(actor, &vault, &row.shown.id)
            .get(good)
            .await
    }
}

/// The hidden values of a deployment's last change, if they can be read.
pub(super) struct StoredHidden {
    /// The name of the secret that contains them. `None` if it cannot be used again.
    pub name: Option<String>,
    pub values: BTreeMap<String, Value>,
    /// The reason why the values cannot be read. They are unknown then.
    pub lost: Option<String>,
}

impl StoredHidden {
    /// Hidden parameters whose given value differs from the stored one. If the stored values cannot be read, all given
    /// values count as different.
    pub(super) fn changed(&self, given: &BTreeMap<String, Value>) -> BTreeSet<String> {
        match self.lost {
            Some(_) => given.keys().cloned().collect(),
            None => compare::hidden_changed(&self.values, given),
        }
    }

    /// Checks that a change contains all lost values. Otherwise a default, or nothing, would replace them.
    pub(super) fn check(
        &self,
        before: &Template,
        now: &Template,
        requested: &BTreeMap<String, Value>,
        merged: &Merged,
    ) -> Result<()> {
        let Some(why) = &self.lost else { return Ok(()) };
        let was_hidden = |name: &str| {
            let mut parameters = before.parameters.iter();
            parameters.any(|parameter| parameter.hidden && parameter.name == name)
        };
        let missing: Vec<&str> = now
            .parameters
            .iter()
            .filter(|parameter| parameter.hidden)
            .map(|parameter| parameter.name.as_str())
            .filter(|name| was_hidden(name) && requested.get(*name).is_none_or(Value::is_null))
            .chain(merged.hidden_elsewhere())
            .collect();
        match missing.as_slice() {
            [] => Ok(()),
            missing => Err(Error::NotPossibleNow(format!(
                "{why}. Enter these parameters again to update: `{}`",
                missing.join("`, `")
            ))),
        }
    }
}

/// The location where the values of a change are stored.
pub(super) struct Keeping {
    pub name: Option<String>,
    /// True if the name is new, so no deployment refers to it yet.
    is_new: bool,
}

/// Given values, completed by the stored ones.
pub(super) fn with_stored(
    row: &DeploymentRow,
    given: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let mut all = row.parameters.clone();
    all.extend(given.clone());
    all
}

/// Files and environments of an update without any: those of the deployment, without the values that the update itself
/// contains.
pub(super) fn stored_bundle(row: &DeploymentRow, given: &BTreeMap<String, Value>) -> Bundle {
    let given = given.iter().filter(|(_, value)| !value.is_null());
    let names = given.map(|(name, _)| name.clone()).collect();
    hot::merged::without_values(&row.shown.beside.bundle(), names)
}

/// Given values that no environment overrides. Only these are stored: an unused value must not take effect when the
/// environment is removed.
pub(super) fn without_overridden(
    document: &Document,
    bundle: &Bundle,
    given: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let merged = Merged::of(bundle, document.template());
    let mut used = given.clone();
    used.retain(|name, _| merged.overridden_by(name).is_none());
    used
}

/// Given values together with those of environments.
pub(super) fn with_environments(
    document: &Document,
    bundle: &Bundle,
    given: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    Merged::of(bundle, document.template()).parameters(document.template(), given)
}

/// Values of hidden parameters: the given value, else the stored one, else the default. `null` counts as not given, as
/// in Heat. Values that environments give to nested templates are included, under the names of
/// [`Merged::hidden_defaults`].
pub(super) fn hidden_values(
    document: &Document,
    bundle: &Bundle,
    given: &BTreeMap<String, Value>,
    stored: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let template = document.template();
    let mut values = defaults(template, |hidden| hidden);
    for known in [stored, given] {
        let (_, hidden) = divide(template, known);
        values.extend(hidden.into_iter().filter(|(_, value)| !value.is_null()));
    }
    let mut of_nested = stored.clone();
    of_nested.extend(given.clone());
    let merged = Merged::of(bundle, template).with_kept(&of_nested);
    values.extend(merged.hidden_defaults());
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hidden_value_is_the_given_then_the_stored_then_the_default_one() {
        let document = Document::parse(
            "heat_template_version: 2021-04-16
parameters:
  given: {type: string, hidden: true, default: d}
  kept: {type: string, hidden: true, default: d}
  neither: {type: string, hidden: true, default: d}
  nothing: {type: string, hidden: true}
  open: {type: string, default: d}
",
        );
        let values = |all: &[(&str, &str)]| {
            all.iter()
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect::<BTreeMap<_, _>>()
        };
        assert_eq!(
            hidden_values(
                &document,
                &Bundle::default(),
                &values(&[("given", "new"), ("open", "seen")]),
                &values(&[
                    ("given", "old"),
                    ("kept", "old"),
                    ("of another template", "x")
                ]),
            ),
            values(&[("given", "new"), ("kept", "old"), ("neither", "d")])
        );
    }
}

//! The plan of a change that is only shown: of a new deployment, or of an update.
//!
//! It is made from the same input as the plan that is carried out. In addition, it can be made without the stored values
//! of hidden parameters: their changes are unknown then.

use std::collections::{BTreeMap, BTreeSet};

use api::{CloudFacts, Plan};
use hot::{bundle::Bundle, diagnostic::Diagnostic, document::Document, merged::Merged};
use planner::{deployed::GroupRequest, plan::Deployed};
use serde_json::Value;
use store::DeploymentRow;

use super::{
    Engine, RollBack,
    begin::plan_with,
    compare,
    hidden::{StoredHidden, hidden_values, stored_bundle, with_environments, with_stored},
    update::{Stored, damage_if},
};
use crate::{
    Actor, Result,
    catalog::Catalog,
    run::{divide, pseudo_parameters},
};

/// The input of a plan that is only shown.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// The template.
    pub template: String,
    /// The files beside it. `None` keeps the files of the deployment.
    pub bundle: Option<Bundle>,
    /// Values of parameters. An update keeps the stored values of the others.
    pub parameters: BTreeMap<String, Value>,
    /// Images, flavors and other lists of the cloud.
    pub cloud: CloudFacts,
    /// The use of stored values of hidden parameters.
    pub hidden: Hidden,
    /// Requests for scaling groups, by full name. Other groups keep their members.
    pub groups: BTreeMap<String, GroupRequest>,
    /// True to repair what the last check has found.
    pub repairs: bool,
    /// Versions of catalogue items, by name. Of the other items, the deployment keeps its versions.
    pub versions: BTreeMap<String, String>,
    /// The state to which the planned roll-back returns. `None` for any other plan.
    pub rolls_back: Option<RollBack>,
}

/// The use of the stored values of hidden parameters in a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hidden {
    /// A given value is compared with the stored one.
    #[default]
    Compared,
    /// Each given value counts as changed. For users who may not read the stored values, so that they learn none by
    /// guessing.
    Unknown,
}

/// The input of a plan that is only shown, completed by the stored state of its deployment.
#[derive(Default)]
struct PlanBasis {
    bundle: Bundle,
    parameters: BTreeMap<String, Value>,
    deployed: Deployed,
    /// The reason why hidden values are lost, if the plan does not contain them again.
    lost: Option<String>,
    /// The newest run of the deployment.
    base_run: Option<String>,
}

/// The hidden values of a plan that is only shown, compared with the stored ones.
struct ComparedHidden {
    /// Values that the plan contains. For a roll-back to the last good state, all values of that state.
    given: BTreeMap<String, Value>,
    /// Names of parameters whose given value differs from the stored one, or could not be compared.
    changed: BTreeSet<String>,
    /// Values that the deployment keeps, or gets by the roll-back.
    stored: BTreeMap<String, Value>,
    /// The reason why stored values are lost, if the plan does not contain them again.
    lost: Option<String>,
}

impl ComparedHidden {
    fn of(
        (document, bundle): (&Document, &Bundle),
        requested: &BTreeMap<String, Value>,
        row: &DeploymentRow,
        stored_hidden: Option<StoredHidden>,
        good_hidden: Option<&BTreeMap<String, Value>>,
    ) -> ComparedHidden {
        let template = document.template();
        let merged = Merged::of(bundle, template);
        let given = match good_hidden {
            Some(good) => hidden_values(document, bundle, good, requested),
            None => {
                let (_, mut given) = divide(template, requested);
                given.retain(|_, value| !value.is_null());
                given.extend(merged.hidden_defaults());
                given
            }
        };
        let (changed, stored, lost) = match stored_hidden {
            // No value of the present state stays.
            Some(stored_hidden) if good_hidden.is_some() => {
                (stored_hidden.changed(&given), given.clone(), None)
            }
            Some(stored_hidden) => {
                let before = Document::parse(row.shown.template.clone());
                let checked = stored_hidden.check(before.template(), template, requested, &merged);
                let lost = checked.err().map(|error| error.to_string());
                (stored_hidden.changed(&given), stored_hidden.values, lost)
            }
            None => (given.keys().cloned().collect(), BTreeMap::new(), None),
        };
        ComparedHidden {
            given,
            changed,
            stored,
            lost,
        }
    }
}

impl Engine {
    pub(super) async fn plan_for(
        &self,
        actor: &Actor,
        preview: Preview,
        deployment: Option<&str>,
    ) -> Result<Plan> {
        let stored = match deployment {
            None => None,
            Some(id) => {
                let row = self.deployment_row(&actor.tenant, id).await?;
                Some(Stored {
                    // A plan can be shown without the stored values.
                    stored_hidden: match preview.hidden {
                        Hidden::Compared => self.stored_hidden_or_lost(actor, &row).await.ok(),
                        Hidden::Unknown => None,
                    },
                    good_hidden: self.good_hidden(actor, &row, preview.rolls_back).await?,
                    there: self.versioned_resources(&actor.tenant, id).await?,
                    row,
                })
            }
        };
        // Only after the check that the deployment belongs to this project.
        let kept = || stored.as_ref().map(|it| it.row.shown.beside.bundle());
        let bundle = preview.bundle.clone().or_else(kept).unwrap_or_default();
        let texts = (preview.template.as_str(), bundle);
        let catalog = self
            .catalog_of_template(&actor.tenant, deployment, texts, &preview.versions)
            .await?;
        let engine = self.clone();
        let work = move || engine.plan_now(preview, stored, &catalog);
        self.compute(&actor.tenant, work).await
    }

    fn plan_now(&self, mut preview: Preview, stored: Option<Stored>, catalog: &Catalog) -> Plan {
        let document = Document::parse(std::mem::take(&mut preview.template));
        let cloud = std::mem::take(&mut preview.cloud);
        let basis = match stored {
            Some(stored) => self.basis_of_update(&document, preview, stored),
            None => PlanBasis {
                bundle: preview.bundle.unwrap_or_default(),
                parameters: preview.parameters,
                ..PlanBasis::default()
            },
        };
        let PlanBasis {
            bundle,
            parameters,
            deployed,
            lost,
            base_run,
        } = basis;
        let types = catalog.registry();
        let mut plan = plan_with(&document, &bundle, &parameters, &deployed, &cloud, types);
        let lost = lost.map(|why| Diagnostic::warning("hidden-value-lost", "parameters", why));
        plan.diagnostics.extend(lost);
        plan.base_run = base_run;
        plan.digest = plan.workflow.is_some().then(|| plan.digest_of_changes());
        plan
    }

    /// The input of a shown plan that changes a deployment.
    fn basis_of_update(&self, document: &Document, preview: Preview, stored: Stored) -> PlanBasis {
        let Stored {
            row,
            stored_hidden,
            good_hidden,
            there,
        } = stored;
        let id = row.shown.id.as_str();
        let mut parameters = preview.parameters;
        let bundle = preview.bundle;
        let bundle = bundle.unwrap_or_else(|| stored_bundle(&row, &parameters));
        if good_hidden.is_none() {
            parameters = with_stored(&row, &parameters);
        }
        let requested = with_environments(document, &bundle, &parameters);
        let restores_hidden = good_hidden.is_some() && stored_hidden.is_some();
        let ComparedHidden {
            given,
            changed,
            stored,
            lost,
        } = ComparedHidden::of(
            (document, &bundle),
            &requested,
            &row,
            stored_hidden,
            good_hidden.as_ref(),
        );
        if restores_hidden {
            parameters.extend(divide(document.template(), &given).1);
        }
        let is_unknown = preview.hidden == Hidden::Unknown;
        let unknown: BTreeSet<String> = given.keys().filter(|_| is_unknown).cloned().collect();
        let mut values = stored.clone();
        values.extend(given);
        let deployed = Deployed {
            damage: damage_if(preview.repairs, &row),
            parameters: row.parameters,
            hidden_changed: changed,
            stored_hidden: stored,
            pseudo: pseudo_parameters(&row.shown.name, id, &row.tenant),
            groups: preview.groups,
            ..compare::deployed(there, |parameter, digest| {
                !unknown.contains(parameter) && self.is_same(id, &values)(parameter, digest)
            })
        };
        PlanBasis {
            bundle,
            parameters,
            deployed,
            lost,
            base_run: row.shown.last_run,
        }
    }
}

//! The context that the steps of a run share, from the journal and a user's session.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hot::{document::Document, merged::Merged, template::Template};
use openstack::Session;
use serde_json::Value;
use store::{DeploymentRow, RunRow};

use super::{origin, step::Site};
use crate::{
    Result, Tenant,
    resources::ResourceTable,
    secrets::{Mask, RunSecrets, RunVault, kept},
    shared::Core,
};

/// The input of a [`Site`].
pub struct Opening<'a> {
    /// The engine's core.
    pub core: &'a Arc<Core>,
    /// The run.
    pub run: &'a RunRow,
    /// Its deployment.
    pub deployment: &'a DeploymentRow,
    /// The session of the user for whom the run acts.
    pub session: Session,
    /// The user's secrets that the run needs.
    pub secrets: &'a RunSecrets,
    /// The known resources. Read from the journal if `None`.
    pub known: Option<Arc<ResourceTable>>,
}

impl Opening<'_> {
    /// Opens the site.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn site(self) -> Result<Site> {
        let Opening {
            core,
            run,
            deployment,
            session,
            secrets,
            known,
        } = self;
        let known = match known {
            Some(known) => known,
            None => {
                let id = &deployment.shown.id;
                let rows = core.store.resource_list_all(&run.tenant, id).await?;
                let known = ResourceTable::of(kept::open(&core.key, id, rows));
                let last = core.store.creation_last_incarnations(&run.tenant, id);
                Arc::new(known.with_incarnations(last.await?))
            }
        };
        let mask = Mask::default();
        mask.add(&secrets.token);
        secrets
            .parameters
            .values()
            .for_each(|value| mask.add_value(value));
        for (_, thing) in known.with_copies() {
            let driver = crate::drivers::driver_for(&thing.spec.resource_type);
            let attributes = thing.attributes.iter();
            attributes
                .filter(|(name, _)| origin::is_masked(driver, name))
                .for_each(|(_, value)| mask.add_value(value));
        }
        let vault = RunVault::new(
            session.clone(),
            core.store.clone(),
            run.tenant.clone(),
            secrets.vault_key(),
        );
        Ok(Site {
            core: core.clone(),
            catalog: core
                .catalogs
                .of_deployment(&run.tenant, &deployment.shown.id)
                .await?,
            tenant: run.tenant.clone(),
            run: run.shown.id.clone(),
            kind: run.shown.kind,
            deployment: deployment.shown.id.clone(),
            deployment_name: deployment.shown.name.clone(),
            goes_back: run.shown.rolls_back,
            workflow: Arc::new(run.workflow()?),
            known,
            session,
            vault,
            parameters: parameters(deployment, &secrets.parameters),
            hidden: hidden_names(deployment, &secrets.parameters),
            mask: Arc::new(mask),
        })
    }
}

/// The pseudo parameters of a deployment.
pub fn pseudo_parameters(name: &str, id: &str, tenant: &Tenant) -> BTreeMap<String, Value> {
    let values = [
        ("OS::stack_name", name),
        ("OS::stack_id", id),
        ("OS::project_id", &tenant.project_id),
    ];
    let values = values.map(|(name, value)| (name.to_owned(), Value::from(value)));
    BTreeMap::from(values)
}

/// All values for `get_param`: pseudo parameters, defaults and given values.
pub fn parameters(
    deployment: &DeploymentRow,
    hidden: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let document = Document::parse(deployment.shown.template.clone());
    let shown = &deployment.shown;
    let mut values = pseudo_parameters(&shown.name, &shown.id, &deployment.tenant);
    values.extend(defaults(document.template(), |hidden| !hidden));
    let merged = Merged::of(&deployment.shown.beside.bundle(), document.template());
    values.extend(merged.parameters(document.template(), &deployment.parameters));
    values.extend(hidden.clone());
    values
}

/// Names of the template's hidden parameters, and the names of nested templates' hidden values.
fn hidden_names(deployment: &DeploymentRow, hidden: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let document = Document::parse(deployment.shown.template.clone());
    let parameters = document.template().parameters.iter();
    let declared = parameters.filter(|parameter| parameter.hidden);
    let declared = declared.map(|parameter| parameter.name.clone());
    declared.chain(hidden.keys().cloned()).collect()
}

/// Default values of either the hidden or the other parameters of a template.
pub fn defaults(template: &Template, wanted: impl Fn(bool) -> bool) -> BTreeMap<String, Value> {
    let parameters = template
        .parameters
        .iter()
        .filter(|parameter| wanted(parameter.hidden));
    parameters
        .filter_map(|parameter| Some((parameter.name.clone(), parameter.default.clone()?)))
        .collect()
}

/// Given values, divided into those that may be stored in clear text and the hidden ones.
pub fn divide(
    template: &Template,
    given: &BTreeMap<String, Value>,
) -> (BTreeMap<String, Value>, BTreeMap<String, Value>) {
    let is_hidden = |name: &String| {
        template
            .parameters
            .iter()
            .any(|parameter| parameter.hidden && parameter.name == *name)
    };
    let (hidden, open) = given
        .clone()
        .into_iter()
        .partition(|(name, _)| is_hidden(name));
    (open, hidden)
}

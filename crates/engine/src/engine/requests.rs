//! The inputs of changes of deployments.

use std::collections::BTreeMap;

use api::{CloudFacts, Layout, OnFailure, Scaling};
use hot::bundle::Bundle;
use planner::deployed::GroupRequest;
use serde_json::Value;

/// The input of [`Engine::deploy`](super::Engine::deploy).
#[derive(Clone, Debug, Default)]
pub struct NewDeployment {
    /// Unique among the project's live deployments.
    pub name: String,
    /// The template as HOT text.
    pub template: String,
    /// Files and environments beside the template.
    pub bundle: Bundle,
    /// Positions of the nodes on the canvas.
    pub layout: Layout,
    /// Parameter values.
    pub parameters: BTreeMap<String, Value>,
    /// Id of the deployment's design, if any.
    pub design: Option<String>,
    /// Version of the design.
    pub design_version: Option<u32>,
    /// Versions of catalogue items, by name. Of the other items, the newest.
    pub versions: BTreeMap<String, String>,
    /// Facts about the cloud for passes and checks.
    pub cloud: CloudFacts,
    /// Digest of the plan that the user has reviewed. The deployment is refused if its plan has other changes. `None`
    /// compares nothing.
    pub plan_digest: Option<String>,
    /// True to start even if a quota is exceeded.
    pub despite_quota: bool,
}

/// The input of [`Engine::update`](super::Engine::update).
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The template as HOT text.
    pub template: String,
    /// Files and environments beside the template. `None` keeps the deployment's files.
    pub bundle: Option<Bundle>,
    /// Positions of the nodes on the canvas.
    pub layout: Layout,
    /// Parameter values.
    pub parameters: BTreeMap<String, Value>,
    /// Id of the deployment's design, if any.
    pub design: Option<String>,
    /// Version of the design.
    pub design_version: Option<u32>,
    /// Facts about the cloud for passes and checks.
    pub cloud: CloudFacts,
    /// The state to which a roll-back returns. `None` for any other update.
    pub rolls_back: Option<RollBack>,
    /// The deployment's newest run when the user saw the plan. The update is refused if there is a newer one. `None`
    /// checks nothing.
    pub base_run: Option<String>,
    /// Digest of the plan that the user has reviewed. The update is refused if its plan has other changes. `None` compares
    /// nothing.
    pub plan_digest: Option<String>,
    /// The active run that the update replaces. `None` refuses the update while a run is active.
    pub instead_of: Option<String>,
    /// Requests for scaling groups, by full name. Other groups keep their members.
    pub groups: BTreeMap<String, GroupRequest>,
    /// True to repair what the last check has found.
    pub repairs: bool,
    /// Versions of catalogue items, by name. Of the other items, the deployment keeps its versions.
    pub versions: BTreeMap<String, String>,
    /// Number of components that are set up with another version of their item at the same time. 0 means 1.
    pub upgrade_batch: usize,
    /// The scaling that the update carries out, if it was started for one.
    pub scaling: Option<Scaling>,
    /// Reaction to a failure of the update.
    pub on_failure: OnFailure,
    /// True to start even if a quota is exceeded. Always true for a roll-back.
    pub despite_quota: bool,
}

/// The state to which a roll-back returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollBack {
    /// The last good state, with its hidden parameters. The given parameters are not completed by the stored ones.
    LastGood,
    /// The content of an earlier run. Parameters without a given value keep their present one, like in any update.
    EarlierRun,
}

/// Effect of a failed deletion on an undeployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// A failed deletion ends the run, which can be resumed.
    #[default]
    No,
    /// A failed deletion does not stop the run. The deployment is removed, and the run reports the remaining resources.
    Yes,
}

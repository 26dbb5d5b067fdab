//! From a template to a workflow, without I/O: validation, passes, plan.
//!
//! # Composition
//!
//! A template comes with a bundle: files by name or relative path, and the list of those that are environments. Nothing
//! is fetched. [`compose`] makes the template flat before the passes: members of groups and resources of nested
//! templates become ordinary resources (`group/0`, `web/server`) with parameters and names substituted. The parent
//! stays as a resource without an object in the cloud; it requires its members and has its outputs as attributes.
//! Passes, diff, workflow and drivers therefore need no nesting. The order is Heat's: members wait for the dependencies
//! of their parent, and a resource that uses a parent waits for all members. The set of resources must be decidable at
//! plan time (`condition-late`); values can be chosen later. A pause between batches of a group is a step.
//!
//! # Changes
//!
//! A plan compares values where both are known, because each deployed resource contains the values that it was created
//! from; elsewhere it compares descriptions. A property that cannot be updated in place replaces the resource: a
//! successor is created under the same name with its own marker, and the predecessor is kept as a copy (`web@1`).
//! Dependents move over in the order of the new dependencies, then copies are deleted in the order of the old ones.
//! Only resources that the cloud cannot hold twice are deleted first; a server's ports are detached from the
//! predecessor, which stays. A failed change thus leaves the working resources, and a roll-back is a plan from the
//! present state to the last template that was deployed successfully. A value that moves between two resources that
//! both stay (two floating IPs that swap ports) is released before it is set on the other resource.
//!
//! # Checks against the cloud
//!
//! Before a plan is accepted it is compared with the services in the catalogue (`services`) and with the project's
//! quotas (`plan::quota`). A missing service is an error, and so is a wait for signals that
//! cannot arrive (`signals`). A quota that is too small is a warning; the server refuses
//! the deployment unless the request sets `despite_quota`, because a quota can be raised during a run. The comparison
//! uses the peak during the run, since successors exist before predecessors are deleted. An unknown quota is no limit.
//!
//! Reading order: `cloud`, `workflow`, `validate`, `compose`, `passes`, `plan`, `preview`.

pub mod cloud;
pub mod compose;
pub mod deployed;
mod graph;
pub mod lookup;
pub mod members;
mod parameters;
pub mod passes;
pub mod pins;
pub mod plan;
pub mod preview;
mod range;
pub mod scaling;
mod services;
mod signals;
pub mod software;
pub mod validate;
pub mod workflow;

#[cfg(test)]
mod testing;

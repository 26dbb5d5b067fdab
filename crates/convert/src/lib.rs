//! Conversion of designs: [`export`] to HOT, Terraform, TOSCA and SVG, [`import`] from CloudFormation.
//!
//! Both list their losses and changes in a [`report::Report`]. Plain HOT records its changes under
//! `metadata.stackloom.exported`, so that [`export::restored`] can restore the original design, including later edits
//! of the file. An import is validated like any template. Values that OpenStack refuses are removed, and resources
//! without a counterpart become an `OS::Heat::None`, each with a note in the report.
//!
//! Only the server needs this crate; browsers call the server.

pub mod export;
pub mod import;
pub mod report;

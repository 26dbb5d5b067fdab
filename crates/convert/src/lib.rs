//! Designs in other languages: [`export`] to HOT, Terraform, TOSCA and SVG, [`import`] from CloudFormation.
//!
//! Losses and changes of both are one [`report::Report`]. Plain HOT keeps what it changed under
//! `metadata.stackloom.exported`, so that [`export::restored`] can make the original design from it, later edits
//! of the file included. An import is validated as any template: values that OpenStack refuses are removed, and an
//! `OS::Heat::None` takes the place of a resource that OpenStack does not have, each with a line in the report.
//!
//! Only the server needs this crate; the browser asks it.

pub mod export;
pub mod import;
pub mod report;

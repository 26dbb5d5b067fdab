//! Designs in other languages: [`export`] to HOT, Terraform, TOSCA and SVG, [`import`] from CloudFormation.
//!
//! Only the server needs this crate; the browser asks it.

pub mod export;
pub mod import;
pub mod report;

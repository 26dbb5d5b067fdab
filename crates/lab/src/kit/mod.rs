//! The parts of all services: tables, records, fields, queries, responses, refusals, microversions, faults. Nothing
//! here depends on a service.

pub(crate) mod answer;
pub(crate) mod blobs;
pub(crate) mod call;
pub(crate) mod faults;
pub(crate) mod field;
pub mod ids;
pub(crate) mod indexed;
pub mod ip;
pub(crate) mod microversion;
pub(crate) mod named_locks;
pub(crate) mod passes;
pub(crate) mod python;
pub(crate) mod query;
pub(crate) mod record;
pub(crate) mod refusal;
pub(crate) mod routes;
pub(crate) mod table;
pub(crate) mod token;

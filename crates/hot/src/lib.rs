//! Heat Orchestration Templates, without I/O: parsing, edits, evaluation.
//!
//! The input is a template's text, the output a model and diagnostics. The code reads no clock, file or socket, so it
//! runs in the server and, compiled to wasm, in the browser on every keystroke. Parsing never fails: an incomplete text
//! still results in a model and diagnostics.
//!
//! # Values
//!
//! A value is an [`expr::Expr`]: data, a reference (`get_param`, `get_resource`, `get_attr`), or a call of a function
//! on its argument. A table ([`expr::Function`]) contains the functions of each HOT version. Evaluation has two phases.
//! `simplify` inserts the values known at plan time: parameters, conditions, files. `resolve` inserts ids and
//! attributes when a step starts or an output is read. Both read values from an [`expr::Scope`]; the planner's is
//! [`scope::Known`], which hides hidden parameters except in conditions.
//!
//! # Parameters
//!
//! The order of precedence is Heat's: `parameters` of an environment, values of a request, `parameter_defaults`, the
//! template's defaults ([`merged::Merged::parameters`]).
//!
//! # Compatibility with Heat
//!
//! Templates that Heat's engine accepts are accepted; templates that it refuses are refused, with all problems at once.
//! Text that Heat's YAML parser accepts and ours does not is repaired before parsing (`yaml::lenient`). Tables in the
//! tests contain results of Heat's engine. Deliberate differences:
//!
//! - An unknown `OS::` type is kept and displayed, and refused by a plan. Heat refuses the template.
//! - A resource's name has no `:` or `@`. The name of a pseudo parameter cannot be declared.
//! - A fraction or a boolean is no integer; Heat truncates fractions and accepts booleans.
//! - `digest` supports the six algorithms of every Python installation.
//! - `yaql` has no dates, no random values and no definitions of functions.
//! - The area of a time zone is checked, the city is not.
//! - Maps and lists are at most 64 levels deep.
//! - Conditions in a circle are an error even if nothing uses them.
//! - An error that no later value can correct (wrong arguments, a missing parameter) is reported at once; Heat reports
//!   it when it creates the stack. In members of groups and in nested templates, which Heat reads when it creates them,
//!   such an error is a warning.
//! - Likely mistakes that Heat does not report are warnings: functions before their version, references to another
//!   type, outputs that will have no value.
//!
//! The modules, each after those that it uses:

pub mod text;
pub mod version;

pub mod diagnostic;
pub mod yaml;

pub mod constraint;
pub mod parameter;

pub mod expr;
pub mod template;

pub mod document;
pub mod environment;

pub mod bundle;

pub mod merged;
pub mod scope;

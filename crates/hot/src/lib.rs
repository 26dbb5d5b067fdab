//! Heat Orchestration Templates, without I/O: parsing, edits, evaluation.
//!
//! The input is a template's text, the output a model and diagnostics. Nothing here reads a clock, a file or a
//! socket, so the same code runs in the server and, compiled to wasm, in the browser on every keystroke.
//! Parsing never fails: half-typed text still gives a model and diagnostics.
//!
//! # Values
//!
//! A value is an [`expr::Expr`]: data, a reference (`get_param`, `get_resource`, `get_attr`), or a call of a
//! function on its argument. One table ([`expr::Function`]) says which version of HOT has which function.
//! Evaluation has two phases. `simplify` inserts the values that are known when a plan is made: parameters, conditions,
//! files. `resolve` asks for ids and attributes when a step starts or an output is read. Both ask an
//! [`expr::Scope`]; the planner's is [`scope::Known`], which hides hidden parameters except in conditions.
//!
//! # Parameters
//!
//! As in Heat, `parameters` of an environment win over values of a request, which win over
//! `parameter_defaults`, which win over the template's defaults ([`merged::Merged::parameters`]).
//!
//! # Compatibility with Heat
//!
//! Templates that Heat's engine accepts are accepted; templates that it refuses are refused, with all problems
//! at once. Text that its YAML parser accepts and ours does not is repaired before parsing (`yaml::lenient`). Tables
//! in the tests contain the real engine's answers. Deliberate differences:
//!
//! - An unknown `OS::` type is kept and shown, and refused by a plan. Heat refuses the template.
//! - A resource's name has no `:` or `@`. The name of a pseudo parameter cannot be declared.
//! - A fraction or a boolean is no integer; Heat truncates and counts.
//! - `digest` knows the six algorithms that every Python has.
//! - `yaql` has no dates, no random values and no definitions of functions.
//! - The area of a time zone is checked, the city is not.
//! - Maps and lists are at most 64 levels deep.
//! - Conditions in a circle are an error even if nothing uses them.
//! - An error that no later value can correct (wrong arguments, a missing parameter) is reported at once; Heat
//!   reports it when it creates the stack. In members of groups and in nested templates, which Heat reads when
//!   it creates them, such an error is a warning.
//! - Likely mistakes that Heat does not mention are warnings: functions before their version, references to
//!   another type, outputs that will have no value.
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

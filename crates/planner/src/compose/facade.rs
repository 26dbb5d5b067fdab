//! `resource_facade`: a nested template's access to the resource that it implements.
//!
//! Returns the metadata, deletion policy and update policy of the resource in the outer template. The defaults are an
//! empty map and `Delete`. Values of the outer template's resources have full names here and become known during the
//! run. Source: Heat's `hot/functions.py`, `ResourceFacade`.

use super::{BTreeMap, Expr, Value};
use hot::expr::{Function, facade};

/// Values for `resource_facade`, by their names in HOT.
pub(super) type Facade = BTreeMap<&'static str, Expr>;

/// Value of a call of `resource_facade`.
pub(super) fn value<'f>(
    function: Function,
    arguments: &Expr,
    facade: &'f Facade,
) -> Option<&'f Expr> {
    if !matches!(
        function,
        Function::ResourceFacade | Function::FnResourceFacade
    ) {
        return None;
    }
    let word = self::facade(function, arguments.as_str()?)?;
    facade.get(word)
}

/// Entries that need no resource.
pub(super) fn data(facade: &Facade) -> BTreeMap<String, Value> {
    facade
        .iter()
        .filter_map(|(name, value)| Some(((*name).to_owned(), value.as_data()?)))
        .collect()
}

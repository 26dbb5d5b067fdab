//! `resource_facade`: a nested template's access to the resource that it implements.
//!
//! It gives the metadata, deletion policy and update policy that the outer template sets; the defaults are an empty map and
//! `Delete`. Values of the outer template's resources have full names here and become known during the run. Source: Heat's
//! `hot/functions.py`, `ResourceFacade`.

use super::{BTreeMap, Composer, Expr, Frame, ResourceSpec, Value};
use hot::expr::{Function, facade};

/// The values that a nested template may read, by their names in HOT.
pub(super) type Facade = BTreeMap<&'static str, Expr>;

impl Composer<'_> {
    /// The facade of the resource `name`, with full names.
    pub(super) fn facade(&self, frame: &Frame<'_>, name: &str, spec: &ResourceSpec) -> Facade {
        let document = match frame.file {
            Some(file) => self.around.bundle.document(file),
            None => Some(self.around.document),
        };
        let resources = document.map(|document| document.template().resources.as_slice());
        let written = resources
            .unwrap_or_default()
            .iter()
            .find(|one| one.name == name);
        let of_member = self.metadata.get(&frame.full(name));
        let metadata = written
            .and_then(|one| one.metadata.as_ref())
            .or(of_member)
            .cloned();
        let update_policy = written.and_then(|one| one.update_policy.clone());
        let deletion_policy = spec.deletion_policy.as_text();
        let known = |value: Option<Expr>| {
            let value = value.unwrap_or(Expr::Map(Vec::new()));
            let simple = value.simplify(frame.scope).unwrap_or(value);
            frame.global_expr(&simple)
        };
        BTreeMap::from([
            ("metadata", known(metadata)),
            ("deletion_policy", Expr::text(deletion_policy)),
            ("update_policy", known(update_policy)),
        ])
    }
}

/// The value of a call of `resource_facade`.
pub(super) fn asked<'f>(
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

/// The part that is known without any resource.
pub(super) fn data(facade: &Facade) -> BTreeMap<String, Value> {
    facade
        .iter()
        .filter_map(|(name, value)| Some(((*name).to_owned(), value.as_data()?)))
        .collect()
}

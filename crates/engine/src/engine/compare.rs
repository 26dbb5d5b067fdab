//! The deployed resources that a plan compares with, from the journal's rows. Pure.

use std::collections::{BTreeMap, BTreeSet};

use api::ResourceState;
use planner::plan::{Actual, Deployed};
use serde_json::Value;

use store::ResourceRow;

/// The deployed resources and their states. `is_same` returns true if a hidden parameter still has the value of a
/// stored digest.
pub(super) fn deployed(rows: Vec<ResourceRow>, is_same: impl Fn(&str, &str) -> bool) -> Deployed {
    let mut deployed = Deployed::default();
    for row in rows {
        if let Some(made_with) = row.made_with {
            let changed = made_with.into_iter();
            let changed = changed.filter(|(parameter, digest)| !is_same(parameter, digest));
            let changed = changed.map(|(parameter, _)| parameter).collect();
            deployed.hidden_changed_of.insert(row.name.clone(), changed);
        }
        // Software has no id in the cloud.
        let is_software = crate::catalog::is_software(&row.spec.resource_type);
        let actual = Actual {
            exists: is_software || row.physical_id.is_some(),
            in_order: matches!(row.state, ResourceState::Ready | ResourceState::Suspended),
            reference: row.reference,
            attributes: row.attributes,
            made_from: row.made_from,
        };
        deployed.actual.insert(row.name.clone(), actual);
        deployed.resources.insert(row.name, row.spec);
    }
    deployed
}

/// Names of hidden parameters whose given value differs from the stored one. A parameter that is not given keeps its
/// value.
pub(super) fn hidden_changed(
    stored: &BTreeMap<String, Value>,
    given: &BTreeMap<String, Value>,
) -> BTreeSet<String> {
    given
        .iter()
        .filter(|(name, value)| stored.get(*name).is_some_and(|stored| stored != *value))
        .map(|(name, _)| name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hidden_value_changes_when_another_is_given() {
        let values = |all: &[(&str, &str)]| {
            all.iter()
                .map(|(name, value)| ((*name).to_owned(), json!(value)))
                .collect::<BTreeMap<_, _>>()
        };
        let stored = values(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let given = values(&[("a", "1"), ("b", "20"), ("new", "4")]);
        assert_eq!(
            hidden_changed(&stored, &given),
            BTreeSet::from(["b".to_owned()])
        );
    }
}

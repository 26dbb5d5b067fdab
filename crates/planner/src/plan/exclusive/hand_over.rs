//! Hand-overs of exclusive properties between resources that all stay. Example: a floating IP moves to another port,
//! and another floating IP moves to the released port.
//!
//! The resource that releases a value is changed before the one that takes it. In a circle (two that swap) there is no
//! valid order. Then one resource releases its value before the other takes it, and is changed afterwards.

use super::*;

/// One resource takes a value that another one releases when it is updated in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plan) struct HandOver<'a> {
    pub to: &'a str,
    pub from: &'a str,
}

/// All hand-overs between planned resources, in their order.
pub(in crate::plan) fn handed_over<'a>(
    scope: &Scope<'_>,
    changes: &'a [Change],
) -> Vec<HandOver<'a>> {
    let mut given_up: HashMap<(&str, String), Vec<Holder<'a>>> = HashMap::new();
    let updates = || {
        changes
            .iter()
            .filter(|change| change.action == Action::Update)
    };
    for change in updates() {
        for row in rows(&change.resource_type) {
            let (had, wants) = before_and_after(scope, change, row);
            let stays = |claim: &Claim| wants.iter().any(|other| other.key == claim.key);
            for claim in had.into_iter().filter(|claim| !stays(claim)) {
                let holder = Holder {
                    name: change.resource.as_str(),
                    range: claim.range,
                    own_is_fine: row.own_is_fine,
                };
                let holders = given_up.entry((row.because, claim.key)).or_default();
                holders.push(holder);
            }
        }
    }
    let mut found = Vec::new();
    if given_up.is_empty() {
        return found;
    }
    for change in changes {
        let to = change.resource.as_str();
        for row in rows(&change.resource_type) {
            let (had, wants) = before_and_after(scope, change, row);
            let is_kept = |claim: &Claim| {
                change.action == Action::Update && had.iter().any(|other| other.key == claim.key)
            };
            for claim in wants.iter().filter(|claim| !is_kept(claim)) {
                let key = (row.because, claim.key.clone());
                for holder in given_up.get(&key).into_iter().flatten() {
                    let over = HandOver {
                        to,
                        from: holder.name,
                    };
                    if to != holder.name && claim.overlaps(&holder.range) && !found.contains(&over)
                    {
                        found.push(over);
                    }
                }
            }
        }
    }
    found
}

/// Claims of a resource before and after a change. Both are empty if it does not change.
fn before_and_after(
    scope: &Scope<'_>,
    change: &Change,
    row: &Exclusive,
) -> (Vec<Claim>, Vec<Claim>) {
    let name = change.resource.as_str();
    let claims = |spec: Option<&ResourceSpec>, side| {
        let claimant = spec.map(|spec| Claimant {
            name,
            spec,
            side,
            scope,
        });
        claimant
            .map(|claimant| (row.claims)(&claimant))
            .unwrap_or_default()
    };
    if row.because == NO_SUBNET_NAMED || matches!(change.action, Action::None | Action::Delete) {
        return (Vec::new(), Vec::new());
    }
    let before = claims(scope.deployed.resources.get(name), Side::Old);
    (before, claims(scope.model.get(name), Side::New))
}

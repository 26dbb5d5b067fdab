//! Subnet pools (IPv4): ranges of subnets that are created without a `cidr`.

use serde_json::json;

use crate::kit::field::{Form, Usual, always, never, on_create, required};
use crate::kit::ip::Cidr;
use crate::kit::record::{Attributes, Fields, Record};
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::network::body::{Caller, only_admin};
use crate::services::network::records::{Records, STANDARD};
use crate::services::network::{Collection, Creators, Rows};

pub static SUBNET_POOL: Collection = Collection {
    collection: "subnetpools",
    singular: "subnetpool",
    fields: &[
        required("name", Form::Text),
        required("prefixes", Form::Any),
        always("default_prefixlen", Form::Number),
        always("min_prefixlen", Form::Number).or(Usual::Number(8)),
        always("max_prefixlen", Form::Number).or(Usual::Number(32)),
        always("default_quota", Form::Number),
        on_create("shared", Form::Bool).or(Usual::Switch(false)),
        always("is_default", Form::Bool).or(Usual::Switch(false)),
        always("address_scope_id", Form::Id),
        never("ip_version", Form::Number).or(Usual::Number(4)),
    ],
    creators: Creators::Members,
    shared: |_, pool, _| pool["shared"] == true,
    missing: ("SubnetPoolNotFound", "Subnet pool {} could not be found."),
    rows: Rows::Records(Records {
        table: |model| &model.subnet_pools,
        table_mut: |model| &mut model.subnet_pools,
        standard: STANDARD,
        create,
        update: |model, row, changes, _| {
            lengths_fit(changes)?;
            let scope = changes.text("address_scope_id");
            if !scope.is_empty() {
                model.address_scope_for(row.text("project_id"), scope, 4)?;
                model.check_scope_overlap(scope, &prefixes(&row.fields)?, &row.id)?;
            }
            Ok(())
        },
        delete: |model, id| {
            let mut subnets = model.subnets.iter();
            if subnets.any(|row| row.subnetpool_id.as_deref() == Some(id)) {
                return Err(Refusal::new(
                    400,
                    "SubnetPoolDeleteError",
                    "Unable to delete subnet pool: Subnet pool has existing allocations.",
                ));
            }
            Ok(())
        },
    }),
};

fn create(model: &Model, fields: &mut Fields, by: Caller) -> Result<(), Refusal> {
    let project_id = fields.text("project_id").to_owned();
    let pools = model.subnet_pools.iter();
    let mine = pools.filter(|row| row.text("project_id") == project_id);
    model
        .quotas
        .check(&project_id, "subnetpool", mine.count())?;
    let prefixes = prefixes(fields)?;
    if prefixes.is_empty() {
        return Err(Refusal::new(
            400,
            "EmptySubnetPoolPrefixList",
            "Empty subnet pool prefix list.",
        ));
    }
    fields.insert("prefixes".into(), json!(prefixes));
    lengths_fit(fields)?;
    let length = |name: &str| fields.number(name);
    let (min, max) = (length("min_prefixlen"), length("max_prefixlen"));
    let usual = length("default_prefixlen").or(min);
    for (kind, value, base, bound, is_wrong) in [
        ("min_prefixlen", min, "max_prefixlen", max, min > max),
        (
            "default_prefixlen",
            usual,
            "min_prefixlen",
            min,
            usual < min,
        ),
        (
            "default_prefixlen",
            usual,
            "max_prefixlen",
            max,
            usual > max,
        ),
    ] {
        if is_wrong {
            let (value, bound) = (value.unwrap_or_default(), bound.unwrap_or_default());
            return Err(Refusal::new(
                400,
                "IllegalSubnetPoolPrefixBounds",
                format!("Illegal prefix bounds: {kind}={value}, {base}={bound}."),
            ));
        }
    }
    fields.insert("default_prefixlen".into(), json!(usual));
    if fields.is_on("shared") && by == Caller::Member {
        return Err(only_admin("create_subnetpool:shared"));
    }
    let scope = fields.text("address_scope_id");
    if !scope.is_empty() {
        model.address_scope_for(&project_id, scope, 4)?;
        model.check_scope_overlap(scope, &prefixes, "")?;
    }
    fields.insert("is_default".into(), false.into());
    fields.insert("default_quota".into(), json!(null));
    Ok(())
}

/// The ranges of a pool.
fn prefixes(fields: &Fields) -> Result<Vec<Cidr>, Refusal> {
    let value = &fields["prefixes"];
    serde_json::from_value(value.clone()).map_err(|_| {
        Refusal::invalid_input("prefixes", format!("'{value}' is not a valid IP subnet"))
    })
}

fn lengths_fit(fields: &Fields) -> Result<(), Refusal> {
    for name in ["min_prefixlen", "max_prefixlen", "default_prefixlen"] {
        if let Some(length) = fields
            .number(name)
            .filter(|length| !(0..=32).contains(length))
        {
            let reason = format!("'{length}' is too large - must be no larger than '32'");
            return Err(Refusal::invalid_input(name, reason));
        }
    }
    Ok(())
}

impl Model {
    /// Checks that no other pool in a scope overlaps these ranges.
    fn check_scope_overlap(&self, scope: &str, ranges: &[Cidr], pool: &str) -> Result<(), Refusal> {
        let others = self.subnet_pools.iter();
        let mut others =
            others.filter(|row| row.id != pool && row.text("address_scope_id") == scope);
        let overlaps = |row: &Record| {
            let taken = prefixes(&row.fields).unwrap_or_default();
            let mut taken = taken.iter();
            taken.any(|one| ranges.iter().any(|range| range.overlaps(one)))
        };
        if others.any(overlaps) {
            return Err(Refusal::conflict(
                "AddressScopePrefixConflict",
                "Failed to associate address scope: subnetpools within an address scope must have unique prefixes.",
            ));
        }
        Ok(())
    }

    /// The next free range of a pool, with this prefix length or the pool's default.
    pub fn next_free_range(
        &self,
        project_id: &str,
        pool_id: &str,
        length: Option<i64>,
    ) -> Result<Cidr, Refusal> {
        let pool = self.subnet_pools.get(pool_id);
        let pool = pool.filter(|row| row.is_on("shared") || row.text("project_id") == project_id);
        let pool = pool.ok_or_else(|| SUBNET_POOL.not_found(pool_id))?;
        let bound = |name: &str| pool.number(name).unwrap_or_default();
        let length = length.unwrap_or_else(|| bound("default_prefixlen"));
        let (min, max) = (bound("min_prefixlen"), bound("max_prefixlen"));
        for (kind, word, bound, is_wrong) in [
            (
                "MinPrefixSubnetAllocationError",
                "minimum",
                min,
                length < min,
            ),
            (
                "MaxPrefixSubnetAllocationError",
                "maximum",
                max,
                length > max,
            ),
        ] {
            if is_wrong {
                return Err(Refusal::new(
                    400,
                    kind,
                    format!(
                        "Unable to allocate subnet with prefix length {length}, {word} allowed prefix is {bound}."
                    ),
                ));
            }
        }
        let length = u8::try_from(length).unwrap_or(32);
        let is_of_pool = |id: &Option<String>| id.as_deref() == Some(pool_id);
        let subnets = self.subnets.iter();
        let subnets = subnets.filter(|row| is_of_pool(&row.subnetpool_id));
        let taken: Vec<Cidr> = subnets.map(|row| row.cidr).collect();
        let is_free = |range: &Cidr| !taken.iter().any(|other| other.overlaps(range));
        let prefixes = prefixes(&pool.fields)?.into_iter();
        let mut fitting = prefixes.filter(|prefix| prefix.prefix() <= length);
        let free = fitting.find_map(|prefix| prefix.pieces(length).find(is_free));
        free.ok_or_else(|| {
            Refusal::new(
                500,
                "SubnetAllocationError",
                format!(
                    "Failed to allocate subnet: Insufficient prefix space to allocate subnet size /{length}."
                ),
            )
        })
    }
}

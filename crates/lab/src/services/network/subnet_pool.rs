//! Subnet pools: ranges out of which subnets are cut that do not say theirs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::ids::new_id;
use crate::kit::ip::Cidr;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::attributes::{AttributeSpec, Attributes, Form, Said, attribute};
use crate::services::network::{Common, Kind, Makers, assign, to_value};

/// A subnet pool (IPv4).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubnetPool {
    /// Id.
    pub id: String,
    /// Not unique.
    pub name: String,
    /// What there is to cut from.
    pub prefixes: Vec<Cidr>,
    /// Of a subnet that does not say how large it is.
    pub default_prefixlen: u8,
    /// Of the largest subnet.
    pub min_prefixlen: u8,
    /// Of the smallest subnet.
    pub max_prefixlen: u8,
    /// None.
    pub default_quota: Option<u32>,
    /// Whether other projects may cut from it.
    pub shared: bool,
    /// Never.
    pub is_default: bool,
    /// The scope whose other pools have no address of this one.
    pub address_scope_id: Option<String>,
    /// 4.
    pub ip_version: u8,
    /// Owner, description, times.
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(SubnetPool);
crate::services::network::row!(SubnetPool, name);

const ATTRIBUTES: &[AttributeSpec] = &[
    attribute("name", Form::Text, Said::Required),
    attribute("prefixes", Form::Any, Said::Required),
    attribute("default_prefixlen", Form::Number, Said::Always),
    attribute("min_prefixlen", Form::Number, Said::Always),
    attribute("max_prefixlen", Form::Number, Said::Always),
    attribute("default_quota", Form::Number, Said::Always),
    attribute("shared", Form::Bool, Said::OnCreate),
    attribute("is_default", Form::Bool, Said::Always),
    attribute("address_scope_id", Form::Id, Said::Always),
    attribute("ip_version", Form::Number, Said::Never),
];

/// The kind.
pub static SUBNET_POOL: Kind = Kind {
    collection: "subnetpools",
    singular: "subnetpool",
    attributes: ATTRIBUTES,
    makers: Makers::Members,
    list: |model, look| look.values(model.subnet_pools.iter(), |row| row.shared, to_value),
    get: |model, id| model.subnet_pools.get(id).map(to_value),
    shared: |_, pool, _| pool["shared"] == true,
    not_found,
    create,
    update,
    delete,
};

fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "SubnetPoolNotFound",
        format!("Subnet pool {id} could not be found."),
    )
}

fn create(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    let pools = model.subnet_pools.iter();
    model.quotas.check_count(project_id, "subnetpool", pools)?;
    let prefixes = prefixes(&mut attributes)?;
    if prefixes.is_empty() {
        return Err(Refusal::new(
            400,
            "EmptySubnetPoolPrefixList",
            "Empty subnet pool prefix list.",
        ));
    }
    let min_prefixlen = length(&mut attributes, "min_prefixlen")?.unwrap_or(8);
    let max_prefixlen = length(&mut attributes, "max_prefixlen")?.unwrap_or(32);
    let default_prefixlen = length(&mut attributes, "default_prefixlen")?.unwrap_or(min_prefixlen);
    for (kind, value, base, bound, wrong) in [
        (
            "min_prefixlen",
            min_prefixlen,
            "max_prefixlen",
            max_prefixlen,
            min_prefixlen > max_prefixlen,
        ),
        (
            "default_prefixlen",
            default_prefixlen,
            "min_prefixlen",
            min_prefixlen,
            default_prefixlen < min_prefixlen,
        ),
        (
            "default_prefixlen",
            default_prefixlen,
            "max_prefixlen",
            max_prefixlen,
            default_prefixlen > max_prefixlen,
        ),
    ] {
        if wrong {
            return Err(Refusal::new(
                400,
                "IllegalSubnetPoolPrefixBounds",
                format!("Illegal prefix bounds: {kind}={value}, {base}={bound}."),
            ));
        }
    }
    let shared = attributes.admins_flag("shared", "create_subnetpool:shared")?;
    let address_scope_id = attributes.text("address_scope_id")?;
    if let Some(scope) = &address_scope_id {
        model.address_scope_for(project_id, scope, 4)?;
        model.scope_has_room(scope, &prefixes, "")?;
    }
    let pool = SubnetPool {
        id: new_id(),
        name: attributes.text("name")?.unwrap_or_default(),
        prefixes,
        default_prefixlen,
        min_prefixlen,
        max_prefixlen,
        default_quota: None,
        shared: shared.unwrap_or(false),
        is_default: false,
        address_scope_id,
        ip_version: 4,
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = pool.id.clone();
    model.subnet_pools.insert(pool);
    Ok(id)
}

fn update(model: &mut Model, id: &str, mut attributes: Attributes) -> Result<(), Refusal> {
    for name in ["default_prefixlen", "min_prefixlen", "max_prefixlen"] {
        if let Some(length) = length(&mut attributes, name)? {
            attributes.set(name, length);
        }
    }
    let (owner, ranges) = {
        let row = model.subnet_pools.get(id).ok_or_else(|| not_found(id))?;
        (row.common.project_id.clone(), row.prefixes.clone())
    };
    if let Some(scope) = attributes.text("address_scope_id")? {
        model.address_scope_for(&owner, &scope, 4)?;
        model.scope_has_room(&scope, &ranges, id)?;
        attributes.set("address_scope_id", scope);
    }
    let row = model.subnet_pools.get_mut(id);
    let row = row.ok_or_else(|| not_found(id))?;
    assign(row, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    if model
        .subnets
        .iter()
        .any(|row| row.subnetpool_id.as_deref() == Some(id))
    {
        return Err(Refusal::new(
            400,
            "SubnetPoolDeleteError",
            "Unable to delete subnet pool: Subnet pool has existing allocations.",
        ));
    }
    let gone = model.subnet_pools.remove(id);
    gone.map(|_| ()).ok_or_else(|| not_found(id))
}

fn prefixes(attributes: &mut Attributes) -> Result<Vec<Cidr>, Refusal> {
    let value = attributes.take("prefixes").unwrap_or(Value::Null);
    serde_json::from_value(value.clone()).map_err(|_| {
        Refusal::invalid_input("prefixes", format!("'{value}' is not a valid IP subnet"))
    })
}

fn length(attributes: &mut Attributes, name: &str) -> Result<Option<u8>, Refusal> {
    match attributes.number(name) {
        None => Ok(None),
        Some(length @ 0..=32) => Ok(u8::try_from(length).ok()),
        Some(other) => Err(Refusal::invalid_input(
            name,
            format!("'{other}' is too large - must be no larger than '32'"),
        )),
    }
}

impl Model {
    /// Whether no other pool of a scope has an address of these ranges.
    fn scope_has_room(&self, scope: &str, ranges: &[Cidr], pool: &str) -> Result<(), Refusal> {
        let mut others = self
            .subnet_pools
            .iter()
            .filter(|row| row.id != pool && row.address_scope_id.as_deref() == Some(scope));
        let shares = |row: &SubnetPool| {
            let mut all = row.prefixes.iter();
            all.any(|one| ranges.iter().any(|range| range.overlaps(one)))
        };
        match others.any(shares) {
            false => Ok(()),
            true => Err(Refusal::conflict(
                "AddressScopePrefixConflict",
                "Failed to associate address scope: subnetpools within an address scope must have unique prefixes.",
            )),
        }
    }

    /// The next free range of a pool, of this size or the pool's usual one.
    pub fn cut_subnet(
        &self,
        project_id: &str,
        pool_id: &str,
        length: Option<i64>,
    ) -> Result<Cidr, Refusal> {
        let pool = self.subnet_pools.get(pool_id);
        let pool = pool.filter(|pool| pool.shared || pool.common.project_id == project_id);
        let pool = pool.ok_or_else(|| not_found(pool_id))?;
        let length = length.unwrap_or_else(|| pool.default_prefixlen.into());
        let bound = |kind: &'static str, word: &str, bound: u8| {
            Refusal::new(
                400,
                kind,
                format!(
                    "Unable to allocate subnet with prefix length {length}, {word} allowed prefix is {bound}."
                ),
            )
        };
        if length < pool.min_prefixlen.into() {
            return Err(bound(
                "MinPrefixSubnetAllocationError",
                "minimum",
                pool.min_prefixlen,
            ));
        }
        if length > pool.max_prefixlen.into() {
            return Err(bound(
                "MaxPrefixSubnetAllocationError",
                "maximum",
                pool.max_prefixlen,
            ));
        }
        let length = u8::try_from(length).unwrap_or(32);
        let taken: Vec<Cidr> = self
            .subnets
            .iter()
            .filter(|row| row.subnetpool_id.as_deref() == Some(pool_id))
            .map(|row| row.cidr)
            .collect();
        let fitting = pool
            .prefixes
            .iter()
            .filter(|prefix| prefix.prefix() <= length);
        for prefix in fitting {
            let mut all = prefix.pieces(length);
            if let Some(free) = all.find(|one| !taken.iter().any(|other| other.overlaps(one))) {
                return Ok(free);
            }
        }
        Err(Refusal::new(
            500,
            "SubnetAllocationError",
            format!(
                "Failed to allocate subnet: Insufficient prefix space to allocate subnet size /{length}."
            ),
        ))
    }
}

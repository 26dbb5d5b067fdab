//! Address scopes: subnet pools of one scope do not overlap, so their subnets can be joined without translation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kit::ids::new_id;
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::Model;
use crate::services::network::attributes::{AttributeSpec, Attributes, Form, Said, attribute};
use crate::services::network::{Common, Kind, Makers, assign, to_value};

/// An address scope.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddressScope {
    /// Id.
    pub id: String,
    /// Not unique.
    pub name: String,
    /// Whether other projects' pools may be in it.
    pub shared: bool,
    /// 4 or 6.
    pub ip_version: u8,
    /// Owner.
    #[serde(flatten)]
    pub common: Common,
}

keyed_by_id!(AddressScope);
crate::services::network::row!(AddressScope, name);

const ATTRIBUTES: &[AttributeSpec] = &[
    attribute("name", Form::Text, Said::Always),
    attribute("ip_version", Form::Number, Said::Required),
    attribute("shared", Form::Bool, Said::Always),
];

/// The kind.
pub static ADDRESS_SCOPE: Kind = Kind {
    collection: "address-scopes",
    singular: "address_scope",
    attributes: ATTRIBUTES,
    makers: Makers::Members,
    list: |model, look| look.values(model.address_scopes.iter(), |row| row.shared, shown),
    get: |model, id| model.address_scopes.get(id).map(shown),
    shared: |_, scope, _| scope["shared"] == true,
    not_found,
    create,
    update,
    delete,
};

/// Without what most kinds carry and scopes do not.
fn shown(row: &AddressScope) -> Value {
    crate::services::network::without_standard_attributes(to_value(row))
}

fn not_found(id: &str) -> Refusal {
    Refusal::not_found(
        "AddressScopeNotFound",
        format!("Address scope {id} could not be found."),
    )
}

fn create(
    model: &mut Model,
    project_id: &str,
    mut attributes: Attributes,
) -> Result<String, Refusal> {
    let ip_version = match attributes.number("ip_version") {
        Some(4) => 4,
        Some(6) => 6,
        other => {
            return Err(Refusal::invalid_input(
                "ip_version",
                format!("{} is not in valid_values", other.unwrap_or_default()),
            ));
        }
    };
    let scope = AddressScope {
        id: new_id(),
        name: attributes.text("name")?.unwrap_or_default(),
        shared: attributes
            .admins_flag("shared", "create_address_scope:shared")?
            .unwrap_or(false),
        ip_version,
        common: Common::new(project_id, &mut attributes)?,
    };
    let id = scope.id.clone();
    model.address_scopes.insert(scope);
    Ok(id)
}

fn update(model: &mut Model, id: &str, mut attributes: Attributes) -> Result<(), Refusal> {
    let shared = attributes.admins_change("shared", "update_address_scope:shared")?;
    let row = model.address_scopes.get_mut(id);
    let row = row.ok_or_else(|| not_found(id))?;
    if let Some(shared) = shared {
        if row.shared && !shared {
            return Err(Refusal::new(
                400,
                "AddressScopeUpdateError",
                format!(
                    "Unable to update address scope {id} : Shared address scope can't be unshared"
                ),
            ));
        }
        attributes.set("shared", shared);
    }
    assign(row, attributes)
}

fn delete(model: &mut Model, id: &str) -> Result<(), Refusal> {
    let mut pools = model.subnet_pools.iter();
    if pools.any(|pool| pool.address_scope_id.as_deref() == Some(id)) {
        return Err(Refusal::conflict(
            "AddressScopeInUse",
            format!(
                "Unable to complete operation on address scope {id}. There are one or more subnet pools in use on the address scope."
            ),
        ));
    }
    let gone = model.address_scopes.remove(id);
    gone.map(|_| ()).ok_or_else(|| not_found(id))
}

impl Model {
    /// The scope that a project's pool of this version may be in.
    pub fn address_scope_for(
        &self,
        project_id: &str,
        id: &str,
        ip_version: u8,
    ) -> Result<&AddressScope, Refusal> {
        let scope = self.address_scopes.get(id);
        let scope = scope.filter(|row| row.shared || row.common.project_id == project_id);
        let scope = scope.ok_or_else(|| not_found(id))?;
        match scope.ip_version == ip_version {
            true => Ok(scope),
            false => Err(Refusal::new(
                400,
                "IllegalSubnetPoolIpVersionAssociationToAddressScope",
                format!(
                    "Illegal subnetpool association: subnetpool  cannot associate with address scope {id} because subnetpool \
                     ip_version is not {}.",
                    scope.ip_version
                ),
            )),
        }
    }
}

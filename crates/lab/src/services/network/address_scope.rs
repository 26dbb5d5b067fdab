//! Address scopes: subnet pools of one scope do not overlap, so their subnets can be routed without NAT.

use crate::kit::field::{Form, Usual, always, required};
use crate::kit::record::{Attributes, Record};
use crate::kit::refusal::Refusal;
use crate::services::Model;
use crate::services::network::body::{Caller, only_admin};
use crate::services::network::records::Records;
use crate::services::network::{Collection, Creators, Rows};

pub static ADDRESS_SCOPE: Collection = Collection {
    collection: "address-scopes",
    singular: "address_scope",
    fields: &[
        always("name", Form::Text).or(Usual::Text("")),
        required("ip_version", Form::Number),
        always("shared", Form::Bool).or(Usual::Switch(false)),
    ],
    creators: Creators::Members,
    shared: |_, scope, _| scope["shared"] == true,
    missing: (
        "AddressScopeNotFound",
        "Address scope {} could not be found.",
    ),
    rows: Rows::Records(Records {
        table: |model| &model.address_scopes,
        table_mut: |model| &mut model.address_scopes,
        standard: &[],
        create: |_, fields, by| {
            let version = fields.number("ip_version").unwrap_or_default();
            if ![4, 6].contains(&version) {
                let reason = format!("{version} is not in valid_values");
                return Err(Refusal::invalid_input("ip_version", reason));
            }
            if fields.is_on("shared") && by == Caller::Member {
                return Err(only_admin("create_address_scope:shared"));
            }
            Ok(())
        },
        update: |_, row, changes, by| {
            if changes.contains_key("shared") && by == Caller::Member {
                return Err(only_admin("update_address_scope:shared"));
            }
            let unshares = changes.contains_key("shared") && !changes.is_on("shared");
            if row.is_on("shared") && unshares {
                return Err(Refusal::new(
                    400,
                    "AddressScopeUpdateError",
                    format!(
                        "Unable to update address scope {} : Shared address scope can't be unshared",
                        row.id
                    ),
                ));
            }
            Ok(())
        },
        delete: |model, id| {
            let mut pools = model.subnet_pools.iter();
            if pools.any(|pool| pool.text("address_scope_id") == id) {
                return Err(Refusal::conflict(
                    "AddressScopeInUse",
                    format!(
                        "Unable to complete operation on address scope {id}. There are one or more subnet pools in use on the address scope."
                    ),
                ));
            }
            Ok(())
        },
    }),
};

impl Model {
    /// The address scope with this id, if a project's subnet pool of this IP version can use it.
    pub fn address_scope_for(
        &self,
        project_id: &str,
        id: &str,
        ip_version: i64,
    ) -> Result<&Record, Refusal> {
        let scope = self.address_scopes.get(id);
        let scope = scope.filter(|row| row.is_on("shared") || row.text("project_id") == project_id);
        let scope = scope.ok_or_else(|| ADDRESS_SCOPE.not_found(id))?;
        let version = scope.number("ip_version").unwrap_or_default();
        if version != ip_version {
            return Err(Refusal::new(
                400,
                "IllegalSubnetPoolIpVersionAssociationToAddressScope",
                format!(
                    "Illegal subnetpool association: subnetpool  cannot associate with address scope {id} because subnetpool \
                     ip_version is not {version}."
                ),
            ));
        }
        Ok(scope)
    }
}

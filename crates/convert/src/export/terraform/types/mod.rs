//! Maps resource types and properties to resources and arguments of the OpenStack provider.
//!
//! Simple properties are lines in a table, others are functions in [`super::shape`]. Unlisted properties are left out
//! and appear in the report. Source: the provider's schema, registry "terraform-provider-openstack/openstack", 3.0.0.
//! The part used here is in `schema.txt`, and a test compares the two.

mod block_storage;
mod compute;
mod identity;
mod image;
mod key_manager;
mod load_balancer;
mod network;
mod network_quality;
mod others;

/// The mapping of one type.
#[derive(Debug)]
pub(super) struct Mapping {
    pub hot: &'static str,
    pub terraform: &'static str,
    /// Property to argument.
    pub arguments: &'static [(&'static str, To)],
    /// Arguments with the same value for all resources of the type.
    pub fixed: &'static [(&'static str, &'static str)],
    /// Attribute in HOT to attribute in Terraform.
    pub attributes: &'static [(&'static str, &'static str)],
    /// The attribute for `get_resource`.
    pub reference: &'static str,
}

impl Mapping {
    /// A type whose only readable attribute is its id.
    const fn of(
        hot: &'static str,
        terraform: &'static str,
        arguments: &'static [(&'static str, To)],
    ) -> Mapping {
        Mapping {
            hot,
            terraform,
            arguments,
            fixed: &[],
            attributes: &[],
            reference: "id",
        }
    }

    const fn fixed(self, fixed: &'static [(&'static str, &'static str)]) -> Mapping {
        Mapping { fixed, ..self }
    }

    const fn attributes(self, attributes: &'static [(&'static str, &'static str)]) -> Mapping {
        Mapping { attributes, ..self }
    }

    const fn reference(self, reference: &'static str) -> Mapping {
        Mapping { reference, ..self }
    }
}

/// Conversion of a property.
#[derive(Debug)]
pub(super) enum To {
    /// An argument with the same value.
    As(&'static str),
    /// An argument with the id of the object that the property refers to.
    Id(&'static str, &'static LookUp),
    /// An argument with the ids of all objects in a list.
    Ids(&'static str, &'static LookUp),
    /// Blocks with arguments, from a map or a list of maps.
    Block(&'static str, &'static [(&'static str, To)]),
    /// An argument inside the only block of that name.
    Within(&'static str, &'static str),
    /// A block with the name and the reference of a secret.
    Entry(&'static str, &'static str),
    /// Converted by a function in [`super::shape`].
    ByHand,
    /// Left out silently, because it concerns Heat only and not the result.
    Nothing,
}

/// The data source that finds an existing object by name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LookUp {
    /// Name of the data source.
    pub data: &'static str,
    /// Argument for an id. `None` if the data source has none.
    pub id: Option<&'static str>,
}

pub(super) static NETWORK: LookUp = LookUp {
    data: "openstack_networking_network_v2",
    id: Some("network_id"),
};
pub(super) static SUBNET: LookUp = LookUp {
    data: "openstack_networking_subnet_v2",
    id: Some("subnet_id"),
};
pub(super) static ROUTER: LookUp = LookUp {
    data: "openstack_networking_router_v2",
    id: Some("router_id"),
};
pub(super) static PORT: LookUp = LookUp {
    data: "openstack_networking_port_v2",
    id: Some("port_id"),
};
pub(super) static GROUP: LookUp = LookUp {
    data: "openstack_networking_secgroup_v2",
    id: Some("secgroup_id"),
};
pub(super) static VOLUME: LookUp = LookUp {
    data: "openstack_blockstorage_volume_v3",
    id: None,
};
pub(super) static IMAGE: LookUp = LookUp {
    data: "openstack_images_image_v2",
    id: None,
};
pub(super) static QOS: LookUp = LookUp {
    data: "openstack_networking_qos_policy_v2",
    id: None,
};
pub(super) static ADDRESS_SCOPE: LookUp = LookUp {
    data: "openstack_networking_addressscope_v2",
    id: None,
};
pub(super) static SUBNET_POOL: LookUp = LookUp {
    data: "openstack_networking_subnetpool_v2",
    id: None,
};
pub(super) static PROJECT: LookUp = LookUp {
    data: "openstack_identity_project_v3",
    id: Some("project_id"),
};

/// All mappings.
pub(super) fn all() -> impl Iterator<Item = &'static Mapping> {
    [
        compute::TYPES,
        network::TYPES,
        block_storage::TYPES,
        load_balancer::TYPES,
        identity::TYPES,
        image::TYPES,
        key_manager::TYPES,
        network_quality::TYPES,
        others::TYPES,
    ]
    .into_iter()
    .flatten()
}

/// The mapping of a type.
pub(super) fn mapping(hot: &str) -> Option<&'static Mapping> {
    all().find(|one| one.hot == hot)
}

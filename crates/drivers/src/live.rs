//! The present state of many resources of a type, with few requests.
//!
//! The fields are data: the `live` block of the description ([`types::api::Live`]). A request lists many resources, not
//! all of them: Neutron takes ids as a filter, parts of another resource are listed with their parent, and the other
//! services list the project.

use std::collections::{BTreeMap, HashMap};

use openstack::{
    Error, Service, Session,
    collection::{Collection, Record, id_of},
    poll::IDS_PER_CALL,
};
use serde_json::Value;
use types::api::{Api, Live};

use crate::described::collection;

/// Maximum number of lists of a type. Resources beyond them have no state.
const LISTS_MAX: usize = 10;

/// The present state of a resource, in the words of its service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveState {
    /// Status. `None` if the service has none.
    pub status: Option<String>,
    /// Operating status, of Octavia's resources.
    pub operating_status: Option<String>,
    /// Addresses.
    pub addresses: Vec<String>,
    /// Ids of the resources that it is attached to.
    pub attached_to: Vec<String>,
    /// Address at which it is attached.
    pub attached_address: Option<String>,
}

/// A list that contains resources of a deployment. It is one request, apart from the pages of long lists.
pub struct LiveList<'a> {
    of: &'static Collection,
    fields: &'static Live,
    extent: Extent<'a>,
    physical_ids: Vec<&'a str>,
}

/// The extent of a list.
enum Extent<'a> {
    /// The resources alone.
    Ids,
    /// All resources of the project.
    Project,
    /// All parts of the resource with this id.
    Parent(&'a str),
}

/// The lists that contain the resources of a type. Empty for a type without a `live` block.
pub fn live_lists<'a>(resource_type: &str, physical_ids: &[&'a str]) -> Vec<LiveList<'a>> {
    let (Some(api), Some(of)) = (Api::of(resource_type), collection(resource_type)) else {
        return Vec::new();
    };
    let Some(fields) = &api.live else {
        return Vec::new();
    };
    let list = |extent, physical_ids| LiveList {
        of,
        fields,
        extent,
        physical_ids,
    };
    let mut lists: Vec<LiveList<'a>> = if api.parent().is_some() {
        let mut by_parent: BTreeMap<&'a str, Vec<&'a str>> = BTreeMap::new();
        for &physical_id in physical_ids {
            if let Some((parent, _)) = physical_id.split_once(':') {
                by_parent.entry(parent).or_default().push(physical_id);
            }
        }
        let lists = by_parent.into_iter();
        lists
            .map(|(parent, ids)| list(Extent::Parent(parent), ids))
            .collect()
    } else if of.service == Service::Network {
        let chunks = physical_ids.chunks(IDS_PER_CALL);
        chunks.map(|ids| list(Extent::Ids, ids.to_vec())).collect()
    } else {
        vec![list(Extent::Project, physical_ids.to_vec())]
    };
    lists.truncate(LISTS_MAX);
    lists
}

impl<'a> LiveList<'a> {
    /// The service of the request.
    pub fn service(&self) -> Service {
        self.of.service
    }

    /// The state of each resource by physical id. `None` if it is gone.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    pub async fn read(
        &self,
        session: &Session,
    ) -> Result<Vec<(&'a str, Option<LiveState>)>, Error> {
        let records = session.records(self.of);
        let listed = match self.extent {
            Extent::Ids => {
                let ids = self.physical_ids.iter().map(|id| ("id", *id));
                let ids: Vec<(&str, &str)> = ids.collect();
                records.list(&ids).await?
            }
            Extent::Project => {
                // Octavia lists the resources of all projects to administrators. Cinder has no such filter, and no need.
                let project = session.project();
                let project = project.filter(|_| self.of.service == Service::LoadBalancer);
                let filter = project.map(|project| ("project_id", project.id.as_str()));
                records.list(filter.as_slice()).await?
            }
            Extent::Parent(parent) => match records.list_in(parent).await {
                // Parts are deleted with their parent.
                Err(error) if error.is_not_found() => Vec::new(),
                listed => listed?,
            },
        };
        let found = listed.iter().map(|record| (id_of(record), record));
        let found: HashMap<String, &Record> = found.collect();
        let states = self.physical_ids.iter().map(|physical_id| {
            let part = physical_id.split_once(':');
            let id = part.map_or(*physical_id, |(_, id)| id);
            let state = found.get(id).map(|record| state_of(self.fields, record));
            (*physical_id, state)
        });
        Ok(states.collect())
    }
}

fn state_of(fields: &Live, record: &Record) -> LiveState {
    let texts = |path: &Option<String>| {
        let path = path.as_deref();
        path.map(|path| texts_at(record, path)).unwrap_or_default()
    };
    let text = |path: &Option<String>| texts(path).into_iter().next();
    LiveState {
        status: text(&fields.status),
        operating_status: text(&fields.operating_status),
        addresses: texts(&fields.addresses),
        attached_to: texts(&fields.attached_to),
        attached_address: text(&fields.attached_address),
    }
}

/// The texts at a path. Neutron has an empty text for what is absent.
fn texts_at(record: &Record, path: &str) -> Vec<String> {
    let mut keys = path.split('.');
    let first = keys.next().and_then(|key| record.get(key));
    let mut found: Vec<&Value> = first.into_iter().flat_map(items).collect();
    for key in keys {
        let values = found.into_iter().filter_map(|value| value.get(key));
        found = values.flat_map(items).collect();
    }
    let texts = found.into_iter().filter_map(Value::as_str);
    let texts = texts.filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

/// The items of a list, or a single value.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        single => std::slice::from_ref(single),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The state of a resource that its service describes with these fields.
    fn state(resource_type: &str, record: Value) -> LiveState {
        let fields = Api::of(resource_type).unwrap().live.as_ref().unwrap();
        state_of(fields, record.as_object().unwrap())
    }

    #[test]
    fn a_port_has_each_of_its_addresses() {
        let port = json!({"status": "ACTIVE", "device_id": "s", "fixed_ips": [
            {"subnet_id": "four", "ip_address": "10.0.0.5"},
            {"subnet_id": "six", "ip_address": "fd00::5"},
        ]});
        let expected = LiveState {
            status: Some("ACTIVE".into()),
            addresses: vec!["10.0.0.5".into(), "fd00::5".into()],
            attached_to: vec!["s".into()],
            ..LiveState::default()
        };
        assert_eq!(state("OS::Neutron::Port", port), expected);
    }

    #[test]
    fn absent_values_are_left_out() {
        let port = json!({"status": "DOWN", "device_id": "", "fixed_ips": []});
        let router = json!({"status": "DOWN", "external_gateway_info": null});
        let down = LiveState {
            status: Some("DOWN".into()),
            ..LiveState::default()
        };
        assert_eq!(state("OS::Neutron::Port", port), down);
        assert_eq!(state("OS::Neutron::Router", router), down);
    }

    #[test]
    fn many_resources_are_read_with_few_lists() {
        let ids: Vec<String> = (0..2500).map(|number| format!("pool{number}:m")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let lists = |resource_type: &str, count: usize| {
            let lists = live_lists(resource_type, &ids[..count]);
            let sizes = lists.iter().map(|list| list.physical_ids.len());
            (lists.len(), sizes.sum::<usize>())
        };
        assert_eq!(lists("OS::Neutron::Port", 100), (1, 100));
        assert_eq!(lists("OS::Neutron::Port", 250), (3, 250));
        assert_eq!(lists("OS::Neutron::Port", 2500), (10, 1000));
        assert_eq!(lists("OS::Cinder::Volume", 2500), (1, 2500));
        assert_eq!(lists("OS::Octavia::Listener", 2500), (1, 2500));
        assert_eq!(lists("OS::Octavia::PoolMember", 3), (3, 3));
        assert_eq!(lists("OS::Octavia::PoolMember", 2500), (10, 10));
        assert_eq!(lists("OS::Neutron::SecurityGroup", 1), (0, 0));
    }
}

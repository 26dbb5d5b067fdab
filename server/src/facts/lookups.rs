//! Lists of cloud objects that values in templates refer to, by custom constraint.
//!
//! Each list takes one call and contains ids and names. If the service does not exist in the cloud, or only
//! administrators can list, there is no list and the check is skipped.

use openstack::{
    Error, Session,
    collection::{Collection, Record, id_of},
    identity, key_manager,
    load_balancer::OctaviaType,
    network::{self, Entity},
    volume_types,
};
use planner::cloud::Named;

use super::named;

/// The list for one constraint. `None` if it is not available.
pub(super) async fn fetch(session: &Session, constraint: &str) -> Option<Vec<Named>> {
    let list = match constraint {
        "barbican.secret" => secrets(session).await,
        "cinder.backup" => backups(session).await,
        "cinder.qos_specs" => records(session, &volume_types::QOS_SPECS).await,
        "cinder.snapshot" => snapshots(session).await,
        "cinder.volume" => volumes(session).await,
        "keystone.domain" => records(session, &identity::DOMAINS).await,
        "keystone.group" => records(session, &identity::GROUPS).await,
        "keystone.project" => records(session, &identity::PROJECTS).await,
        "keystone.region" => records(session, &identity::REGIONS).await,
        "keystone.role" => records(session, &identity::ROLES).await,
        "keystone.service" => records(session, &identity::SERVICES).await,
        "keystone.user" => records(session, &identity::USERS).await,
        "neutron.address_scope" => entities::<network::AddressScope>(session).await,
        "neutron.port" => entities::<network::Port>(session).await,
        "neutron.qos_policy" => entities::<network::QosPolicy>(session).await,
        "neutron.router" => entities::<network::Router>(session).await,
        "neutron.security_group" => entities::<network::SecurityGroup>(session).await,
        "neutron.segment" => entities::<network::Segment>(session).await,
        "neutron.subnet" => entities::<network::Subnet>(session).await,
        "neutron.subnetpool" => entities::<network::SubnetPool>(session).await,
        "nova.server" => servers(session).await,
        "octavia.flavor" => balanced(session, OctaviaType::Flavor).await,
        "octavia.l7policy" => balanced(session, OctaviaType::L7Policy).await,
        "octavia.listener" => balanced(session, OctaviaType::Listener).await,
        "octavia.loadbalancer" => balanced(session, OctaviaType::LoadBalancer).await,
        "octavia.pool" => balanced(session, OctaviaType::Pool).await,
        _ => return None,
    };
    // Many roles do not have access to these lists, so this is no warning.
    list.inspect_err(|error| tracing::debug!("no list for `{constraint}`: {error}"))
        .ok()
}

type Listed = Result<Vec<Named>, Error>;

async fn entities<E: Entity>(session: &Session) -> Listed {
    let all = session.network().list::<E>(&[]).await?;
    let name = |one: &E| one.name().map(str::to_owned);
    Ok(all
        .iter()
        .map(|one| named(one.id().to_owned(), name(one)))
        .collect())
}

async fn records(session: &Session, of: &'static Collection) -> Listed {
    let all = session.records(of).list(&[]).await?;
    let name = |one: &Record| Some(one.get("name")?.as_str()?.to_owned());
    Ok(all.iter().map(|one| named(id_of(one), name(one))).collect())
}

async fn balanced(session: &Session, part: OctaviaType<'_>) -> Listed {
    let all = session.load_balancer().list(part, &[]).await?;
    Ok(all.into_iter().map(|one| named(one.id, one.name)).collect())
}

async fn secrets(session: &Session) -> Listed {
    let ids = session.key_manager().ids(key_manager::Kind::Secret).await?;
    Ok(ids.into_iter().map(|id| named(id, None)).collect())
}

async fn servers(session: &Session) -> Listed {
    let all = session.compute().server_list(&[]).await?;
    Ok(all
        .into_iter()
        .map(|one| named(one.id, Some(one.name)))
        .collect())
}

async fn volumes(session: &Session) -> Listed {
    let all = session.block_storage().volume_list(&[]).await?;
    Ok(all.into_iter().map(|one| named(one.id, one.name)).collect())
}

async fn snapshots(session: &Session) -> Listed {
    let all = session.block_storage().snapshot_list(&[]).await?;
    Ok(all.into_iter().map(|one| named(one.id, one.name)).collect())
}

async fn backups(session: &Session) -> Listed {
    let all = session.block_storage().backup_list(&[]).await?;
    Ok(all.into_iter().map(|one| named(one.id, one.name)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Every list that a template can refer to is fetched above.
    #[test]
    fn whatever_can_be_asked_for_is_fetched() {
        let lines: BTreeSet<&str> = include_str!("lookups.rs")
            .lines()
            .filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" =>"))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(lines, planner::lookup::on_demand_lists().collect());
    }
}

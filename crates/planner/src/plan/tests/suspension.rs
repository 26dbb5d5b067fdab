//! Suspension and resumption: the order of servers, and of the software that acts on them.

use std::collections::BTreeSet;

use super::*;
use crate::plan::suspension::{Direction, acting_software, workflow};

/// A public `gate` that depends on `web`, which depends on `db`. `drain` acts on suspension and resumption, `once` only
/// on creation.
const THREE: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  db: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}}
  disk: {type: OS::Cinder::Volume, properties: {size: 1, name: {get_attr: [db, first_address]}}}
  web: {type: OS::Nova::Server, depends_on: disk, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}}
  gate: {type: OS::Nova::Server, metadata: {stackloom: {public: true, bastion: true}}, depends_on: web, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}}
  config: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: 'true'}}
  once: {type: OS::Heat::SoftwareDeployment, properties: {config: {get_resource: config}, server: {get_resource: web}}}
  drain: {type: OS::Heat::SoftwareDeployment, properties: {config: {get_resource: config}, server: {get_resource: web}, actions: [SUSPEND, RESUME]}}
  fill: {type: OS::Heat::SoftwareDeployment, depends_on: drain, properties: {config: {get_resource: config}, server: {get_resource: web}, actions: [SUSPEND, RESUME]}}
";

fn steps_of(text: &str, direction: Direction) -> String {
    let there = deployed(&plan_of(&resources(text)));
    let servers = there.resources.iter();
    let servers = servers.filter(|(_, spec)| spec.resource_type == types::SERVER);
    let servers: BTreeSet<&str> = servers.map(|(name, _)| name.as_str()).collect();
    let software = acting_software(&there, direction);
    let workflow = workflow(&there, &servers, &software, Some("gate"), direction);
    check_order(&workflow);
    steps(&workflow)
}

#[test]
fn dependents_are_suspended_first_and_the_bastion_last() {
    insta::assert_snapshot!(steps_of(THREE, Direction::Suspend), @r"
    bastion:open <- 
    gate:ssh <- bastion:open
    web:ssh <- bastion:open gate:ssh
    fill:suspend <- web:ssh
    drain:suspend <- fill:suspend web:ssh
    web:suspend <- drain:suspend fill:suspend
    bastion:close (always) <- gate:ssh web:ssh fill:suspend drain:suspend
    db:suspend <- web:suspend
    gate:suspend <- db:suspend drain:suspend fill:suspend web:suspend
    ");
}

#[test]
fn dependents_are_resumed_last_and_software_after_its_server() {
    insta::assert_snapshot!(steps_of(THREE, Direction::Resume), @r"
    db:resume <- 
    web:resume <- db:resume
    gate:resume <- web:resume
    bastion:open <- gate:resume
    gate:ssh <- bastion:open gate:resume
    web:ssh <- bastion:open gate:ssh web:resume
    drain:resume <- web:resume web:ssh
    fill:resume <- drain:resume web:resume web:ssh
    bastion:close (always) <- gate:ssh web:ssh drain:resume fill:resume
    ");
}

#[test]
fn without_acting_software_nothing_needs_the_bastion() {
    let text = THREE.replace(", actions: [SUSPEND, RESUME]", "");
    insta::assert_snapshot!(steps_of(&text, Direction::Suspend), @r"
    gate:suspend <- 
    web:suspend <- gate:suspend
    db:suspend <- web:suspend
    ");
}

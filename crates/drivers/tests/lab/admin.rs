//! Resources of administrators: they exist once after repeated attempts, and are deleted with and without their id.

use drivers::DriverError;
use openstack::Service;
use openstack::collection::{Collection, id_of};
use openstack::flavors::{AGGREGATES, FLAVORS};
use openstack::identity::{DOMAINS, ENDPOINTS, GROUPS, PROJECTS, REGIONS, ROLES, SERVICES, USERS};
use openstack::volume_types::VOLUME_TYPES;
use serde_json::{Map, Value, json};

use crate::world::World;

const USER: &str = "OS::Keystone::User";
const ENCRYPTED: &str = "OS::Cinder::EncryptedVolumeType";
const BALANCER_FLAVOR: &str = "OS::Octavia::Flavor";
const FLAVOR_PROFILE: &str = "OS::Octavia::FlavorProfile";

static BALANCER_FLAVORS: Collection = Collection::of(
    Service::LoadBalancer,
    "lbaas/flavors",
    ("flavor", "flavors"),
    "load balancer flavor",
);
static FLAVOR_PROFILES: Collection = Collection::of(
    Service::LoadBalancer,
    "lbaas/flavorprofiles",
    ("flavorprofile", "flavorprofiles"),
    "load balancer flavor profile",
);

/// Each type, its collection, and its properties.
async fn types(world: &World) -> Vec<(&'static str, &'static Collection, Value)> {
    let service = json!({"type": "clock", "name": "clock"});
    let service = world.create("clock", "OS::Keystone::Service", &service);
    let service = service.await.unwrap();
    let plain = single("plain");
    let profile = world.create("plain", FLAVOR_PROFILE, &plain).await;
    let profile = profile.unwrap();
    vec![
        ("OS::Keystone::Domain", &DOMAINS, json!({"name": "a"})),
        ("OS::Keystone::Project", &PROJECTS, json!({"name": "a"})),
        ("OS::Keystone::Role", &ROLES, json!({"name": "a"})),
        ("OS::Keystone::Group", &GROUPS, json!({"name": "a"})),
        (
            USER,
            &USERS,
            json!({"name": "a", "password": "Secret-1234", "roles": [{"role": "member", "project": "demo"}]}),
        ),
        ("OS::Keystone::Region", &REGIONS, json!({"id": "a"})),
        (
            "OS::Keystone::Service",
            &SERVICES,
            json!({"type": "sundial", "name": "a"}),
        ),
        (
            "OS::Keystone::Endpoint",
            &ENDPOINTS,
            json!({"service": service, "interface": "public", "url": "http://clock.example", "name": "a"}),
        ),
        (
            "OS::Cinder::VolumeType",
            &VOLUME_TYPES,
            json!({"name": "a", "metadata": {"speed": 1}}),
        ),
        (
            "OS::Nova::Flavor",
            &FLAVORS,
            json!({"name": "a", "ram": 64, "vcpus": 1}),
        ),
        (
            "OS::Nova::HostAggregate",
            &AGGREGATES,
            json!({"name": "a", "metadata": {"colour": "red"}}),
        ),
        (
            BALANCER_FLAVOR,
            &BALANCER_FLAVORS,
            json!({"name": "a", "flavor_profile": profile}),
        ),
    ]
}

/// A flavor profile of load balancers with a single amphora.
fn single(name: &str) -> Value {
    let data = json!({"loadbalancer_topology": "SINGLE"}).to_string();
    json!({"name": name, "provider_name": "octavia", "flavor_data": data})
}

async fn ids(world: &World, of: &'static Collection) -> Vec<String> {
    let all = world.session.records(of).list(&[]).await.unwrap();
    all.iter().map(id_of).collect()
}

#[tokio::test]
async fn made_twice_under_another_name_is_there_once_and_goes_without_its_id() {
    let world = World::of("admin").await;
    for (kind, of, first) in types(&world).await {
        let before = ids(&world, of).await;
        // The responses are lost, and the template is edited in between.
        world.create("one", kind, &first).await.unwrap();
        let mut then = first.clone();
        let called = if of.title == "region" { "id" } else { "name" };
        then[called] = json!("b");
        let id = world.create("one", kind, &then).await.unwrap();
        let mut now = ids(&world, of).await;
        now.retain(|one| !before.contains(one));
        assert_eq!(now, [id.as_str()], "{kind}");
        let there = world.session.records(of).get(&id).await.unwrap();
        // Only some clouds have names of endpoints.
        if let Some(name) = there.get(called) {
            assert_eq!(name, "b", "{kind}");
        }
        let ready = world.wait_ready("one", kind, &then, &id).await.unwrap();
        assert_eq!(ready.reference, json!(id), "{kind}");

        world.delete("one", kind, &then, None).await;
        assert_eq!(ids(&world, of).await, before, "{kind}");
        let id = world.create("one", kind, &first).await.unwrap();
        world.delete("one", kind, &first, Some(&id)).await;
        assert_eq!(ids(&world, of).await, before, "{kind}");
    }
}

#[tokio::test]
async fn a_member_is_refused_by_the_clouds_policy() {
    let world = World::of("demo").await;
    for (kind, properties) in [
        ("OS::Keystone::Project", json!({"name": "a"})),
        (
            "OS::Nova::Flavor",
            json!({"name": "a", "ram": 64, "vcpus": 1}),
        ),
        ("OS::Cinder::VolumeType", json!({"name": "a"})),
    ] {
        match world.create("one", kind, &properties).await.unwrap_err() {
            DriverError::Cloud(error) => assert!(error.is_not_allowed(), "{kind}: {error}"),
            other => panic!("{kind}: {other}"),
        }
    }
}

#[tokio::test]
async fn an_update_removes_only_entries_of_the_former_properties() {
    let world = World::of("admin").await;
    let kind = "OS::Cinder::VolumeType";
    let first =
        json!({"name": "gold", "metadata": {"speed": 1, "side": "left"}, "description": "quick"});
    let id = world.create("gold", kind, &first).await.unwrap();
    let by_hand = Map::from_iter([("colour".to_owned(), json!("red"))]);
    let storage = world.session.block_storage();
    storage.type_set_specs(&id, &by_hand).await.unwrap();

    let then = json!({"name": "gilt", "metadata": {"speed": 2}});
    let changed = world.with("gold", kind, &then, async |driver, context| {
        let context = drivers::Context {
            before: first.as_object().unwrap(),
            ..*context
        };
        driver.update(&context, &id).await
    });
    changed.await.unwrap();
    let there = world.session.records(&VOLUME_TYPES).get(&id).await.unwrap();
    assert_eq!(there["name"], "gilt");
    assert_eq!(there["extra_specs"], json!({"speed": "2", "colour": "red"}));
}

#[tokio::test]
async fn an_encryption_of_somebody_else_is_not_taken_for_ours() {
    let world = World::of("admin").await;
    let volume_type = json!({"name": "gold"});
    let volume_type = world.create("gold", "OS::Cinder::VolumeType", &volume_type);
    let volume_type = volume_type.await.unwrap();
    let properties =
        json!({"volume_type": volume_type, "provider": "luks", "control_location": "front-end"});
    let by_hand = Map::from_iter([
        ("provider".to_owned(), json!("luks")),
        ("control_location".to_owned(), json!("front-end")),
    ]);
    let storage = world.session.block_storage();
    let is_encrypted = async || {
        let there = storage.encryption_get(&volume_type).await.unwrap();
        there.get("provider").is_some_and(Value::is_string)
    };
    storage
        .encryption_create(&volume_type, &by_hand)
        .await
        .unwrap();
    let refused = world
        .create("sealed", ENCRYPTED, &properties)
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("encrypted already"),
        "{refused}"
    );
    world.delete("sealed", ENCRYPTED, &properties, None).await;
    assert!(is_encrypted().await);
    storage.encryption_delete(&volume_type).await.unwrap();

    // The encryption is added once the id is known, with the current properties.
    let id = world
        .create("sealed", ENCRYPTED, &properties)
        .await
        .unwrap();
    assert!(!is_encrypted().await);
    world
        .wait_ready("sealed", ENCRYPTED, &properties, &id)
        .await
        .unwrap();
    let then = json!({"volume_type": volume_type, "provider": "luks", "key_size": 256});
    let ready = world
        .wait_ready("sealed", ENCRYPTED, &then, &id)
        .await
        .unwrap();
    assert_eq!(ready.attributes["show"]["key_size"], 256);
    world.delete("sealed", ENCRYPTED, &then, Some(&id)).await;
    assert!(!is_encrypted().await);
}

#[tokio::test]
async fn limits_that_were_never_set_are_not_taken_back() {
    let world = World::of("admin").await;
    let project = json!({"name": "team"});
    let project = world.create("team", "OS::Keystone::Project", &project);
    let project = project.await.unwrap();
    let kind = "OS::Nova::Quota";
    let properties = json!({"project": project, "cores": 3});
    let quotas = world.session.quota_sets(Service::Compute);
    let cores = async || quotas.get(&project).await.unwrap()["cores"].clone();
    let usual = cores().await;
    let by_hand = Map::from_iter([("cores".to_owned(), json!(7))]);
    quotas.set(&project, &by_hand).await.unwrap();
    world.create("limits", kind, &properties).await.unwrap();
    world.delete("limits", kind, &properties, None).await;
    assert_eq!(cores().await, 7);

    let id = world.create("limits", kind, &properties).await.unwrap();
    world
        .wait_ready("limits", kind, &properties, &id)
        .await
        .unwrap();
    assert_eq!(cores().await, 3);
    world.delete("limits", kind, &properties, Some(&id)).await;
    assert_eq!(cores().await, usual);
}

#[tokio::test]
async fn a_flavor_of_load_balancers_and_its_profile() {
    let world = World::of("admin").await;
    let properties = single("small");
    let profile = world
        .create("profile", FLAVOR_PROFILE, &properties)
        .await
        .unwrap();
    let again = world
        .create("profile", FLAVOR_PROFILE, &properties)
        .await
        .unwrap();
    assert_eq!(again, profile, "known by its mark");
    let ready = world
        .wait_ready("profile", FLAVOR_PROFILE, &properties, &profile)
        .await
        .unwrap();
    assert_eq!(ready.attributes["name"], "small");

    let bronze = json!({"name": "bronze", "flavor_profile": "small"});
    let (flavor, attributes) = world.create_ready("flavor", BALANCER_FLAVOR, &bronze).await;
    assert_eq!(attributes["flavor_profile_id"], profile);
    assert_eq!(attributes["enabled"], true);
    let (net, _) = world
        .create_ready("net", "OS::Neutron::Net", &json!({}))
        .await;
    let subnet = json!({"network": net, "cidr": "10.7.0.0/24"});
    let (subnet, _) = world
        .create_ready("subnet", "OS::Neutron::Subnet", &subnet)
        .await;
    let balancer = json!({"vip_subnet": subnet, "flavor": "bronze"});
    let kind = "OS::Octavia::LoadBalancer";
    let (id, attributes) = world.create_ready("balancer", kind, &balancer).await;
    assert_eq!(attributes["flavor_id"], flavor);
    world.delete("balancer", kind, &balancer, Some(&id)).await;

    // A profile in use can be renamed, but not deleted.
    world
        .updated("profile", FLAVOR_PROFILE, &single("tiny"), &profile)
        .await;
    let refused = world.with(
        "profile",
        FLAVOR_PROFILE,
        &properties,
        async |driver, context| driver.delete(context, Some(&profile)).await,
    );
    let refused = refused.await.unwrap_err().to_string();
    assert!(refused.contains("is in use"), "{refused}");
    let off = json!({"name": "bronze", "flavor_profile": "tiny", "enabled": false});
    world
        .updated("flavor", BALANCER_FLAVOR, &off, &flavor)
        .await;
    let ready = world
        .wait_ready("flavor", BALANCER_FLAVOR, &off, &flavor)
        .await
        .unwrap();
    assert_eq!(ready.attributes["enabled"], false);

    world
        .delete("flavor", BALANCER_FLAVOR, &off, Some(&flavor))
        .await;
    world
        .delete("profile", FLAVOR_PROFILE, &properties, Some(&profile))
        .await;
    for of in [&BALANCER_FLAVORS, &FLAVOR_PROFILES] {
        assert_eq!(ids(&world, of).await, Vec::<String>::new());
    }
}

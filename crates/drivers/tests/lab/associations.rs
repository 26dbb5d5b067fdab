//! Associations and resources that are identified by their name: they are created once the id is known, and existing
//! ones stay.

use openstack::collection::{Record, id_of};
use openstack::identity::{Actor, GROUPS, Grant, PROJECTS, ROLES, RoleTarget, USERS};
use openstack::volume_types::QOS_SPECS;
use openstack::{Method, Service};
use serde_json::{Map, Value, json};

use crate::world::World;

const GRANTS: &str = "OS::Keystone::UserRoleAssignment";
const SPECS: &str = "OS::Cinder::QoSSpecs";
const PROMISE: &str = "OS::Cinder::QoSAssociation";

struct People {
    world: World,
    user: String,
    project: String,
}

impl People {
    async fn new() -> People {
        let world = World::of("admin").await;
        let user = json!({"name": "ann", "password": "Secret-1234"});
        let user = world.create("ann", "OS::Keystone::User", &user).await;
        let team = json!({"name": "team"});
        let project = world.create("team", "OS::Keystone::Project", &team).await;
        let project = project.unwrap();
        for name in ["one", "two", "three"] {
            let role = json!({"name": name});
            let role = world.create(name, "OS::Keystone::Role", &role).await;
            role.unwrap();
        }
        People {
            user: user.unwrap(),
            project,
            world,
        }
    }

    fn properties(&self, roles: &[&str]) -> Value {
        let roles = roles.iter();
        let roles: Vec<Value> = roles
            .map(|role| json!({"role": role, "project": "team"}))
            .collect();
        json!({"user": "ann", "roles": roles})
    }

    async fn grant(&self, role: &str) -> Grant {
        let roles = self.world.session.records(&ROLES);
        Grant {
            role: roles.id_named(role, &[]).await.unwrap(),
            target: RoleTarget::Project(self.project.clone()),
        }
    }

    /// The names of the user's roles in the project.
    async fn has(&self) -> Vec<String> {
        let path = ["projects", &self.project, "users", &self.user, "roles"];
        let call = self
            .world
            .session
            .call(Service::Identity, Method::GET, &path);
        let all: Vec<Record> = call.fetch("roles").await.unwrap();
        let mut names: Vec<String> = all
            .iter()
            .map(|role| role["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn roles_are_given_once_their_id_is_known_and_others_stay() {
    let people = People::new().await;
    let world = &people.world;
    let identity = world.session.identity();
    let ann = Actor::User(&people.user);
    let by_hand = people.grant("one").await;
    identity.grant(ann, &by_hand).await.unwrap();

    let properties = people.properties(&["one", "two"]);
    let id = world.create("hers", GRANTS, &properties).await.unwrap();
    assert_eq!(people.has().await, ["one"], "only looked");
    world
        .wait_ready("hers", GRANTS, &properties, &id)
        .await
        .unwrap();
    assert_eq!(people.has().await, ["one", "two"]);
    // The additions of an interrupted attempt are in the id, and are removed by the next one.
    let died = people.properties(&["one", "two", "three"]);
    let id = world.updated("hers", GRANTS, &died, &id).await;
    world.wait_ready("hers", GRANTS, &died, &id).await.unwrap();
    assert_eq!(people.has().await, ["one", "three", "two"]);
    let then = people.properties(&["three"]);
    let id = world.updated("hers", GRANTS, &then, &id).await;
    world.wait_ready("hers", GRANTS, &then, &id).await.unwrap();
    assert_eq!(people.has().await, ["one", "three"], "given by hand");
    world.delete("hers", GRANTS, &then, Some(&id)).await;
    assert_eq!(people.has().await, ["one"]);

    // The role can be gone before the assignment.
    let id = world.create("hers", GRANTS, &properties).await.unwrap();
    world
        .wait_ready("hers", GRANTS, &properties, &id)
        .await
        .unwrap();
    let role = people.grant("two").await.role;
    world.session.records(&ROLES).delete(&role).await.unwrap();
    let why = world
        .wait_ready("hers", GRANTS, &properties, &id)
        .await
        .unwrap_err();
    assert!(why.contains("gone"), "{why}");
    world.delete("hers", GRANTS, &properties, Some(&id)).await;
    assert_eq!(people.has().await, ["one"]);
    // If all assignments existed before, none is ours.
    let properties = people.properties(&["one"]);
    let (id, _) = world.create_ready("hers", GRANTS, &properties).await;
    world.delete("hers", GRANTS, &properties, Some(&id)).await;
    assert_eq!(people.has().await, ["one"]);
}

#[tokio::test]
async fn roles_move_to_another_group_and_leave_the_first() {
    let people = People::new().await;
    let world = &people.world;
    let kind = "OS::Keystone::GroupRoleAssignment";
    for name in ["crew", "staff"] {
        let group = json!({"name": name});
        let group = world.create(name, "OS::Keystone::Group", &group).await;
        group.unwrap();
    }
    let properties = |group: &str| json!({"group": group, "roles": [{"role": "one", "project": "team"}, {"role": "two", "domain": "default"}]});
    let has = async |group: &str| {
        let groups = world.session.records(&GROUPS);
        let id = groups.id_named(group, &[]).await.unwrap();
        let mut count = 0;
        for (role, target) in [
            ("one", RoleTarget::Project(people.project.clone())),
            ("two", RoleTarget::Domain("default".into())),
        ] {
            let role = people.grant(role).await.role;
            let identity = world.session.identity();
            let grant = Grant { role, target };
            let is_granted = identity.is_granted(Actor::Group(&id), &grant).await;
            count += usize::from(is_granted.unwrap());
        }
        count
    };
    let (id, _) = world
        .create_ready("theirs", kind, &properties("crew"))
        .await;
    assert_eq!((has("crew").await, has("staff").await), (2, 0));
    let id = world
        .updated("theirs", kind, &properties("staff"), &id)
        .await;
    world
        .wait_ready("theirs", kind, &properties("staff"), &id)
        .await
        .unwrap();
    assert_eq!((has("crew").await, has("staff").await), (0, 2));
    world
        .delete("theirs", kind, &properties("staff"), Some(&id))
        .await;
    assert_eq!(has("staff").await, 0);
    // Users and projects still exist.
    let users = world.session.records(&USERS).list(&[]).await.unwrap();
    assert!(users.iter().any(|user| id_of(user) == people.user));
    let projects = world.session.records(&PROJECTS);
    projects.get(&people.project).await.unwrap();
}

#[tokio::test]
async fn a_promise_is_known_by_its_name() {
    let world = World::of("admin").await;
    let all = world.session.records(&QOS_SPECS);
    let by_hand = Map::from_iter([("name".to_owned(), json!("quick"))]);
    let others = id_of(&all.create(&by_hand).await.unwrap());
    let properties = json!({"name": "quick", "specs": {"iops": 500, "burst": 9}});
    let refused = world.create("quick", SPECS, &properties).await.unwrap_err();
    assert!(refused.to_string().contains("already"), "{refused}");
    all.delete(&others).await.unwrap();

    let name = world.create("quick", SPECS, &properties).await.unwrap();
    assert!(all.list(&[]).await.unwrap().is_empty(), "only looked");
    world.delete("quick", SPECS, &properties, None).await;
    let ready = world
        .wait_ready("quick", SPECS, &properties, &name)
        .await
        .unwrap();
    let id = ready.reference.as_str().unwrap();
    let specs = async || all.get(id).await.unwrap()["specs"].clone();
    assert_eq!(specs().await, json!({"iops": "500", "burst": "9"}));

    let then = json!({"name": "quick", "specs": {"iops": 600, "consumer": "both"}});
    let changed = world.with("quick", SPECS, &then, async |driver, context| {
        let context = drivers::Context {
            before: properties.as_object().unwrap(),
            ..*context
        };
        driver.update(&context, &name).await?;
        driver.update(&context, &name).await
    });
    changed.await.unwrap();
    assert_eq!(specs().await, json!({"iops": "600"}));
    assert_eq!(all.get(id).await.unwrap()["consumer"], "both");

    // With associated volume types, two of them one after the other.
    let storage = world.session.block_storage();
    let mut types = Vec::new();
    for name in ["gold", "tin"] {
        let kind = json!({"name": name});
        let made = world.create(name, "OS::Cinder::VolumeType", &kind).await;
        types.push(made.unwrap());
    }
    let promised = async || {
        let all = storage.qos_types(id).await.unwrap();
        let mut names: Vec<Value> = all.iter().map(|one| one["name"].clone()).collect();
        names.sort_by_key(Value::to_string);
        names
    };
    let tie = |types: &[&str]| json!({"qos_specs": "quick", "volume_types": types});
    storage.qos_associate(id, &types[1]).await.unwrap();
    let (ties, _) = world
        .create_ready("promise", PROMISE, &tie(&["gold", "tin"]))
        .await;
    assert_eq!(promised().await, ["gold", "tin"]);
    let ties = world
        .updated("promise", PROMISE, &tie(&["tin"]), &ties)
        .await;
    assert_eq!(promised().await, ["tin"]);
    world
        .delete("promise", PROMISE, &tie(&["tin"]), Some(&ties))
        .await;
    assert_eq!(promised().await, ["tin"], "promised by hand");

    // A specification in use can be deleted, also repeatedly.
    world.delete("quick", SPECS, &then, Some(&name)).await;
    assert!(all.list(&[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn limits_of_every_service_come_back() {
    let world = World::of("admin").await;
    let project = json!({"name": "team"});
    let project = world.create("team", "OS::Keystone::Project", &project);
    let project = project.await.unwrap();
    for (kind, service, name, shown) in [
        ("OS::Neutron::Quota", Service::Network, "router", "router"),
        (
            "OS::Octavia::Quota",
            Service::LoadBalancer,
            "loadbalancer",
            "load_balancer",
        ),
    ] {
        let quotas = world.session.quota_sets(service);
        let limit = async || quotas.get(&project).await.unwrap()[shown].clone();
        let usual = limit().await;
        let properties = json!({"project": "team", name: 3});
        let (id, attributes) = world.create_ready("limits", kind, &properties).await;
        assert_eq!(
            (limit().await, attributes["show"][shown].clone()),
            (json!(3), json!(3))
        );
        world.delete("limits", kind, &properties, Some(&id)).await;
        assert_eq!(limit().await, usual, "{kind}");
    }
}

#[tokio::test]
async fn an_address_of_the_old_kind_leads_to_a_server() {
    let world = World::new().await;
    let before = world.left();
    let (mut made, _) = world.build().await;
    let led = made.iter().position(|one| one.name == "led").unwrap();
    let led = made.remove(led);
    world
        .delete(led.name, led.kind, &led.properties, Some(&led.id))
        .await;

    let kind = "OS::Nova::FloatingIP";
    let (address, attributes) = world.create_ready("old", kind, &json!({})).await;
    assert!(attributes["ip"].is_string() && attributes["pool"].is_string());
    let tie = "OS::Nova::FloatingIPAssociation";
    let properties =
        json!({"server_id": crate::world::of(&made, "web").id, "floating_ip": address});
    let (id, _) = world.create_ready("leads", tie, &properties).await;
    let ready = world
        .wait_ready("old", kind, &json!({}), &address)
        .await
        .unwrap();
    assert_eq!(ready.attributes["fixed_ip_address"], "10.7.0.20");
    let other = crate::world::of(&made, "address").id.clone();
    let then = json!({"server_id": properties["server_id"], "floating_ip": other});
    let id = world.updated("leads", tie, &then, &id).await;
    assert_eq!(id, other);
    world.delete("leads", tie, &then, Some(&id)).await;
    world.delete("old", kind, &json!({}), Some(&address)).await;
    for one in made.iter().rev() {
        world
            .delete(one.name, one.kind, &one.properties, Some(&one.id))
            .await;
    }
    assert_eq!(world.left(), before);
}

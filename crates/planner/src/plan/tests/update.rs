//! Updates from one template to another: the displayed changes, and the order of the steps.

use serde_json::Map;

use super::*;
use hot::diagnostic::listing;
use hot::{expr::Expr, template::DeletionPolicy};

/// `name: action, because` for all changed resources.
fn change_lines(plan: &Plan) -> String {
    let lines = plan
        .changes
        .iter()
        .filter(|change| change.action != Action::None)
        .map(|change| {
            let because = change.because.as_deref().unwrap_or("-");
            let may = if change.may { " (may)" } else { "" };
            format!("{:?}{may} {}: {because}", change.action, change.resource)
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// Planned resources as if deployed: all have an id, and values from the ids of others.
pub(in crate::plan) fn made(plan: &Plan) -> Deployed {
    let workflow = plan
        .workflow
        .clone()
        .unwrap_or_else(|| panic!("{}", listing(&plan.diagnostics)));
    let mut world = simulate::World::default();
    world.run(&workflow, &[]);
    world.deployed()
}

/// Changes and steps between two templates.
pub(in crate::plan) fn from_to(before: &str, after: &str) -> (String, String) {
    let plan = plan_with(after, &[], &made(&plan_of(before)));
    let workflow = plan
        .workflow
        .as_ref()
        .unwrap_or_else(|| panic!("{}", listing(&plan.diagnostics)));
    check_order(workflow);
    (change_lines(&plan), steps(workflow))
}

const SMALL: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  web: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{network: {get_resource: net}}]}}
";

#[test]
fn another_name_is_an_update_and_another_image_a_replacement() {
    let before = resources(SMALL);
    let (changes, done) = from_to(
        &before,
        &before.replace(
            "image: debian-12",
            "image: debian-12-id, metadata: {role: web}",
        ),
    );
    insta::assert_snapshot!(changes, @"Replace web: `image` changes: it will be replaced");
    insta::assert_snapshot!(done, @r"
    web:create <- 
    web:delete-old <- web:create
    ");
    let (changes, done) = from_to(
        &before,
        &before.replace(
            "image: debian-12",
            "image: debian-12, metadata: {role: web}, name: front",
        ),
    );
    insta::assert_snapshot!(changes, @"Update web: `metadata` and 1 more change");
    insta::assert_snapshot!(done, @"web:update <- ");
}

#[test]
fn the_order_holds_through_resources_that_do_not_change() {
    let before = resources(
        "
  last: {type: OS::Neutron::Net, depends_on: middle, properties: {name: one}}
  middle: {type: OS::Neutron::Net, depends_on: first}
  first: {type: OS::Neutron::Net, properties: {name: one}}
  end: {type: OS::Neutron::Net, depends_on: [middle, last], properties: {name: one}}
",
    );
    let (changes, done) = from_to(&before, &before.replace("name: one", "name: two"));
    insta::assert_snapshot!(changes, @r"
    Update last: `name` changes
    Update first: `name` changes
    Update end: `name` changes
    ");
    insta::assert_snapshot!(done, @r"
    first:update <- 
    last:update <- first:update
    end:update <- last:update
    ");
}

#[test]
fn dependents_are_updated_before_the_old_resource_is_deleted() {
    let before = resources(SMALL);
    let after = before.replace(
        "OS::Neutron::Net}",
        "OS::Neutron::Net, properties: {availability_zone_hints: [nova]}}",
    );
    let (changes, done) = from_to(&before, &after);
    insta::assert_snapshot!(changes, @r"
    Replace net: `availability_zone_hints` changes: it will be replaced
    Replace sub: `network` changes (`net` is replaced): it will be replaced
    Update web: `networks` changes (`web_port` is replaced)
    Replace web_port: `network` changes (`net` is replaced): it will be replaced
    ");
    insta::assert_snapshot!(done, @r"
    net:create <- 
    sub:create <- net:create
    web_port:create <- net:create sub:create
    web:update <- web_port:create
    web_port:delete-old <- web:update web_port:create
    sub:delete-old <- sub:create web_port:create web_port:delete-old
    net:delete-old <- net:create sub:create sub:delete-old web_port:create web_port:delete-old
    ");
}

#[test]
fn the_old_holder_of_an_exclusive_value_is_deleted_first() {
    let text = resources("
  key: {type: OS::Nova::KeyPair, properties: {name: mine, public_key: ssh-ed25519 A}}
  net: {type: OS::Neutron::Net}
  web: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, key_name: {get_resource: key}, networks: [{network: {get_resource: net}}]}}
");
    let (changes, done) = from_to(&text, &text.replace("ssh-ed25519 A", "ssh-ed25519 B"));
    insta::assert_snapshot!(changes, @r"
    Replace key: `public_key` changes: it will be replaced
    Replace web: `key_name` changes (`key` is replaced): it will be replaced
    ");
    insta::assert_snapshot!(done, @r"
    key:delete-old <- 
    key:create <- key:delete-old
    web:create <- key:create
    web:delete-old <- web:create
    ");
}

#[test]
fn removed_resources_are_deleted_last() {
    let text = resources(SMALL);
    let (changes, done) = from_to(
        &text,
        &resources(SMALL.split("  web:").next().unwrap())
            .replace("10.0.0.0/24", "10.0.0.0/24, name: s"),
    );
    insta::assert_snapshot!(changes, @r"
    Update sub: `name` changes
    Delete web: -
    Delete web_port: -
    ");
    insta::assert_snapshot!(done, @r"
    sub:update <- 
    web:delete <- sub:update
    web_port:delete <- web:delete
    ");
}

#[test]
fn dependents_are_deleted_first_through_resources_that_stay() {
    let before = resources(
        "
  db: {type: OS::Neutron::Net}
  app: {type: OS::Neutron::Net, depends_on: db}
  worker: {type: OS::Neutron::Net, depends_on: app}
",
    );
    let (_, done) = from_to(&before, &resources("  app: {type: OS::Neutron::Net}\n"));
    insta::assert_snapshot!(done, @r"
    worker:delete <- 
    db:delete <- worker:delete
    ");
}

#[test]
fn a_possibly_changed_attribute_is_compared_by_the_run() {
    let text = resources(&format!(
        "{SMALL}  other: {{type: OS::Nova::Server, properties: {{flavor: m1.small, image: debian-12, user_data: {{get_attr: [web, first_address]}}, networks: [{{network: {{get_resource: net}}}}]}}}}\n"
    ));
    let before = made(&plan_of(&text));
    let plan = plan_with(
        &text.replacen("image: debian-12,", "image: debian-12-id,", 1),
        &[],
        &before,
    );
    insta::assert_snapshot!(change_lines(&plan), @r"
    Replace web: `image` changes: it will be replaced
    Replace (may) other: `user_data` may change (`web` is created anew): then it will be replaced
    ");
    let workflow = plan.workflow.unwrap();
    let step = workflow
        .steps
        .iter()
        .find(|step| step.id == "other:create")
        .unwrap();
    assert!(step.if_changed, "{step:?}");
    assert_eq!(step.replaces.as_deref(), Some("other@1"));
}

#[test]
fn software_is_added_to_an_existing_server() {
    let before = DEMO.split("  proxy:").next().unwrap();
    let with_nginx = format!(
        "{before}  nginx: {{type: Stackloom::Catalog::nginx, properties: {{host: {{get_resource: gate}}}}}}\n"
    );
    let more = format!(
        "{with_nginx}  second: {{type: Stackloom::Catalog::nginx, properties: {{host: {{get_resource: gate}}, listen_port: 81}}}}\n"
    );
    let (changes, done) = from_to(&with_nginx, &more);
    insta::assert_snapshot!(changes, @r"
    Create second: -
    Update gate_access: `rules` changes
    ");
    insta::assert_snapshot!(done, @r"
    gate_access:update <- 
    bastion:open <- gate_access:update
    gate:ssh <- bastion:open
    second:configure <- gate:ssh
    bastion:close (always) <- gate:ssh second:configure
    ");
    // SSH keys are installed at the first boot only.
    let (changes, done) = from_to(before, &with_nginx);
    insta::assert_snapshot!(changes, @r"
    Replace gate: it gets software, and a login can be given to it at its first boot only: it will be replaced
    Create nginx: -
    Update gate_port: `security_groups` changes
    Create gate_access: opens the ports of the software on `gate`, and no others
    Create deployment_key: software is installed over SSH
    ");
    insta::assert_snapshot!(done, @r"
    gate_access:create <- 
    deployment_key:create <- 
    gate_port:update <- gate_access:create
    gate:create <- gate_port:update deployment_key:create
    bastion:open <- gate:create gate_access:create
    gate:ssh <- gate:create bastion:open
    nginx:configure <- gate:ssh
    bastion:close (always) <- gate:ssh nginx:configure
    gate:delete-old <- gate:create nginx:configure
    ");
}

#[test]
fn software_follows_its_server() {
    let (changes, done) = from_to(
        DEMO,
        &DEMO.replace(
            "  inner:\n    type: OS::Nova::Server\n    properties:\n",
            "  inner:\n    type: OS::Nova::Server\n    properties:\n      user_data: other\n",
        ),
    );
    insta::assert_snapshot!(changes, @r"
    Replace inner: `user_data` changes: it will be replaced
    Update (may) proxy: `backends` may change (`nginx` is set up again)
    Update nginx: `host` changes (`inner` is replaced)
    ");
    insta::assert_snapshot!(done, @r"
    inner:create <- 
    bastion:open <- 
    gate:ssh <- bastion:open
    inner:ssh <- inner:create bastion:open gate:ssh
    nginx:configure <- inner:ssh
    proxy:configure <- gate:ssh nginx:configure
    bastion:close (always) <- gate:ssh inner:ssh nginx:configure proxy:configure
    inner:delete-old <- inner:create nginx:configure proxy:configure
    ");
}

#[test]
fn an_interrupted_update_is_resumed_or_rolled_back() {
    let before = resources(SMALL);
    let after = before.replace("image: debian-12", "image: debian-12-id");
    let mut world = simulate::World::default();
    world.run(&plan_of(&before).workflow.unwrap(), &[]);
    let workflow = plan_with(&after, &[], &world.deployed()).workflow.unwrap();
    world.run(&workflow, &["web:create"]);

    let on = plan_with(&after, &[], &world.deployed());
    insta::assert_snapshot!(change_lines(&on), @r"
    Update web: the last step on it did not end well: it is brought in order
    Delete web@1: another copy of `web`, left by an update that did not end
    ");
    insta::assert_snapshot!(steps(on.workflow.as_ref().unwrap()), @r"
    web:update <- 
    web@1:delete <- web:update
    ");
    let back = plan_with(&before, &[], &world.deployed());
    insta::assert_snapshot!(change_lines(&back), @r"
    Update web: the copy from before is still there and is taken back
    Delete web@1: another copy of `web`, left by an update that did not end
    ");
    insta::assert_snapshot!(steps(back.workflow.as_ref().unwrap()), @r"
    web@1:delete <- 
    web:update <- web@1:delete
    ");
    assert_eq!(back.workflow.unwrap().restores["web"], "web@1");
}

#[test]
fn a_difference_is_shown_with_its_path_and_without_secrets() {
    let before = resources(SMALL).replace(
        "image: debian-12",
        "image: debian-12, admin_pass: hunter1, metadata: {a: {b: 1}, c: 2}",
    );
    let after = before.replace("hunter1", "hunter2").replace("b: 1", "b: 3");
    let plan = plan_with(&after, &[], &made(&plan_of(&before)));
    let web = plan
        .changes
        .iter()
        .find(|change| change.resource == "web")
        .unwrap();
    let shown: Vec<_> = web
        .properties
        .iter()
        .map(|one| {
            (
                one.name.as_str(),
                one.old.clone().unwrap(),
                one.new.clone().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("admin_pass", json!("***"), json!("***")),
            ("metadata.a.b", json!(1), json!(3))
        ]
    );
    assert!(
        !serde_json::to_string(&plan.changes)
            .unwrap()
            .contains("hunter")
    );
}

#[test]
fn another_hidden_value_is_a_change_without_a_value() {
    let text = "heat_template_version: wallaby
parameters:
  word: {type: string, hidden: true}
resources:
  net: {type: OS::Neutron::Net, properties: {name: {get_param: word}}}
";
    let first = plan_with(text, &[("word", json!("one"))], &Deployed::default());
    let deployed = Deployed {
        hidden_changed: ["word".to_owned()].into(),
        ..made(&first)
    };
    let plan = plan_with(text, &[("word", json!("two"))], &deployed);
    insta::assert_snapshot!(change_lines(&plan), @"Update net: `name` changes (the value of `word` changes)");
}

#[test]
fn retained_and_foreign_resources_are_reported() {
    let mut deployed = made(&plan_of(&resources(SMALL)));
    for (name, change) in [
        ("net", DeletionPolicy::Retain),
        ("web", DeletionPolicy::Snapshot),
    ] {
        deployed.resources.get_mut(name).unwrap().deletion_policy = change;
    }
    deployed.resources.get_mut("sub").unwrap().external_id = Some(Expr::text("sub-1"));
    let plan = plan_undeploy(&deployed, &types(), &[]);
    insta::assert_snapshot!(change_lines(&plan), @r"
    Delete net: `deletion_policy: Retain`: it stays in the cloud, and is forgotten here
    Delete sub: it is not ours (`external_id`): it stays in the cloud, and is forgotten here
    Delete web: `deletion_policy: Snapshot`: a snapshot of it is kept
    Delete web_port: -
    ");
}

#[test]
fn a_resource_never_created_is_looked_for_with_its_former_properties() {
    let text = resources("  net: {type: OS::Neutron::Net}\n");
    let mut deployed = made(&plan_of(&text));
    let lost = Actual {
        exists: false,
        in_order: false,
        reference: None,
        attributes: Map::new(),
        made_from: BTreeMap::new(),
    };
    deployed.actual.insert("net".into(), lost);
    let same = plan_with(&text, &[], &deployed).workflow.unwrap();
    insta::assert_snapshot!(steps(&same), @"net:create <- ");
    let other = plan_with(
        &text.replace("Net}", "Net, properties: {name: n}}"),
        &[],
        &deployed,
    );
    insta::assert_snapshot!(steps(&other.workflow.unwrap()), @r"
    net:create <- 
    net:delete-old <- net:create
    ");
}

#[test]
fn an_immutable_parameter_keeps_its_value() {
    let text = "heat_template_version: wallaby
parameters:
  size: {type: number, default: 1, immutable: true}
resources:
  net: {type: OS::Neutron::Net, properties: {value_specs: {size: {get_param: size}}}}
";
    let deployed = made(&plan_of(text));
    let same = plan_with(text, &[("size", json!("1"))], &deployed);
    assert!(same.workflow.is_some(), "{}", listing(&same.diagnostics));
    let other = plan_with(text, &[("size", json!(2))], &deployed);
    let codes: Vec<&str> = other
        .diagnostics
        .iter()
        .map(|one| one.code.as_str())
        .collect();
    assert_eq!(codes, ["parameter-immutable"]);
}

#[test]
fn a_deployment_with_contradicting_dependencies_can_be_undeployed() {
    let first = resources(
        "
  x: {type: OS::Neutron::Net, depends_on: y}
  y: {type: OS::Neutron::Net}
",
    );
    // `x` is unchanged, so its stored description still has the first template's order.
    let second = resources(
        "
  x: {type: OS::Neutron::Net}
  y: {type: OS::Neutron::Net, depends_on: x, properties: {name: why}}
",
    );
    let mut deployed = made(&plan_of(&first));
    let old = deployed.resources["x"].clone();
    let plan = plan_with(&second, &[], &deployed);
    deployed.resources = plan.workflow.expect("a plan").resources;
    deployed.resources.insert("x".into(), old);

    let plan = plan_undeploy(&deployed, &Registry::openstack(), &[]);
    assert_eq!(plan.workflow.expect("it goes").steps.len(), 2);
}

#[test]
fn changes_that_follow_from_conditions_or_other_changes_have_reasons() {
    let text = "heat_template_version: wallaby
parameters:
  extra: {type: boolean, default: true}
conditions:
  wanted: {get_param: extra}
resources:
  net: {type: OS::Neutron::Net, properties: {name: n}}
  sub: {type: OS::Neutron::Subnet, condition: wanted, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
";
    let deployed = made(&plan_of(text));
    let without = plan_with(text, &[("extra", json!(false))], &deployed);
    insta::assert_snapshot!(change_lines(&without), @"Delete sub: its condition does not hold any more");
    let renamed = plan_with(
        &text
            .replace("net:", "front:")
            .replace("resource: net", "resource: front"),
        &[],
        &deployed,
    );
    insta::assert_snapshot!(change_lines(&renamed), @r"
    Create front: it is what `net` was: another name is another resource, so `net` goes and `front` is made
    Replace sub: `network` changes: it will be replaced
    Delete net: -
    ");
    let of_another_type = plan_with(
        &text.replace("OS::Neutron::Net,", "OS::Neutron::Router,"),
        &[("extra", json!(false))],
        &deployed,
    );
    insta::assert_snapshot!(change_lines(&of_another_type), @r"
    Replace net: its type changes from `OS::Neutron::Net`: it will be replaced
    Delete sub: its condition does not hold any more
    ");
}

#[test]
fn a_changed_deletion_policy_is_stored() {
    let before = resources(SMALL);
    let after = before.replace(
        "net: {type: OS::Neutron::Net}",
        "net: {type: OS::Neutron::Net, deletion_policy: Retain}",
    );
    let (changes, done) = from_to(&before, &after);
    insta::assert_snapshot!(changes, @"Update net: `deletion_policy` changes from Delete to Retain: nothing of it changes in the cloud");
    insta::assert_snapshot!(done, @"net:update <-");
}

#[test]
fn a_late_value_names_the_resource_that_gives_it() {
    let before = resources(&format!(
        "{SMALL}  other: {{type: OS::Neutron::Net, properties: {{name: x}}}}\n"
    ));
    let after = before
        .replace("name: x", "name: {get_attr: [web, first_address]}")
        .replace("image: debian-12", "image: debian-12-id");
    let plan = plan_with(&after, &[], &made(&plan_of(&before)));
    let changed: Vec<_> = plan
        .changes
        .iter()
        .flat_map(|change| &change.properties)
        .map(|one| (one.name.as_str(), one.known_after.join(" ")))
        .collect();
    assert_eq!(
        changed,
        [("image", String::new()), ("name", "web".to_owned())]
    );
}

#[test]
fn a_hidden_value_that_reached_one_resource_is_a_change_of_the_other() {
    let text = "heat_template_version: wallaby
parameters:
  word: {type: string, hidden: true}
resources:
  one: {type: OS::Neutron::Net, properties: {name: {get_param: word}}}
  two: {type: OS::Neutron::Net, properties: {name: {get_param: word}}}
";
    let first = plan_with(text, &[("word", json!("one"))], &Deployed::default());
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let deployed = Deployed {
        hidden_changed: all(&["word"]),
        hidden_changed_of: [
            ("one".to_owned(), all(&[])),
            ("two".to_owned(), all(&["word"])),
        ]
        .into(),
        ..made(&first)
    };
    let plan = plan_with(text, &[("word", json!("two"))], &deployed);
    insta::assert_snapshot!(change_lines(&plan), @"Update two: `name` changes (the value of `word` changes)");
}

#[test]
fn a_component_follows_its_provider_although_a_run_ended_between_their_steps() {
    let base = DEMO
        .replacen("haproxy\n", "haproxy\n    depends_on: disk\n", 1)
        .replacen(
            "outputs:",
            "  disk: {type: OS::Cinder::Volume, depends_on: nginx, properties: {size: 1}}\noutputs:",
            1,
        );
    let inner = "  inner:\n    type: OS::Nova::Server\n    properties:\n";
    let another_port = base.replace("listen_port: 8080", "listen_port: 8081");
    let another_server = base.replacen(inner, &format!("{inner}      user_data: other\n"), 1);
    for changed in [another_port, another_server] {
        let changed = changed.replacen("size: 1", "size: 2", 1);
        let mut world = simulate::World::default();
        world.run(&plan_of(&base).workflow.unwrap(), &[]);
        let plan = |world: &simulate::World| plan_with(&changed, &[], &world.deployed());

        world.run(&plan(&world).workflow.unwrap(), &["disk:update"]);
        let next = plan(&world).workflow.unwrap();
        let proxy = next.steps.iter().find(|step| step.id == "proxy:configure");
        assert!(proxy.is_some(), "{}", steps(&next));
        world.run(&next, &[]);
        assert_eq!(plan(&world).workflow.unwrap().steps, []);
    }
}

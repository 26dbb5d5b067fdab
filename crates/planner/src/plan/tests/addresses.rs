//! Requirements that need an address only: components that require each other, changes of endpoints, removals.

use proptest::prelude::*;

use super::{update::made, *};
use crate::testing::types_with;
use types::catalog::{CatalogItem, Need, Requirement};

/// Items that need only addresses, except nginx, which waits for the health of what is `upstream`.
fn by_address() -> Registry {
    types_with(|mut item: CatalogItem| {
        for requirement in &mut item.requires {
            requirement.needs = Need::Address;
        }
        if item.name == "nginx" {
            item.requires.push(Requirement {
                name: "upstream".to_owned(),
                capability: "http".to_owned(),
                min: 0,
                max: None,
                summary: String::new(),
                opens: true,
                needs: Need::Health,
            });
        }
        item.removes = true;
        item
    })
}

/// The plan of a template over deployed resources.
fn plan_over(deployed: &Deployed, template: &str) -> Plan {
    plan(&PlanInput {
        document: &Document::parse(template),
        bundle: &Default::default(),
        parameters: &BTreeMap::new(),
        deployed,
        types: &by_address(),
        cloud: &cloud(),
    })
}

fn new(template: &str) -> Plan {
    plan_over(&Deployed::default(), template)
}

/// The demo, whose web server waits for the health of its own proxy.
fn circle() -> String {
    DEMO.replacen(
        "listen_port: 8080}",
        "listen_port: 8080, upstream: [{get_resource: proxy}]}",
        1,
    )
}

/// The steps that a step waits for.
fn before<'a>(plan: &'a Plan, id: &str) -> Option<Vec<&'a str>> {
    let workflow = plan.workflow.as_ref();
    let workflow = workflow.unwrap_or_else(|| panic!("{}", listing(&plan.diagnostics)));
    let step = workflow.steps.iter().find(|step| step.id == id)?;
    Some(step.after.iter().map(String::as_str).collect())
}

fn reason<'a>(plan: &'a Plan, resource: &str) -> &'a str {
    let change = plan.changes.iter().find(|one| one.resource == resource);
    change.unwrap().because.as_deref().unwrap_or_default()
}

#[test]
fn a_component_waits_for_the_server_of_a_provider_and_not_for_its_set_up() {
    let plan = new(DEMO);
    assert_eq!(
        before(&plan, "proxy:configure"),
        Some(vec!["gate:ssh", "inner:create"])
    );
    assert_eq!(before(&plan, "nginx:configure"), Some(vec!["inner:ssh"]));
}

#[test]
fn two_components_require_each_other_one_by_its_address() {
    let plan = new(&circle());
    assert_eq!(
        before(&plan, "proxy:configure"),
        Some(vec!["gate:ssh", "inner:create"])
    );
    assert_eq!(
        before(&plan, "nginx:configure"),
        Some(vec!["inner:ssh", "proxy:configure"])
    );
    check_order(plan.workflow.as_ref().unwrap());
}

const GROUP: &str = "  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties: {host: {get_resource: gate}, backends: {get_attr: [web, outputs_list, site]}}
  web:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 3
      desired_capacity: 2
      resource: {type: web.yaml, properties: {net: {get_resource: net}, proxy: {get_resource: proxy}}}
";

/// A member of the group: a web server that waits for the health of the proxy.
const MEMBER: &str = "heat_template_version: 2021-04-16
parameters: {net: {type: string}, proxy: {type: string}}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_param: net}}]}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: server}, upstream: [{get_param: proxy}]}
outputs:
  site: {value: {get_resource: nginx}}
";

fn plan_of_group(types: &Registry, member: &str) -> Plan {
    let files = [("web.yaml".to_owned(), member.to_owned())];
    plan(&PlanInput {
        document: &Document::parse(resources(GROUP)),
        bundle: &Bundle::new(files, []),
        parameters: &BTreeMap::new(),
        deployed: &Deployed::default(),
        types,
        cloud: &cloud(),
    })
}

#[test]
fn a_circle_through_a_group_is_resolved_by_the_addresses_of_its_members() {
    let plan = plan_of_group(&by_address(), MEMBER);
    let proxy = before(&plan, "proxy:configure").unwrap();
    assert!(proxy.contains(&"web/0/server:create"), "{proxy:?}");
    assert!(proxy.contains(&"web/1/server:create"), "{proxy:?}");
    assert!(
        !proxy.iter().any(|step| step.contains("nginx")),
        "{proxy:?}"
    );
    let member = before(&plan, "web/1/nginx:configure").unwrap();
    assert!(member.contains(&"proxy:configure"), "{member:?}");
    let server = before(&plan, "web/1/server:create").unwrap();
    assert!(
        !server.iter().any(|step| step.contains("proxy")),
        "{server:?}"
    );
    check_order(plan.workflow.as_ref().unwrap());
}

#[test]
fn a_circle_by_health_through_a_group_is_an_error() {
    let member = MEMBER
        .replace("::nginx", "::haproxy")
        .replace("upstream", "backends");
    let plan = plan_of_group(&types(), &member);
    assert!(plan.workflow.is_none());
    let problem = listing(&plan.diagnostics);
    assert!(
        problem.contains("circular-reference") && problem.contains("/nginx"),
        "{problem}"
    );
}

#[test]
fn a_circle_by_health_is_an_error_with_a_way_out() {
    let template = circle()
        .replace("::nginx", "::haproxy")
        .replace("upstream", "backends")
        .replace("[nginx, url]", "[front, show]");
    let plan = plan_of(&template);
    assert!(plan.workflow.is_none());
    let problem = listing(&plan.diagnostics);
    for text in [
        "circular-reference",
        "wait for each other in a circle: `proxy` → `nginx` → `proxy`",
        "set `needs: address` at `backends` in the manifest of `haproxy`, if `proxy` can be set up before `nginx` is healthy",
    ] {
        assert!(problem.contains(text), "{problem}");
    }
}

#[test]
fn an_endpoint_that_depends_on_its_consumer_is_a_circle() {
    let template = DEMO.replacen(
        "listen_port: 8080}",
        "listen_port: {get_attr: [proxy, port]}}",
        1,
    );
    let plan = new(&template);
    assert!(plan.workflow.is_none());
    let problem = listing(&plan.diagnostics);
    assert!(problem.contains("in a circle: "), "{problem}");
    // The text of the page is not in the endpoint.
    let template = DEMO.replacen(
        "listen_port: 8080}",
        "listen_port: 8080, page_text: {get_attr: [proxy, show]}}",
        1,
    );
    let problem = listing(&new(&template).diagnostics);
    assert!(!problem.contains("circle"), "{problem}");
}

#[test]
fn an_explicit_order_is_kept() {
    let template = DEMO.replacen(
        "type: Stackloom::Catalog::haproxy\n",
        "type: Stackloom::Catalog::haproxy\n    depends_on: nginx\n",
        1,
    );
    let after = new(&template);
    let after = before(&after, "proxy:configure").unwrap();
    assert!(after.contains(&"nginx:configure"), "{after:?}");
}

#[test]
fn a_consumer_is_set_up_again_when_the_endpoint_changes_and_only_then() {
    for template in [DEMO.to_owned(), circle()] {
        let deployed = made(&new(&template));
        let same = plan_over(&deployed, &template);
        assert_eq!(same.workflow.unwrap().steps, []);

        let plan = plan_over(&deployed, &template.replacen("8080", "8090", 1));
        assert!(before(&plan, "proxy:configure").is_some());
        assert_eq!(
            reason(&plan, "proxy"),
            "`backends` changes (`listen_port` of `nginx` changes)"
        );
        let moved = template.replacen(
            "{get_resource: inner}, listen_port",
            "{get_resource: gate}, listen_port",
            1,
        );
        let plan = plan_over(&deployed, &moved);
        assert!(before(&plan, "proxy:configure").is_some());

        let other = template.replacen("listen_port: 8080", "page_text: x, listen_port: 8080", 1);
        let plan = plan_over(&deployed, &other);
        assert!(before(&plan, "nginx:configure").is_some());
        assert_eq!(before(&plan, "proxy:configure"), None);
    }
}

/// The demo, whose private server has these networks.
fn inner_at(networks: &str) -> String {
    let (before, after) = DEMO
        .rsplit_once("networks: [{network: {get_resource: front}}]")
        .unwrap();
    format!("{before}networks: [{networks}]{after}")
}

#[test]
fn components_are_set_up_again_when_their_server_or_their_provider_gets_other_addresses() {
    let one = inner_at("{network: {get_resource: front}}");
    let two = inner_at("{network: {get_resource: front}}, {network: {get_resource: front}}");
    let fixed = inner_at("{network: {get_resource: front}, fixed_ip: 10.1.0.9}");
    for (before_text, after_text) in [(&one, &two), (&two, &one), (&one, &fixed)] {
        let deployed = made(&new(before_text));
        let plan = plan_over(&deployed, after_text);
        assert_eq!(
            reason(&plan, "nginx"),
            "`host` may change (`inner` gets other addresses)"
        );
        assert_eq!(
            reason(&plan, "proxy"),
            "`backends` may change (`inner` gets other addresses)"
        );
        let (nginx, proxy) = (
            before(&plan, "nginx:configure"),
            before(&plan, "proxy:configure"),
        );
        assert_eq!(nginx, Some(vec!["inner:ssh"]));
        assert!(proxy.unwrap().contains(&"inner:update"));
        assert!(
            before(&plan, "inner:ssh")
                .unwrap()
                .contains(&"inner:update")
        );

        // A consumer that needs the health of its provider follows the provider.
        let plan = plan_with(after_text, &[], &made(&plan_of(before_text)));
        assert_eq!(
            reason(&plan, "proxy"),
            "`backends` may change (`nginx` is set up again)"
        );
    }
    let renamed = DEMO.replace(
        "image: debian-12\n",
        "image: debian-12\n      name: other\n",
    );
    let plan = plan_over(&made(&new(DEMO)), &renamed);
    assert!(before(&plan, "inner:update").is_some());
    assert_eq!(before(&plan, "nginx:configure"), None);
    assert_eq!(before(&plan, "proxy:configure"), None);
}

#[test]
fn components_are_set_up_with_new_addresses_after_a_failure_in_between() {
    let one = inner_at("{network: {get_resource: front}}");
    let two = inner_at("{network: {get_resource: front}}, {network: {get_resource: front}}");
    let fixed = inner_at("{network: {get_resource: front}, fixed_ip: 10.1.0.9}");
    for (after_text, moved_by) in [(&two, "inner:update"), (&fixed, "inner_port:update")] {
        let mut world = simulate::World::default();
        world.run(&new(&one).workflow.unwrap(), &[]);
        let moved = plan_over(&world.deployed(), after_text).workflow.unwrap();
        let step = moved.steps.iter().find(|step| step.id == moved_by);
        let outdates = &step.unwrap().outdates;
        for component in ["nginx", "proxy"] {
            assert!(outdates.iter().any(|one| one == component), "{outdates:?}");
        }
        world.run(&moved, &["bastion:open"]);

        let again = plan_over(&world.deployed(), after_text);
        assert!(before(&again, "nginx:configure").is_some());
        assert!(before(&again, "proxy:configure").is_some());
        world.run(again.workflow.as_ref().unwrap(), &[]);
        let done = plan_over(&world.deployed(), after_text);
        assert_eq!(done.workflow.unwrap().steps, []);
    }
}

#[test]
fn a_component_that_does_not_use_the_new_addresses_stays_complete() {
    let text = |networks: &str, listen_port: u16| {
        resources(&format!("
  net: {{type: OS::Neutron::Net}}
  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.0.0.0/24}}}}
  first: {{type: OS::Nova::Server, properties: {{flavor: m1.small, image: debian-12, networks: [{networks}]}}}}
  second:
    type: OS::Nova::Server
    depends_on: first
    metadata: {{stackloom: {{public: true}}}}
    properties: {{flavor: m1.small, image: debian-12, networks: [{{network: {{get_resource: net}}}}]}}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {{host: {{get_resource: second}}, listen_port: {listen_port}}}
"))
    };
    let network = "{network: {get_resource: net}}";
    let deployed = made(&plan_of(&text(network, 80)));
    let plan = plan_with(&text(&format!("{network}, {network}"), 81), &[], &deployed);
    assert!(before(&plan, "nginx:configure").is_some());
    let workflow = plan.workflow.unwrap();
    let update = workflow.steps.iter().find(|step| step.id == "first:update");
    assert_eq!(update.unwrap().outdates, Vec::<String>::new());
}

#[test]
fn a_volume_stays_attached_to_a_server_that_gets_other_addresses() {
    let text = |networks: &str| {
        resources(&format!("
  net: {{type: OS::Neutron::Net}}
  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.0.0.0/24}}}}
  disk: {{type: OS::Cinder::Volume, properties: {{size: 1}}}}
  web: {{type: OS::Nova::Server, properties: {{flavor: m1.small, image: debian-12, networks: [{networks}]}}}}
  there: {{type: OS::Cinder::VolumeAttachment, properties: {{instance_uuid: {{get_resource: web}}, volume_id: {{get_resource: disk}}}}}}
"))
    };
    let network = "{network: {get_resource: net}}";
    let deployed = made(&plan_of(&text(network)));
    let plan = plan_with(&text(&format!("{network}, {network}")), &[], &deployed);
    assert!(before(&plan, "web:update").is_some());
    assert_eq!(reason(&plan, "there"), "");
}

#[test]
fn a_consumer_of_a_provider_that_was_not_set_up_returns_to_the_old_endpoint() {
    let mut world = simulate::World::default();
    world.run(&new(DEMO).workflow.unwrap(), &[]);
    let changed = plan_over(&world.deployed(), &DEMO.replacen("8080", "8090", 1));
    world.run(&changed.workflow.unwrap(), &["nginx:configure"]);
    let back = plan_over(&world.deployed(), DEMO);
    assert!(before(&back, "nginx:configure").is_some());
    assert!(before(&back, "proxy:configure").is_some());
}

#[test]
fn a_provider_goes_after_its_consumer_is_set_up_without_it() {
    let third = "  third: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: inner}, listen_port: 81}}\noutputs:\n";
    let both = DEMO.replacen("outputs:\n", third, 1).replacen(
        "[{get_resource: nginx}]",
        "[{get_resource: nginx}, {get_resource: third}]",
        1,
    );
    let plan = plan_over(&made(&new(&both)), DEMO);
    let after = before(&plan, "third:delete").unwrap();
    assert!(after.contains(&"proxy:configure"), "{after:?}");
}

#[test]
fn components_in_a_circle_are_undeployed() {
    let plan = plan_undeploy(&made(&new(&circle())), &by_address(), &[]);
    let ids = |name: &str| before(&plan, name).is_some();
    assert!(ids("gate:delete") && ids("inner:delete"), "{plan:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn members_that_need_each_others_addresses_have_an_order(
        members in prop::collection::vec(prop::collection::btree_set(0usize..5, 0..4), 5),
    ) {
        let mut text = resources("  net: {type: OS::Neutron::Net}\n  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}\n");
        for (number, others) in members.iter().enumerate() {
            let others = others.iter().filter(|other| **other != number);
            let others: Vec<String> = others.map(|other| format!("{{get_resource: m{other}}}")).collect();
            text.push_str(&format!(
                "  s{number}: {{type: OS::Nova::Server, metadata: {{stackloom: {{public: true}}}}, properties: {{image: debian-12, flavor: m1.small, networks: [{{network: {{get_resource: net}}}}]}}}}\n  m{number}: {{type: Stackloom::Catalog::store, properties: {{host: {{get_resource: s{number}}}, members: [{}]}}}}\n",
                others.join(", ")
            ));
        }
        let plan = new(&text);
        prop_assert!(plan.workflow.is_some(), "{}\n{}", text, listing(&plan.diagnostics));
        check_order(plan.workflow.as_ref().unwrap());
        for (number, others) in members.iter().enumerate() {
            let after = before(&plan, &format!("m{number}:configure")).unwrap_or_default();
            for other in others.iter().filter(|other| **other != number) {
                let server = format!("s{other}:create");
                prop_assert!(after.contains(&server.as_str()), "{:?}", after);
            }
            prop_assert!(!after.iter().any(|step| step.ends_with(":configure")), "{:?}", after);
        }
        let again = plan_over(&made(&plan), &text);
        prop_assert_eq!(again.workflow.unwrap().steps, []);
    }
}

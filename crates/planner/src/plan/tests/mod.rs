use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    testing::{DEMO, cloud, plan_of, plan_with, resources, types},
    workflow::Workflow,
};
use hot::diagnostic::listing;

mod addresses;
mod circles;
mod connections;
mod deployments;
mod digest;
mod hooks;
mod images;
mod installation;
mod messages;
mod removal;
mod repair;
mod signals;
mod simulate;
mod suspension;
mod update;
mod upgrade;

pub(super) use update::{from_to, made};

pub(in crate::plan) fn steps(workflow: &Workflow) -> String {
    let lines = workflow.steps.iter().map(|step| {
        let always = if step.always_run { " (always)" } else { "" };
        format!("{}{always} <- {}", step.id, step.after.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn deployed(plan: &Plan) -> Deployed {
    Deployed::of(plan.workflow.clone().unwrap().resources)
}

#[test]
fn the_demo_as_steps() {
    let plan = plan_of(DEMO);
    insta::assert_snapshot!(listing(&plan.diagnostics), @"7:3 Info bastion-picked resources.gate: software is installed through `gate`; to choose another bastion, mark a server as it");
    let workflow = plan.workflow.unwrap();
    insta::assert_snapshot!(steps(&workflow), @r"
    front:create <- 
    router:create <- 
    gate_access:create <- 
    deployment_key:create <- 
    front_subnet:create <- front:create
    inner_access:create <- gate_access:create
    gate_port:create <- front:create gate_access:create front_subnet:create
    front_subnet_interface:create <- router:create front_subnet:create
    inner_port:create <- front:create inner_access:create front_subnet:create
    gate:create <- gate_port:create deployment_key:create
    gate_floating_ip:create <- gate_port:create router:create front_subnet_interface:create
    inner:create <- inner_port:create deployment_key:create
    bastion:open <- gate:create gate_floating_ip:create gate_access:create
    gate:ssh <- gate:create front_subnet_interface:create bastion:open
    inner:ssh <- inner:create front_subnet_interface:create bastion:open gate:ssh
    nginx:configure <- inner:ssh
    proxy:configure <- gate:ssh nginx:configure
    bastion:close (always) <- gate:ssh inner:ssh nginx:configure proxy:configure
    ");
    let bastion = workflow.bastion().unwrap();
    assert_eq!(
        (bastion.server, bastion.floating_ip, bastion.security_group),
        ("gate", "gate_floating_ip", "gate_access")
    );
    assert_eq!(workflow.resources["nginx"].host(), Some("inner"));
    assert_eq!(workflow.ports_of("inner"), ["inner_port"]);
    assert_eq!(workflow.public_address_of("gate"), Some("gate_floating_ip"));
    assert_eq!(workflow.public_address_of("inner"), None);
}

#[test]
fn a_deployment_without_software_has_no_ssh() {
    let plan = plan_of(&resources(
        "  net: {type: OS::Neutron::Net}\n  web: {type: OS::Nova::Server, properties: {flavor: m1.small, networks: [{network: {get_resource: net}}]}}\n",
    ));
    insta::assert_snapshot!(steps(&plan.workflow.unwrap()), @r"
    net:create <- 
    net_subnet:create <- net:create
    web_port:create <- net:create net_subnet:create
    web:create <- web_port:create
    ");
}

#[test]
fn nothing_changes_between_a_template_and_itself() {
    let first = plan_of(DEMO);
    let again = plan_with(DEMO, &[], &deployed(&first));
    assert!(
        again
            .changes
            .iter()
            .all(|change| change.action == Action::None),
        "{:?}",
        again.changes
    );
    assert_eq!(again.workflow.unwrap().steps, []);
}

#[test]
fn undeploy_deletes_in_reverse_order() {
    let plan = plan_undeploy(&deployed(&plan_of(DEMO)), &types(), &[]);
    insta::assert_snapshot!(steps(&plan.workflow.unwrap()), @r"
    inner:delete <- 
    gate:delete <- 
    inner_port:delete <- inner:delete
    gate_floating_ip:delete <- gate:delete
    deployment_key:delete <- gate:delete inner:delete
    inner_access:delete <- inner_port:delete
    gate_port:delete <- gate:delete gate_floating_ip:delete
    front_subnet_interface:delete <- gate_floating_ip:delete
    gate_access:delete <- gate_port:delete inner_access:delete
    front_subnet:delete <- front_subnet_interface:delete gate_port:delete inner_port:delete
    router:delete <- front_subnet_interface:delete gate_floating_ip:delete
    front:delete <- front_subnet:delete gate_port:delete inner_port:delete
    ");
    assert_eq!(
        plan_undeploy(&Deployed::default(), &types(), &[])
            .workflow
            .unwrap()
            .steps,
        []
    );
}

#[test]
fn a_floating_ip_is_deleted_after_the_server_at_its_port() {
    let undeploy = |text: &str| {
        let plan = plan_undeploy(&deployed(&plan_of(&resources(text))), &types(), &[]);
        let workflow = plan.workflow.unwrap();
        check_order(&workflow);
        let waits = workflow
            .steps
            .iter()
            .find(|step| step.id == "address:delete");
        waits.unwrap().after.contains(&"web:delete".to_owned())
    };
    const TEXT: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: port}}}
  other: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{network: {get_resource: net}}]}}
  web: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{port: {get_resource: port}}]}}
";
    assert!(undeploy(TEXT));
    // An address that was created after the server is deleted before it.
    let text = TEXT.replace("  address: {", "  address: {depends_on: web, ");
    assert!(!undeploy(&text));
    // An order after another server is ignored: otherwise the two could wait for each other.
    let text = TEXT.replace("  address: {", "  address: {depends_on: other, ");
    assert!(!undeploy(&text));
}

#[test]
fn parameters_are_checked_and_hidden_ones_stay_out() {
    let text = "heat_template_version: wallaby
parameters:
  count: {type: number, constraints: [{range: {min: 1, max: 3}}]}
  word: {type: string, hidden: true, constraints: [{length: {min: 8}}]}
  names: {type: comma_delimited_list, default: 'a, b'}
resources:
  net: {type: OS::Neutron::Net, properties: {name: {get_param: word}, tags: {get_param: names}, value_specs: {n: {get_param: count}}}}
outputs:
  name: {value: {get_param: [names, 1]}}
";
    insta::assert_snapshot!(listing(&plan_with(text, &[("word", json!("short")), ("count", json!("seven")), ("wrod", json!(1))], &Deployed::default()).diagnostics), @r"
    3:3 Error parameter-invalid parameters.count: the parameter `count`: it takes a number, not `seven`
    4:3 Error parameter-invalid parameters.word: the parameter `word`: its value does not fit its type or constraints
    - Error unknown-parameter : a value is given for `wrod`, which is not a parameter of the template; did you mean `word`?
    ");
    insta::assert_snapshot!(listing(&plan_of(text).diagnostics), @r"
    3:3 Error parameter-missing parameters.count: the parameter `count` has no value and no default; give it one
    4:3 Error parameter-missing parameters.word: the parameter `word` has no value and no default; give it one
    ");
    let workflow = plan_with(
        text,
        &[("word", json!("long enough")), ("count", json!("2"))],
        &Deployed::default(),
    )
    .workflow
    .unwrap();
    let stored = serde_json::to_string(&workflow).unwrap();
    assert!(!stored.contains("long enough"), "{stored}");
    assert_eq!(serde_json::from_str::<Workflow>(&stored).unwrap(), workflow);
    let net = &workflow.resources["net"];
    assert_eq!(
        net.properties["name"].to_json(),
        json!({"get_param": "word"})
    );
    assert_eq!(net.properties["tags"].to_json(), json!(["a", " b"]));
    assert_eq!(net.properties["value_specs"].to_json(), json!({"n": 2}));
    assert_eq!(workflow.outputs["name"].value.to_json(), json!(" b"));
}

#[test]
fn unsupported_types_are_refused_by_a_plan() {
    let plan = plan_of(&resources(
        "  files: {type: OS::Zun::Container, properties: {image: nginx}}\n",
    ));
    insta::assert_snapshot!(listing(&plan.diagnostics), @"3:11 Error resource-type-not-deployable resources.files.type: `files` cannot be deployed yet: Stackloom has no driver for `OS::Zun::Container`; remove it, or deploy it with Heat");
    assert_eq!(plan.changes.len(), 1, "it is shown all the same");
}

#[test]
fn unreadable_text_has_no_plan() {
    let plan = plan_of("a: [");
    assert_eq!((plan.changes.len(), plan.workflow), (0, None));
}

#[test]
fn heats_implicit_dependencies() {
    let text = resources("
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: public}}}
  interface: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: sub}}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  fip: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
  association: {type: OS::Neutron::FloatingIPAssociation, properties: {floatingip_id: {get_resource: fip}, port_id: {get_resource: port}}}
");
    let workflow = plan_of(&text).workflow.unwrap();
    assert_eq!(workflow.resources["port"].requires, ["net", "sub"]);
    assert_eq!(workflow.resources["fip"].requires, ["router"]);
    assert_eq!(
        workflow.resources["association"].requires,
        ["fip", "port", "interface"]
    );
}

/// Checks that step ids are unique, and that each step comes after the existing steps that it waits for.
fn check_order(workflow: &Workflow) {
    let mut seen = std::collections::HashSet::new();
    for step in &workflow.steps {
        for after in &step.after {
            assert!(
                seen.contains(after.as_str()),
                "`{}` before `{after}`\n{}",
                step.id,
                steps(workflow)
            );
        }
        assert!(seen.insert(step.id.as_str()), "`{}` twice", step.id);
    }
}

/// Template with `size` blocks of network, subnet, public server, private server and software.
fn blocks(size: usize) -> String {
    let mut text = String::from("heat_template_version: 2021-04-16\nresources:\n");
    for n in 0..size {
        text.push_str(&format!(
            "  net{n}: {{type: OS::Neutron::Net}}
  sub{n}: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net{n}}}, cidr: 10.0.0.0/24}}}}
  pub{n}: {{type: OS::Nova::Server, metadata: {{stackloom: {{public: true}}}}, properties: {{flavor: m1.small, image: debian-12, networks: [{{network: {{get_resource: net{n}}}}}]}}}}
  web{n}: {{type: OS::Nova::Server, properties: {{flavor: m1.small, image: debian-12, networks: [{{network: {{get_resource: net{n}}}}}]}}}}
  nginx{n}: {{type: 'Stackloom::Catalog::nginx', properties: {{host: {{get_resource: web{n}}}}}}}
"
        ));
    }
    text
}

#[test]
fn large_templates_are_planned_in_order() {
    let text = blocks(200);
    let plan = plan_of(&text);
    let workflow = plan
        .workflow
        .unwrap_or_else(|| panic!("{}", listing(&plan.diagnostics)));
    check_order(&workflow);
    assert!(workflow.steps.len() > 1000);
    check_order(
        &plan_undeploy(&Deployed::of(workflow.resources), &types(), &[])
            .workflow
            .unwrap(),
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_drawing_is_ordered_or_refused(
        hosts in prop::collection::vec((any::<bool>(), any::<bool>()), 1..5),
        software in prop::collection::vec((0usize..5, prop::option::of(0usize..6)), 0..6),
    ) {
        let mut text = String::from("heat_template_version: 2021-04-16\nresources:\n  net: {type: OS::Neutron::Net}\n");
        for (n, (public, bastion)) in hosts.iter().enumerate() {
            text.push_str(&format!("  s{n}: {{type: OS::Nova::Server, metadata: {{stackloom: {{public: {public}, bastion: {bastion}}}}}, properties: {{flavor: m1.small, networks: [{{network: {{get_resource: net}}}}]}}}}\n"));
        }
        for (n, (host, to)) in software.iter().enumerate() {
            let (host, port) = (host % hosts.len(), 8000 + n);
            match to.filter(|to| to % software.len() != n) {
                Some(to) => text.push_str(&format!("  c{n}: {{type: 'Stackloom::Catalog::haproxy', properties: {{host: {{get_resource: s{host}}}, listen_port: {port}, backends: [{{get_resource: c{}}}]}}}}\n", to % software.len())),
                None => text.push_str(&format!("  c{n}: {{type: 'Stackloom::Catalog::nginx', properties: {{host: {{get_resource: s{host}}}, listen_port: {port}}}}}\n")),
            }
        }
        let plan = plan_of(&text);
        if let Some(workflow) = &plan.workflow {
            check_order(workflow);
            let again = plan_with(&text, &[], &Deployed::of(workflow.resources.clone()));
            prop_assert!(again.changes.iter().all(|change| change.action == Action::None), "{:?}", again.changes);
        } else {
            prop_assert!(plan.diagnostics.iter().any(Diagnostic::is_error));
        }
    }
}

#[test]
fn cloud_facts_are_not_needed_where_nothing_needs_them() {
    let text = resources("  net: {type: OS::Neutron::Net}\n");
    let input = PlanInput {
        document: &Document::parse(text),
        bundle: &Default::default(),
        parameters: &BTreeMap::new(),
        deployed: &Deployed::default(),
        types: &types(),
        cloud: &CloudFacts::default(),
    };
    assert!(plan(&input).workflow.is_some());
    assert!(cloud().images.is_some());
}

/// Errors and notes of a plan, and the names of the deployed resources.
fn planned(
    text: &str,
    files: &[(&str, &str)],
    given: &[(&str, Value)],
) -> (Vec<String>, Vec<String>) {
    let files = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let given = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    let plan = plan(&PlanInput {
        document: &Document::parse(text),
        bundle: &hot::bundle::Bundle::new(files, []),
        parameters: &given.collect(),
        deployed: &Deployed::default(),
        types: &types(),
        cloud: &CloudFacts::default(),
    });
    let messages = plan.diagnostics.iter().map(|one| one.message.clone());
    let workflow = plan.workflow.unwrap_or_default();
    let resources = workflow.resources.keys().chain(workflow.outputs.keys());
    (messages.collect(), resources.cloned().collect())
}

#[test]
fn a_disabled_resource_is_not_deployed() {
    let text = "\
heat_template_version: 2021-04-16
parameters:
  env: {type: string, hidden: true}
conditions:
  prod: {equals: [{get_param: env}, prod]}
resources:
  front: {type: OS::Neutron::Net, condition: prod}
  back:
    type: OS::Neutron::Net
    depends_on: front
    properties: {name: {if: [prod, {get_attr: [front, name]}]}}
outputs:
  name: {value: {get_attr: [front, name]}, condition: prod}
";
    let (messages, there) = planned(text, &[], &[("env", json!("prod"))]);
    assert_eq!(
        (messages, there),
        (
            vec![],
            vec!["back".to_owned(), "front".to_owned(), "name".to_owned()]
        )
    );
    let (messages, there) = planned(text, &[], &[("env", json!("dev"))]);
    assert_eq!(
        messages,
        ["`front` is left out: its condition does not hold"]
    );
    assert_eq!(there, ["back"]);
}

#[test]
fn an_included_file_must_be_given() {
    let text =
        resources("  net: {type: OS::Neutron::Net, properties: {name: {get_file: name.txt}}}\n");
    let (messages, _) = planned(&text, &[], &[]);
    assert_eq!(
        messages,
        ["the file `name.txt` is included and was not given: add it beside the template"]
    );
    let (messages, there) = planned(&text, &[("name.txt", "front")], &[]);
    assert_eq!((messages, there), (vec![], vec!["net".to_owned()]));
}

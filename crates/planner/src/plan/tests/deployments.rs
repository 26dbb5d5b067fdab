//! Software deployments: their access, their steps, and the refusals.

use super::*;
use crate::cloud::Named;

const SERVER: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, user_data_format: SOFTWARE_CONFIG, networks: [{network: {get_resource: net}}]}}
";

/// A script, and deployments of it on `web`.
fn deploying(config: &str, deployments: &[(&str, &str)]) -> String {
    let lines = deployments.iter().map(|(name, more)| {
        format!(
            "  {name}: {{type: OS::Heat::SoftwareDeployment, properties: {{config: {{get_resource: config}}, server: {{get_resource: web}}{more}}}}}\n"
        )
    });
    resources(&format!(
        "{SERVER}  config: {{type: OS::Heat::SoftwareConfig, properties: {{{config}}}}}\n{}",
        lines.collect::<String>()
    ))
}

const SCRIPT: &str = "group: script, config: 'echo $word', inputs: [{name: word}]";

#[test]
fn deployments_run_over_ssh_one_after_the_other_on_a_server() {
    let plan = plan_of(&deploying(
        SCRIPT,
        &[
            (
                "second",
                ", input_values: {word: {get_attr: [first, deploy_stdout]}}",
            ),
            ("first", ""),
            ("alone", ""),
        ],
    ));
    insta::assert_snapshot!(listing(&plan.diagnostics), @r"6:3 Warning bastion-picked resources.web: software deployments run over SSH, and no server is public: they go through `web`, and it gets a floating IP; to choose another, mark a server public");
    insta::assert_snapshot!(steps(&plan.workflow.unwrap()), @r"
    net:create <- 
    config:create <- 
    router:create <- 
    web_access:create <- 
    deployment_key:create <- 
    sub:create <- net:create
    web_port:create <- net:create web_access:create sub:create
    sub_interface:create <- router:create sub:create
    web:create <- web_port:create deployment_key:create
    web_floating_ip:create <- web_port:create router:create sub_interface:create
    bastion:open <- web:create web_floating_ip:create web_access:create
    web:ssh <- web:create sub_interface:create bastion:open
    first:configure <- web:ssh config:create
    alone:configure <- web:ssh config:create first:configure
    second:configure <- web:ssh config:create first:configure alone:configure
    bastion:close (always) <- web:ssh first:configure alone:configure second:configure
    ");
}

#[test]
fn a_server_without_networks_is_reached_where_nova_puts_it() {
    let text = resources(
        "  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small}}
  config: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: 'true'}}
  it: {type: OS::Heat::SoftwareDeployment, properties: {config: {get_resource: config}, server: {get_resource: web}}}
",
    );
    let planned = |networks: Option<Vec<Named>>| {
        plan(&PlanInput {
            document: &Document::parse(text.as_str()),
            bundle: &Default::default(),
            parameters: &BTreeMap::new(),
            deployed: &Deployed::default(),
            types: &types(),
            cloud: &CloudFacts {
                networks,
                ..cloud()
            },
        })
    };
    let unknown = planned(None);
    insta::assert_snapshot!(listing(&unknown.diagnostics), @r"
    3:3 Warning server-without-network resources.web: the server `web` is attached to no network; connect it to one
    3:3 Warning bastion-picked resources.web: software deployments run over SSH, and no server is public: they go through `web`, and it is reached at the address that Nova gives it, since its networks are not in the template; to choose another, mark a server public
    ");
    let workflow = unknown.workflow.unwrap();
    let groups = &workflow.resources["web"].properties["security_groups"];
    assert_eq!(groups.resources(), ["web_access"]);

    // In the project's only network it gets a floating IP, at the port that Nova makes.
    let only = Named {
        id: "n1".to_owned(),
        name: "private".to_owned(),
    };
    let known = planned(Some(vec![only]));
    let picked = &known.diagnostics[1].message;
    assert!(picked.contains("it gets a floating IP"), "{picked}");
    let workflow = known.workflow.unwrap();
    let port = &workflow.resources["web_floating_ip"].properties["port_id"];
    assert_eq!(
        port.to_json(),
        json!({"get_attr": ["web", "addresses", "n1", 0, "port"]})
    );
    insta::assert_snapshot!(steps(&workflow), @r"
    config:create <- 
    web_access:create <- 
    deployment_key:create <- 
    web:create <- web_access:create deployment_key:create
    web_floating_ip:create <- web:create
    bastion:open <- web:create web_floating_ip:create web_access:create
    web:ssh <- web:create bastion:open
    it:configure <- web:ssh config:create
    bastion:close (always) <- web:ssh it:configure
    ");
}

#[test]
fn what_cannot_run_is_refused_where_it_is_written() {
    let problems = |config: &str, more: &str| {
        let mut found = plan_of(&deploying(config, &[("it", more)])).diagnostics;
        found.retain(|one| one.code.starts_with("software"));
        listing(&found)
    };
    insta::assert_snapshot!(problems("group: kubelet, config: x", ""), @"7:57 Error software-unsupported resources.config.properties.group: `config` is of the group `kubelet`, which only an agent in the image could run; Stackloom runs the groups `script`, `ansible`, `puppet`, `salt`, `chef`, `docker-compose`, `cfn-init`, `os-apply-config`, `Heat::Ungrouped` over SSH: write it for one of them, use an item of the catalogue, or deploy it with Heat");
    insta::assert_snapshot!(problems("config: x", ""), @"7:3 Error software-unsupported resources.config: `config` names no group, so nothing would run it; set `group`, to `script` for a program");
    insta::assert_snapshot!(problems(SCRIPT, ", actions: [CREATE, DELETE, SUSPEND], signal_transport: NO_SIGNAL"), @r"
    8:3 Info software-not-run resources.it: `it` acts on DELETE if it is removed and its server stays; if the server is deleted too, nothing runs
    8:3 Info software-not-run resources.it: `it` has NO_SIGNAL: the deployment starts it and does not wait, so its outputs stay empty and its failure is not seen
    ");
    let elsewhere =
        deploying(SCRIPT, &[("it", "")]).replace("server: {get_resource: web}", "server: 8b5e");
    insta::assert_snapshot!(listing(&plan_of(&elsewhere).diagnostics), @r"8:89 Error software-unsupported resources.it.properties.server: `it` runs over SSH, with a login that a server gets when it is created; its `server` must be `get_resource` of an OS::Nova::Server in this template");
    let structured = deploying("group: script, config: {a: 1}", &[("it", "")])
        .replace("SoftwareConfig", "StructuredConfig");
    insta::assert_snapshot!(listing(&plan_of(&structured).diagnostics), @r"
    6:3 Warning bastion-picked resources.web: software deployments run over SSH, and no server is public: they go through `web`, and it gets a floating IP; to choose another, mark a server public
    7:12 Error software-unsupported resources.config.type: `config` is a map, and the group `script` runs a text; make it an OS::Heat::SoftwareConfig
    ");
    let component = deploying(SCRIPT, &[("it", "")]).replace(
        &format!("SoftwareConfig, properties: {{{SCRIPT}}}"),
        "SoftwareComponent, properties: {configs: [{tool: kubelet, config: a}, {tool: script, config: b, actions: [CREATE]}]}",
    );
    insta::assert_snapshot!(listing(&plan_of(&component).diagnostics), @r"
    6:3 Warning bastion-picked resources.web: software deployments run over SSH, and no server is public: they go through `web`, and it gets a floating IP; to choose another, mark a server public
    7:60 Error property-conflict resources.config.properties.configs: `config` has two configurations for the action CREATE; give each action one
    7:71 Error software-unsupported resources.config.properties.configs.0.tool: `config` is of the group `kubelet`, which only an agent in the image could run; Stackloom runs the groups `script`, `ansible`, `puppet`, `salt`, `chef`, `docker-compose`, `cfn-init`, `os-apply-config`, `Heat::Ungrouped` over SSH: write it for one of them, use an item of the catalogue, or deploy it with Heat
    ");
}

#[test]
fn a_group_that_needs_a_program_in_the_image_is_a_warning() {
    let problems = |text: &str| {
        let mut found = plan_of(text).diagnostics;
        found.retain(|one| one.code.starts_with("software"));
        listing(&found)
    };
    let puppet = deploying("group: puppet, config: x", &[("it", ""), ("other", "")]);
    insta::assert_snapshot!(problems(&puppet), @"7:57 Warning software-tool-needed resources.config.properties.group: `config` runs by `puppet`, which the server's image must have, or an earlier deployment install; where it is missing, the step fails before anything runs");
    let map = deploying(
        "group: docker-compose, config: {db: {image: redis}}",
        &[("it", ", signal_transport: NO_SIGNAL")],
    );
    insta::assert_snapshot!(problems(&map.replace("SoftwareConfig", "StructuredConfig")), @"7:59 Warning software-tool-needed resources.config.properties.group: `config` runs by `docker-compose` or Docker's plugin `docker compose`, which the server's image must have, or an earlier deployment install; where it is missing, the step fails before anything runs");
    // Nothing has to read a map without a group.
    let ungrouped = deploying("config: {a: 1}", &[("it", "")]);
    assert_eq!(
        problems(&ungrouped.replace("SoftwareConfig", "StructuredConfig")),
        ""
    );
    let text = puppet
        .replace("SoftwareConfig", "StructuredConfig")
        .replace("config: x", "config: {a: 1}");
    insta::assert_snapshot!(problems(&text), @"7:12 Error software-unsupported resources.config.type: `config` is a map, and the group `puppet` runs a text; make it an OS::Heat::SoftwareConfig");
}

#[test]
fn a_changed_configuration_runs_again() {
    let before = plan_of(&deploying(SCRIPT, &[("it", "")]));
    let there = deployed(&before);
    let after = plan_with(
        &deploying(&SCRIPT.replace("echo", "printf"), &[("it", "")]),
        &[],
        &there,
    );
    insta::assert_snapshot!(steps(&after.workflow.unwrap()), @r"
    config:create <- 
    bastion:open <- 
    web:ssh <- bastion:open
    it:configure <- web:ssh config:create
    bastion:close (always) <- web:ssh it:configure
    config:delete-old <- config:create it:configure
    ");
    let again = plan_with(&deploying(SCRIPT, &[("it", "")]), &[], &there);
    assert_eq!(again.workflow.unwrap().steps, []);
}

#[test]
fn a_removed_deployment_runs_its_removal_on_the_server_that_stays() {
    let there = deployed(&plan_of(&deploying(
        SCRIPT,
        &[("it", ", actions: [CREATE, DELETE]"), ("other", "")],
    )));
    let after = plan_with(&resources(SERVER), &[], &there);
    let workflow = after.workflow.unwrap();
    insta::assert_snapshot!(steps(&workflow), @r"
    bastion:open <- 
    web:ssh <- bastion:open
    other:delete <- 
    it:delete <- web:ssh
    config:delete <- it:delete other:delete
    bastion:close (always) <- web:ssh it:delete
    ");
    // Without the server nothing runs.
    let gone = plan_undeploy(&there, &types(), &[]).workflow.unwrap();
    assert!(!gone.steps.iter().any(|step| step.id == "it:delete"));
}

#[test]
fn a_group_has_a_deployment_for_each_server() {
    let text = resources(
        "  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}}
  config: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: 'true', outputs: [{name: said}]}}
  all:
    type: OS::Heat::SoftwareDeploymentGroup
    properties: {config: {get_resource: config}, servers: {get_attr: [web, refs_map]}}
  one_by_one:
    type: OS::Heat::SoftwareDeploymentGroup
    update_policy: {batch_create: {max_batch_size: 1, pause_time: 5}}
    properties: {config: {get_resource: config}, servers: {b: {get_attr: [web, resource.0]}, a: {get_attr: [web, resource.1]}}}
outputs:
  status: {value: {get_attr: [all, deploy_status_codes]}}
  said: {value: {get_attr: [all, said, '1']}}
",
    );
    let plan = plan_of(&text);
    insta::assert_snapshot!(listing(&plan.diagnostics), @"9:7 Warning bastion-picked resources.web/0: software deployments run over SSH, and no server is public: they go through `web/0`, and it gets a floating IP; to choose another, mark a server public");
    let workflow = plan.workflow.unwrap();
    insta::assert_snapshot!(steps(&workflow), @r"
    net:create <- 
    config:create <- 
    router:create <- 
    web/0_access:create <- 
    deployment_key:create <- 
    sub:create <- net:create
    web/1_access:create <- web/0_access:create
    web/0_port:create <- net:create web/0_access:create sub:create
    sub_interface:create <- router:create sub:create
    web/1_port:create <- net:create web/1_access:create sub:create
    web/0:create <- web/0_port:create net:create deployment_key:create
    web/0_floating_ip:create <- web/0_port:create router:create sub_interface:create
    web/1:create <- web/1_port:create net:create deployment_key:create
    web:create <- web/0:create web/1:create net:create
    bastion:open <- web/0:create web/0_floating_ip:create web/0_access:create
    web/0:ssh <- web/0:create sub_interface:create bastion:open
    web/1:ssh <- web/1:create sub_interface:create bastion:open web/0:ssh
    all/0:configure <- web/0:ssh config:create web:create
    all/1:configure <- web/1:ssh config:create web:create
    one_by_one/b:configure <- web/0:ssh config:create web:create all/0:configure
    all:create <- all/0:configure all/1:configure config:create web:create
    one_by_one:pause-1 <- one_by_one/b:configure
    one_by_one/a:configure <- web/1:ssh config:create web:create one_by_one/b:configure all/1:configure one_by_one:pause-1
    one_by_one:create <- one_by_one/b:configure one_by_one/a:configure config:create web:create
    bastion:close (always) <- web/0:ssh web/1:ssh all/0:configure all/1:configure one_by_one/b:configure one_by_one/a:configure
    ");
    insta::assert_json_snapshot!(workflow.outputs["status"].value.to_json(), @r#"
    {
      "0": {
        "get_attr": [
          "all/0",
          "deploy_status_code"
        ]
      },
      "1": {
        "get_attr": [
          "all/1",
          "deploy_status_code"
        ]
      }
    }
    "#);
    insta::assert_json_snapshot!(workflow.outputs["said"].value.to_json(), @r#"
    {
      "get_attr": [
        "all/1",
        "said"
      ]
    }
    "#);
    let servers = "servers: {get_attr: [web, refs_map]}";
    let late = text.replace(servers, "servers: {get_attr: [web, refs]}");
    insta::assert_snapshot!(listing(&plan_of(&late).diagnostics), @r"
    9:7 Warning bastion-picked resources.web/0: software deployments run over SSH, and no server is public: they go through `web/0`, and it gets a floating IP; to choose another, mark a server public
    13:50 Error group-definition resources.all.properties.servers: the servers of `all` must be known when the plan is made: `servers` is a map from names to `get_resource`, or `get_attr: [GROUP, refs_map]` of a group of servers
    ");
}

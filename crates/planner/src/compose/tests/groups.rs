//! Groups and chains: members removed by name or id, batches, order, software on members.

use proptest::prelude::*;

use super::*;

#[test]
fn a_removed_member_keeps_its_number() {
    let template = |removed: &str| {
        resources(&format!(
            "  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n      count: 2\n      removal_policies: [{{resource_list: [{removed}]}}]\n      \
             resource_def: {{type: OS::Neutron::Net, properties: {{name: 'n%index%'}}}}\n"
        ))
    };
    let first = Given {
        template: &template(""),
        ..Given::default()
    }
    .made();
    assert!(first.contains_key("g/0") && first.contains_key("g/1"));
    let deployed = Deployed::of;
    let second = Given {
        template: &template("0"),
        deployed: deployed(first),
        ..Given::default()
    };
    let changes = second.plan().changes;
    let action = |name: &str| {
        changes
            .iter()
            .find(|one| one.resource == name)
            .unwrap()
            .action
    };
    assert_eq!(action("g/0"), Action::Delete);
    assert_eq!(action("g/1"), Action::None);
    assert_eq!(action("g/2"), Action::Create);
    // Removed names are kept when the template does not list them any more.
    let mut there = second.deployed.resources;
    there.remove("g/0");
    let removed = Expr::List(vec![Expr::text("0")]);
    let group = there.get_mut("g").unwrap();
    group
        .properties
        .insert("removed_rsrc_list".to_owned(), removed);
    let third = Given {
        template: &template(""),
        deployed: deployed(there),
        ..Given::default()
    };
    let changes = third.plan().changes;
    let names: Vec<_> = changes.iter().map(|one| one.resource.as_str()).collect();
    assert_eq!(names, ["g/1", "g/2", "g"]);
}

/// As in Heat: without existing members, every name is that of a new member.
#[test]
fn a_new_group_skips_initially_removed_members() {
    let template = resources(
        "  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n      count: 2\n      removal_policies: [{resource_list: [0]}]\n      \
         resource_def: {type: OS::Heat::RandomString}\n",
    );
    let made = Given {
        template: &template,
        ..Given::default()
    }
    .made();
    let members: Vec<_> = made.keys().filter(|name| name.contains('/')).collect();
    assert_eq!(members, ["g/1", "g/2"]);
    let again = Given {
        template: &template,
        deployed: Deployed::of(made),
        ..Given::default()
    };
    let changes = again.plan().changes;
    assert!(
        changes.iter().all(|change| change.action == Action::None),
        "{changes:?}"
    );
}

/// The steps of a plan with the durations of pauses.
fn steps(plan: Plan) -> String {
    let workflow = plan.workflow.unwrap_or_default();
    let steps = workflow.steps.into_iter().map(|step| {
        let pause = match step.pause_seconds {
            0 => String::new(),
            seconds => format!(" ({seconds} s)"),
        };
        format!("{}{pause} <- {}", step.id, step.after.join(" "))
    });
    steps.collect::<Vec<_>>().join("\n")
}

#[test]
fn batches_follow_each_other() {
    let given = Given {
        template: &resources(
            "  g:\n    type: OS::Heat::ResourceGroup\n    update_policy: {batch_create: {max_batch_size: 2, pause_time: 5}}\n    properties:\n      count: 5\n      \
             resource_def: {type: OS::Neutron::Net}\n",
        ),
        ..Given::default()
    };
    let made = given.made();
    assert_eq!(made["g/1"].requires, [""; 0]);
    assert_eq!(made["g/3"].requires, ["g/0", "g/1"]);
    assert_eq!(made["g/4"].requires, ["g/2", "g/3"]);
    insta::assert_snapshot!(steps(given.plan()), @r"
    g/0:create <- 
    g/1:create <- 
    g:pause-1 (5 s) <- g/0:create g/1:create
    g/2:create <- g/0:create g/1:create g:pause-1
    g/3:create <- g/0:create g/1:create g:pause-1
    g:pause-2 (5 s) <- g/2:create g/3:create
    g/4:create <- g/2:create g/3:create g:pause-2
    g:create <- g/0:create g/1:create g/2:create g/3:create g/4:create
    ");

    // An update has its own policy, here with a value from a parameter. Batches without work have no pause.
    let rolling = given
        .template
        .replace(
            "resources:\n",
            "parameters: {rest: {type: number, default: 1.5}}\nresources:\n",
        )
        .replace(
            "batch_create: {max_batch_size: 2, pause_time: 5}",
            "rolling_update: {max_batch_size: 3, pause_time: {get_param: rest}}",
        );
    let deployed = Deployed::of(given.made());
    let same = Given {
        template: &rolling,
        deployed: deployed.clone(),
        ..Given::default()
    };
    assert_eq!(steps(same.plan()), "");
    let changed = rolling.replace("Neutron::Net}", "Neutron::Net, properties: {name: n}}");
    let changed = Given {
        template: &changed,
        deployed,
        ..Given::default()
    };
    insta::assert_snapshot!(steps(changed.plan()), @r"
    g/0:update <- 
    g/1:update <- 
    g/2:update <- 
    g:pause-1 (2 s) <- g/0:update g/1:update g/2:update
    g/3:update <- g/0:update g/1:update g/2:update g:pause-1
    g/4:update <- g/0:update g/1:update g/2:update g:pause-1
    ");
}

#[test]
fn batches_follow_each_other_over_a_batch_without_changes() {
    let template = "heat_template_version: 2021-04-16
parameters:
  names: {type: comma_delimited_list, default: 'a,b,c'}
resources:
  g:
    type: OS::Heat::ResourceGroup
    update_policy: {rolling_update: {max_batch_size: 1, pause_time: 2}}
    properties:
      count: 3
      resource_def: {type: OS::Neutron::Net, properties: {name: {get_param: [names, '%index%']}}}
";
    let made = Given {
        template,
        ..Given::default()
    }
    .made();
    let given = Given {
        template: &template.replace("a,b,c", "x,b,z"),
        deployed: Deployed::of(made),
        ..Given::default()
    };
    insta::assert_snapshot!(steps(given.plan()), @r"
    g/0:update <- 
    g:pause-2 (2 s) <- g/0:update
    g/2:update <- g/0:update g:pause-2
    ");
}

#[test]
fn members_lose_a_resource_at_the_same_time() {
    let template = resources(
        "  g:\n    type: OS::Heat::ResourceGroup\n    update_policy: {batch_create: {max_batch_size: 1}}\n    \
         properties: {count: 2, resource_def: {type: member.yaml}}\n",
    );
    let one = resources("  net: {type: OS::Neutron::Net}\n");
    let two = format!("{one}  extra: {{type: OS::Neutron::Net}}\n");
    let given = |member: &str, deployed: Deployed| {
        let given = Given {
            template: &template,
            files: &[("member.yaml", member)],
            deployed,
            ..Given::default()
        };
        given.plan()
    };
    let made = given(&two, Deployed::default()).workflow.unwrap().resources;
    assert!(made["g/1/extra"].requires.contains(&"g/0".to_owned()));
    insta::assert_snapshot!(steps(given(&one, Deployed::of(made))), @r"
    g/1/extra:delete <- 
    g/0/extra:delete <- 
    ");
}

#[test]
fn software_waits_for_a_server_inside_a_nested_template() {
    let template = resources(
        "  net: {type: OS::Neutron::Net}\n  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}\n  \
         gate: {type: OS::Nova::Server, metadata: {stackloom: {public: true}}, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}}\n  \
         store: {type: site.yaml, properties: {net: {get_resource: net}}}\n  \
         nginx: {type: Stackloom::Catalog::nginx, depends_on: store, properties: {host: {get_resource: gate}, page_text: one}}\n",
    );
    let site = "heat_template_version: 2021-04-16\nparameters: {net: {type: string}}\nresources:\n  \
                server: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_param: net}}]}}\n";
    let made = Given {
        template: &template,
        files: &[("site.yaml", site)],
        ..Given::default()
    }
    .made();
    let other = site.replace("image: debian-12", "image: debian-12, metadata: {a: b}");
    let given = Given {
        template: &template.replace("page_text: one", "page_text: two"),
        files: &[("site.yaml", other.as_str())],
        deployed: Deployed::of(made),
        ..Given::default()
    };
    insta::assert_snapshot!(steps(given.plan()), @r"
    store/server:update <- 
    bastion:open <- 
    gate:ssh <- bastion:open
    nginx:configure <- gate:ssh store/server:update
    bastion:close <- gate:ssh nginx:configure
    ");
}

#[test]
fn members_of_a_chain_depend_on_each_other() {
    let chain = |concurrent: bool| {
        resources(&format!(
            "  c:\n    type: OS::Heat::ResourceChain\n    properties:\n      concurrent: {concurrent}\n      resources: [OS::Neutron::Net, OS::Neutron::Router]\n      \
             resource_properties: {{name: same}}\noutputs:\n  all: {{value: {{get_attr: [c, refs]}}}}\n"
        ))
    };
    let made = Given {
        template: &chain(false),
        ..Given::default()
    }
    .made();
    assert_eq!(made["c/1"].resource_type, "OS::Neutron::Router");
    assert_eq!(property(&made, "c/1", "name"), "same");
    assert_eq!(made["c/1"].requires, ["c/0"]);
    let made = Given {
        template: &chain(true),
        ..Given::default()
    }
    .made();
    assert_eq!(made["c/1"].requires, [""; 0]);
}

#[test]
fn members_of_a_group_can_be_public_and_carry_software() {
    let made = Given {
        template: &resources(
            "  net: {type: OS::Neutron::Net}\n  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}\n  \
             web: {type: site.yaml, properties: {net: {get_resource: net}}}\n  \
             nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_attr: [web, server]}}}\n",
        ),
        files: &[(
            "site.yaml",
            "heat_template_version: 2021-04-16\nparameters: {net: {type: string}}\nresources:\n  server:\n    type: OS::Nova::Server\n    \
             metadata: {stackloom: {public: true}}\n    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_param: net}}]}\n\
             outputs: {server: {value: {get_resource: server}}}\n",
        )],
        ..Given::default()
    }
    .made();
    assert!(
        made["web/server"].marks.bastion,
        "it is the only public server"
    );
    assert_eq!(
        property(&made, "nginx", "host"),
        json!({"get_resource": "web/server"})
    );
    assert!(
        made.values()
            .any(|spec| spec.resource_type == "OS::Neutron::FloatingIP")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any nesting, names are unique, requirements exist, and deploying the same template again changes nothing.
    #[test]
    fn a_flattened_design_has_every_resource(counts in proptest::collection::vec(0_u8..4, 1..4), nested in any::<bool>(), ask in any::<bool>()) {
        let mut definition = if nested { "{type: leaf.yaml, properties: {label: 'l%index%'}}".to_owned() } else { "{type: OS::Neutron::Net, properties: {name: 'n%index%'}}".to_owned() };
        for count in &counts {
            definition = format!("{{type: OS::Heat::ResourceGroup, properties: {{count: {count}, resource_def: {definition}}}}}");
        }
        let outputs = if ask { "outputs: {r: {value: {get_attr: [g, refs]}}}\n" } else { "" };
        let text = resources(&format!("  g: {definition}\n  after: {{type: OS::Neutron::Net, depends_on: g}}\n{outputs}"));
        let leaf = "heat_template_version: 2021-04-16\nparameters: {label: {type: string}}\nresources:\n  net: {type: OS::Neutron::Net, properties: {name: {get_param: label}}}\n\
                    outputs: {OS::stack_id: {value: {get_resource: net}}}\n";
        let files = [("leaf.yaml", leaf)];
        let given = Given { template: &text, files: &files, ..Given::default() };
        let made = given.made();
        let outermost = usize::from(*counts.last().unwrap());
        prop_assert_eq!(made.keys().filter(|name| name.starts_with("g/") && !name[2..].contains('/')).count(), outermost);
        for (name, spec) in &made {
            prop_assert!(spec.requires.iter().all(|required| made.contains_key(required)), "{} requires {:?}", name, spec.requires);
            prop_assert!(spec.properties.values().flat_map(Expr::resources).all(|target| made.contains_key(target)));
        }
        prop_assert!(made["after"].requires.contains(&"g".to_owned()));
        let again = Given { deployed: Deployed::of(made), ..given };
        prop_assert!(again.plan().changes.iter().all(|one| one.action == Action::None));
    }
}

#[test]
fn a_member_is_removed_by_its_name_its_number_or_its_id() {
    let text = |policies: &str, count: u32| {
        resources(&format!(
            "  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n      count: {count}\n      {policies}\n      \
             resource_def: {{type: OS::Neutron::Net}}\n"
        ))
    };
    let first = text("", 3);
    let made = Given {
        template: &first,
        ..Given::default()
    }
    .made();
    let actual = (0..3).map(|number| {
        let actual = crate::plan::Actual {
            exists: true,
            in_order: true,
            reference: Some(json!(format!("net-{number}"))),
            attributes: serde_json::Map::new(),
            made_from: BTreeMap::new(),
        };
        (format!("g/{number}"), actual)
    });
    let deployed = Deployed {
        actual: actual.collect(),
        ..Deployed::of(made)
    };
    let members = |policies: &str, count: u32| {
        let template = text(policies, count);
        let given = Given {
            template: &template,
            deployed: deployed.clone(),
            ..Given::default()
        };
        let plan = given.plan();
        let workflow = plan.workflow.expect("a plan");
        let remaining = plan
            .changes
            .iter()
            .filter(|one| one.action != Action::Delete);
        let remaining: Vec<String> = remaining
            .filter_map(|one| one.resource.strip_prefix("g/").map(str::to_owned))
            .collect();
        (
            remaining,
            property(&workflow.resources, "g", "removed_rsrc_list"),
        )
    };
    let expected = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        members("removal_policies: [{resource_list: ['1']}]", 2),
        (expected(&["0", "2"]), json!(["1"]))
    );
    assert_eq!(
        members("removal_policies: [{resource_list: [0]}]", 2),
        (expected(&["1", "2"]), json!(["0"]))
    );
    assert_eq!(
        members("removal_policies: [{resource_list: [net-2]}]", 2),
        (expected(&["0", "1"]), json!(["2"]))
    );
    assert_eq!(
        members(
            "removal_policies: [{resource_list: [net-0]}, {resource_list: ['2', nobody]}]",
            2
        ),
        (expected(&["1", "3"]), json!(["0", "2"]))
    );
    assert_eq!(members("", 0), (expected(&[]), Value::Null));
}

#[test]
fn index_var_replaces_the_member_number() {
    let template = resources(
        "  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n      count: 2\n      index_var: NUMBER\n      \
         resource_def:\n        type: OS::Heat::ResourceGroup\n        properties: {count: 1, resource_def: {type: OS::Neutron::Net, properties: {name: NUMBER-%index%}}}\n",
    );
    let made = Given {
        template: &template,
        ..Given::default()
    }
    .made();
    assert_eq!(property(&made, "g/1/0", "name"), json!("1-0"));
}

#[test]
fn problems_of_a_member_definition_have_its_path() {
    let wrong = |text: &str| {
        Given {
            template: &resources(text),
            ..Given::default()
        }
        .errors()
    };
    insta::assert_snapshot!(wrong("
  g:
    type: OS::Heat::ResourceGroup
    properties:
      resource_def:
        type: OS::Heat::ResourceGroup
        properties:
          resource_def:
            type: OS::Neutron::Net
            properties: {nmae: x}
"), @"12:26 Error unknown-property resources.g.properties.resource_def.properties.resource_def.properties.nmae: `OS::Neutron::Net` has no property `nmae`; did you mean `name`?");
    insta::assert_snapshot!(wrong("
  g:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 3
      resource:
        type: OS::Neutron::Subnet
        properties: {network: n, cidr: ten}
        depends: x
"), @"11:22 Error unknown-network resources.g.properties.resource.properties.network: the cloud has no network `n`; there are `public`");
    insta::assert_snapshot!(wrong("
  c:
    type: OS::Heat::ResourceChain
    properties:
      resources: [OS::Neutron::Net, OS::Neutron::Router]
      concurrent: 'yes'
      resource_properties: {port_security_enabled: true}
"), @r"
    8:7 Error property-type resources.c.properties.concurrent: `concurrent`: it takes `true` or `false`, not `yes` in quotes
    9:7 Error unknown-property resources.c.properties.resource_properties.properties.port_security_enabled: `OS::Neutron::Router` has no property `port_security_enabled`
    ");
}

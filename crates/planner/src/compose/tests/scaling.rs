//! Scaling groups: their first size, requested sizes, attributes, batches, and nested members.

use proptest::prelude::*;

use super::*;
use crate::{
    deployed::GroupRequest,
    plan::Actual,
    scaling::{self, AdjustmentType},
};

/// A group of networks with these further properties, and a policy for it.
fn scaling_group(properties: &str) -> String {
    resources(&format!(
        "  g:\n    type: OS::Heat::AutoScalingGroup\n    properties:\n      min_size: 1\n      max_size: 5\n{properties}      \
         resource: {{type: OS::Neutron::Net}}\n  \
         up:\n    type: OS::Heat::ScalingPolicy\n    properties: {{auto_scaling_group_id: {{get_resource: g}}, adjustment_type: change_in_capacity, \
         scaling_adjustment: 2, cooldown: 60}}\n"
    ))
}

impl Given<'_> {
    /// With a request for the size of the group `g`.
    fn with_size(mut self, size: u64) -> Self {
        let request = ("g".to_owned(), GroupRequest::Size(size));
        self.deployed.groups = BTreeMap::from([request]);
        self
    }
}

fn members(resources: &BTreeMap<String, ResourceSpec>) -> Vec<&str> {
    let members = resources.keys().filter_map(|name| name.strip_prefix("g/"));
    members.collect()
}

/// Composed resources of a deployed group, with another template or a request.
fn replanned(
    template: &str,
    deployed: &BTreeMap<String, ResourceSpec>,
    request: Option<GroupRequest>,
) -> BTreeMap<String, ResourceSpec> {
    let groups = request.map(|request| ("g".to_owned(), request));
    let given = Given {
        template,
        deployed: Deployed {
            groups: groups.into_iter().collect(),
            ..Deployed::of(deployed.clone())
        },
        ..Given::default()
    };
    let mut made = given.made();
    let plan = given.plan();
    for gone in plan
        .changes
        .iter()
        .filter(|one| one.action == Action::Delete)
    {
        made.remove(&gone.resource);
    }
    made
}

#[test]
fn a_new_group_has_its_desired_capacity_or_its_smallest_size() {
    let made = |properties: &str| {
        Given {
            template: &scaling_group(properties),
            ..Given::default()
        }
        .made()
    };
    assert_eq!(members(&made("")), ["0"]);
    let three = made("      desired_capacity: '3'\n");
    assert_eq!(members(&three), ["0", "1", "2"]);
    let groups = scaling::groups(&three);
    assert_eq!(
        (groups[0].size, groups[0].min_size, groups[0].max_size),
        (3, 1, 5)
    );
    let up = &groups[0].policies[0];
    assert_eq!((up.name.as_str(), up.cooldown_seconds), ("up", Some(60)));
    assert_eq!(up.adjustment.kind, AdjustmentType::Change);
    assert_eq!(up.adjustment.new_size(3, 1, 5), 5);
}

#[test]
fn a_group_grows_by_new_members_and_loses_its_oldest() {
    let template = scaling_group("      desired_capacity: 2\n");
    let first = Given {
        template: &template,
        ..Given::default()
    }
    .made();
    let five = replanned(&template, &first, Some(GroupRequest::Size(5)));
    assert_eq!(members(&five), ["0", "1", "2", "3", "4"]);
    let one = replanned(&template, &five, Some(GroupRequest::Size(1)));
    assert_eq!(members(&one), ["4"]);
    let two = replanned(&template, &one, Some(GroupRequest::Size(2)));
    assert_eq!(members(&two), ["4", "5"]);
    // A roll-back takes back the members of that time.
    let names = ["0".to_owned(), "1".to_owned()];
    let back = replanned(&template, &five, Some(GroupRequest::Members(names.into())));
    assert_eq!(members(&back), ["0", "1"]);
}

#[test]
fn a_failed_member_goes_first() {
    let template = scaling_group("      desired_capacity: 3\n");
    let made = Given {
        template: &template,
        ..Given::default()
    }
    .made();
    let failed = Actual {
        exists: true,
        in_order: false,
        reference: None,
        attributes: Default::default(),
        made_from: BTreeMap::new(),
    };
    let given = Given {
        template: &template,
        deployed: Deployed {
            actual: BTreeMap::from([("g/1".to_owned(), failed)]),
            ..Deployed::of(made)
        },
        ..Given::default()
    }
    .with_size(2);
    let changes = given.plan().changes;
    let gone = changes.iter().filter(|one| one.action == Action::Delete);
    let gone: Vec<&str> = gone.map(|one| one.resource.as_str()).collect();
    assert_eq!(gone, ["g/1"]);
}

#[test]
fn an_update_keeps_the_size_unless_the_template_asks_for_another() {
    let two = scaling_group("      desired_capacity: 2\n");
    let first = Given {
        template: &two,
        ..Given::default()
    }
    .made();
    let four = replanned(&two, &first, Some(GroupRequest::Size(4)));
    assert_eq!(members(&replanned(&two, &four, None)).len(), 4);
    let other = two.replace("Neutron::Net}", "Neutron::Net, properties: {name: n}}");
    assert_eq!(members(&replanned(&other, &four, None)).len(), 4);
    let without = scaling_group("");
    assert_eq!(members(&replanned(&without, &four, None)).len(), 4);
    let three = scaling_group("      desired_capacity: 3\n");
    assert_eq!(members(&replanned(&three, &four, None)).len(), 3);
    let narrower = two.replace("max_size: 5", "max_size: 3");
    assert_eq!(members(&replanned(&narrower, &four, None)).len(), 3);
}

#[test]
fn a_size_outside_the_limits_is_refused() {
    let template = scaling_group("");
    let made = Given {
        template: &template,
        ..Given::default()
    }
    .made();
    let given = Given {
        template: &template,
        deployed: Deployed::of(made),
        ..Given::default()
    }
    .with_size(6);
    insta::assert_snapshot!(given.errors(), @"3:3 Error group-size resources.g: `g` cannot have the size 6: its template allows 1 to 5; ask for a size between, or change `min_size` or `max_size`");
}

#[test]
fn the_size_is_known_when_the_plan_is_made() {
    let template = scaling_group("").replace("min_size: 1", "min_size: {get_attr: [n, mtu]}");
    let template = format!("{template}  n: {{type: OS::Neutron::Net}}\n");
    let errors = Given {
        template: &template,
        ..Given::default()
    }
    .errors();
    assert!(
        errors.contains("group-count") && errors.contains("`min_size`"),
        "{errors}"
    );
}

#[test]
fn attributes_are_those_of_heat() {
    let template = scaling_group("      desired_capacity: 2\n")
        + "outputs:\n  size: {value: {get_attr: [g, current_size]}}\n  refs: {value: {get_attr: [g, refs]}}\n  \
           map: {value: {get_attr: [g, refs_map]}}\n  one: {value: {get_attr: [g, refs, 1]}}\n  \
           outputs: {value: {get_attr: [g, outputs, name]}}\n  list: {value: {get_attr: [g, outputs_list, name]}}\n  \
           oldest: {value: {get_attr: [g, resource.0]}}\n  name: {value: {get_attr: [g, resource.1.name]}}\n  \
           none: {value: {get_attr: [g, resource.7.name]}}\n";
    let first = Given {
        template: &template,
        ..Given::default()
    }
    .made();
    let four = replanned(&template, &first, Some(GroupRequest::Size(4)));
    // Members 2 and 3 remain.
    let given = Given {
        template: &template,
        deployed: Deployed::of(four),
        ..Given::default()
    }
    .with_size(2);
    let outputs = given.plan().workflow.unwrap().outputs;
    let outputs = outputs
        .into_iter()
        .map(|(name, output)| (name, output.value.to_json()));
    let outputs: Value = outputs.collect::<serde_json::Map<_, _>>().into();
    let member = |name: &str| json!({"get_resource": name});
    let named = |name: &str| json!({"get_attr": [name, "name"]});
    assert_eq!(
        outputs,
        json!({
            "size": 2,
            "refs": [member("g/2"), member("g/3")],
            "map": {"2": member("g/2"), "3": member("g/3")},
            "one": member("g/3"),
            "outputs": {"2": named("g/2"), "3": named("g/3")},
            "list": [named("g/2"), named("g/3")],
            "oldest": member("g/2"),
            "name": named("g/3"),
            "none": null,
        })
    );
}

#[test]
fn members_of_a_new_definition_are_changed_in_batches() {
    let template = scaling_group(
        "      desired_capacity: 3\n      rolling_updates: {max_batch_size: 2, pause_time: 5}\n",
    );
    let made = Given {
        template: &template,
        ..Given::default()
    }
    .made();
    assert_eq!(made["g/2"].requires, [""; 0], "members are created at once");
    let changed = template.replace("Neutron::Net}", "Neutron::Net, properties: {name: n}}");
    let given = Given {
        template: &changed,
        deployed: Deployed::of(made),
        ..Given::default()
    }
    .with_size(4);
    let workflow = given.plan().workflow.unwrap_or_default();
    let steps = workflow
        .steps
        .into_iter()
        .map(|step| format!("{} <- {}", step.id, step.after.join(" ")));
    insta::assert_snapshot!(steps.collect::<Vec<_>>().join("\n"), @r"
    g/0:update <- 
    g/1:update <- 
    g/3:create <- 
    g:pause-1 <- g/0:update g/1:update
    g/2:update <- g/0:update g/1:update g:pause-1
    g:update <- g/0:update g/1:update g/2:update g/3:create
    ");
}

#[test]
fn nested_members_of_a_new_definition_are_changed_in_batches() {
    let template = resources(
        "  g:\n    type: OS::Heat::AutoScalingGroup\n    properties:\n      min_size: 3\n      max_size: 3\n      \
         rolling_updates: {max_batch_size: 2, min_in_service: 1}\n      resource: {type: member.yaml, properties: {name: one}}\n",
    );
    let files = &[(
        "member.yaml",
        "heat_template_version: 2021-04-16\nparameters: {name: {type: string}}\nresources:\n  net: {type: OS::Neutron::Net}\n  \
         subnet: {type: OS::Neutron::Subnet, properties: {name: {get_param: name}, network: {get_resource: net}, cidr: 10.0.0.0/24}}\n  \
         router: {type: OS::Neutron::Router}\n  \
         leg: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}}\n",
    )];
    let made = Given {
        template: &template,
        files,
        ..Given::default()
    }
    .made();
    let changed = template.replace("name: one", "name: two");
    let given = Given {
        template: &changed,
        files,
        deployed: Deployed::of(made),
        ..Given::default()
    };
    let workflow = given.plan().workflow.unwrap_or_default();
    let steps = workflow
        .steps
        .into_iter()
        .map(|step| format!("{} <- {}", step.id, step.after.join(" ")));
    insta::assert_snapshot!(steps.collect::<Vec<_>>().join("\n"), @r"
    g/0/subnet:update <- 
    g/1/subnet:update <- 
    g/2/subnet:update <- g/0/subnet:update g/1/subnet:update
    ");
}

#[test]
fn a_member_can_be_a_nested_template() {
    let template = resources(
        "  net: {type: OS::Neutron::Net}\n  g:\n    type: OS::Heat::AutoScalingGroup\n    properties:\n      min_size: 2\n      max_size: 3\n      \
         resource: {type: member.yaml, deletion_policy: Retain, properties: {net: {get_resource: net}}}\n\
         outputs: {all: {value: {get_attr: [g, outputs_list, subnet]}}}\n",
    );
    let given = Given {
        template: &template,
        files: &[(
            "member.yaml",
            "heat_template_version: 2021-04-16\nparameters: {net: {type: string}}\nresources:\n  subnet:\n    type: OS::Neutron::Subnet\n    \
             properties: {network: {get_param: net}, cidr: 10.0.0.0/24}\noutputs: {subnet: {value: {get_resource: subnet}}}\n",
        )],
        ..Given::default()
    };
    let plan = given.plan();
    let workflow = plan.workflow.unwrap();
    assert_eq!(
        property(&workflow.resources, "g/1/subnet", "network"),
        json!({"get_resource": "net"})
    );
    assert_eq!(
        workflow.outputs["all"].value.to_json(),
        json!([{"get_resource": "g/0/subnet"}, {"get_resource": "g/1/subnet"}])
    );
}

/// A proxy whose backends are the software of a group's members follows the group, in the same run.
#[test]
fn software_on_members_comes_with_them_and_its_consumers_follow() {
    let template = resources(
        "  net: {type: OS::Neutron::Net}\n  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}\n  \
         gate:\n    type: OS::Nova::Server\n    metadata: {stackloom: {public: true}}\n    \
         properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}\n  \
         g:\n    type: OS::Heat::AutoScalingGroup\n    properties:\n      min_size: 1\n      max_size: 5\n      \
         resource: {type: web.yaml, properties: {net: {get_resource: net}}}\n  \
         proxy:\n    type: Stackloom::Catalog::haproxy\n    \
         properties: {host: {get_resource: gate}, backends: {get_attr: [g, outputs_list, site]}}\n",
    );
    let web = "heat_template_version: 2021-04-16\nparameters: {net: {type: string}}\nresources:\n  server:\n    type: OS::Nova::Server\n    \
               properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_param: net}}]}\n  \
               nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: server}}}\n\
               outputs: {site: {value: {get_resource: nginx}}}\n";
    let files = [("web.yaml", web)];
    let given = |deployed| Given {
        template: &template,
        files: &files,
        deployed,
        ..Given::default()
    };
    let made = given(Deployed::default()).made();
    let site = |member: &str| json!({"get_resource": format!("{member}/nginx")});
    assert_eq!(property(&made, "proxy", "backends"), json!([site("g/0")]));
    let plan = given(Deployed::of(made)).with_size(2).plan();
    let workflow = plan.workflow.unwrap();
    assert_eq!(
        property(&workflow.resources, "proxy", "backends"),
        json!([site("g/0"), site("g/1")])
    );
    let after = |id: &str| {
        let step = workflow.steps.iter().find(|step| step.id == id);
        step.map(|step| step.after.clone()).unwrap_or_default()
    };
    assert!(after("g/1/nginx:configure").contains(&"g/1/server:ssh".to_owned()));
    assert!(after("proxy:configure").contains(&"g/1/nginx:configure".to_owned()));

    // On the way down, the proxy forgets a member before it goes.
    let plan = given(Deployed::of(workflow.resources)).with_size(1).plan();
    let workflow = plan.workflow.unwrap();
    let mut before = vec!["g/0/server:delete"];
    let mut next = 0;
    while let Some(id) = before.get(next) {
        let step = workflow.steps.iter().find(|step| step.id == *id).unwrap();
        before.extend(step.after.iter().map(String::as_str));
        next += 1;
    }
    assert!(before.contains(&"proxy:configure"), "{before:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// After any sequence of requests the group has the size of the last one, its members are the newest, and the same
    /// template again changes nothing.
    #[test]
    fn any_sequence_of_sizes_is_reached(sizes in proptest::collection::vec(1_u64..=5, 1..6)) {
        let template = scaling_group("");
        let mut made = Given { template: &template, ..Given::default() }.made();
        for size in sizes {
            let before: Vec<u64> = members(&made).iter().filter_map(|name| name.parse().ok()).collect();
            made = replanned(&template, &made, Some(GroupRequest::Size(size)));
            let after: Vec<u64> = members(&made).iter().filter_map(|name| name.parse().ok()).collect();
            prop_assert_eq!(after.len() as u64, size);
            let newest_before = before.iter().max().unwrap();
            prop_assert!(after.contains(newest_before));
            let again = Given { template: &template, deployed: Deployed::of(made.clone()), ..Given::default() };
            prop_assert!(again.plan().changes.iter().all(|one| one.action == Action::None));
        }
    }
}

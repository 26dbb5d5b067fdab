//! Lists of connected components, and the secrets of their connections.

use super::*;
use crate::plan::{Action, Deployed, Plan};
use crate::testing::{plan_of, plan_with};

/// A database on a server, and these components on another one.
fn design(components: &str) -> String {
    let servers = ["a", "b"].map(|name| {
        format!(
            "  {name}:\n    type: OS::Nova::Server\n    metadata: {{stackloom: {{public: true}}}}\n    properties: {{image: debian-12, flavor: m1.small, networks: [{{network: {{get_resource: net}}}}]}}\n"
        )
    });
    let servers = servers.concat();
    let data =
        "  data: {type: 'Stackloom::Catalog::base', properties: {host: {get_resource: a}}}\n";
    resources(&format!("{NET}{servers}{data}{components}"))
}

fn blog(name: &str, requirement: &str) -> String {
    format!(
        "  {name}: {{type: 'Stackloom::Catalog::blog', properties: {{host: {{get_resource: b}}, {requirement}: [{{get_resource: data}}]}}}}\n"
    )
}

#[test]
fn each_consumer_gets_a_secret_that_no_other_component_names() {
    let all = [
        blog("one", "database"),
        blog("two", "database"),
        blog("guest", "other"),
    ];
    let shown = check(&design(&all.concat()));
    for line in [
        "~ data: base clients=[{name: one, secret: {get_attr: [one_at_data, value]}}, {name: two, secret: {get_attr: [two_at_data, value]}}] listen_port=3306",
        "+ one_at_data: RandomString length=32",
        "+ two_at_data: RandomString length=32",
    ] {
        assert!(shown.lines().any(|one| one == line), "{line}\n{shown}");
    }
    assert!(!shown.contains("guest_at_data"), "{shown}");

    let plan = plan_of(&design(&all.concat()));
    let workflow = plan.workflow.unwrap();
    let specs = workflow.resources.iter();
    let names_it = specs.filter(|(_, spec)| {
        let mut values = spec.properties.values();
        values.any(|value| value.resources().contains(&"one_at_data"))
    });
    let names_it: Vec<&str> = names_it.map(|(name, _)| name.as_str()).collect();
    assert_eq!(names_it, ["data"]);
    let data = &workflow.resources["data"];
    let secret = data.secret_of("one", "clients").unwrap();
    assert_eq!(secret.resources(), ["one_at_data"]);
    assert_eq!(data.secret_of("guest", "clients"), None);
}

#[test]
fn a_database_without_consumers_is_left_as_it_is() {
    let shown = check(&design(&blog("guest", "other")));
    assert!(shown.contains("~ data: base listen_port=3306"), "{shown}");
}

/// Deployed resources after a run of a plan.
fn done(plan: &Plan) -> Deployed {
    Deployed::of(plan.workflow.as_ref().unwrap().resources.clone())
}

#[test]
fn a_consumer_that_comes_or_goes_runs_the_role_of_its_provider() {
    let action = |plan: &Plan, name: &str| {
        let mut changes = plan.changes.iter();
        let change = changes.find(|change| change.resource == name);
        change.map(|change| change.action)
    };
    let alone = plan_of(&design(&blog("one", "database")));
    let both = design(&[blog("one", "database"), blog("two", "database")].concat());
    let comes = plan_with(&both, &[], &done(&alone));
    assert_eq!(action(&comes, "data"), Some(Action::Update));
    assert_eq!(action(&comes, "one_at_data"), Some(Action::None));
    assert_eq!(action(&comes, "two_at_data"), Some(Action::Create));
    let steps = &comes.workflow.as_ref().unwrap().steps;
    let step = |id: &str| steps.iter().find(|step| step.id == id).unwrap();
    assert!(
        step("data:configure")
            .after
            .contains(&"two_at_data:create".to_owned())
    );
    assert!(
        step("two:configure")
            .after
            .contains(&"data:configure".to_owned())
    );

    let goes = plan_with(&design(&blog("one", "database")), &[], &done(&comes));
    assert_eq!(action(&goes, "data"), Some(Action::Update));
    assert_eq!(action(&goes, "two_at_data"), Some(Action::Delete));
}

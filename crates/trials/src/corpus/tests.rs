use super::*;

const NETWORK: &str = "heat_template_version: 2013-05-23\n\
    parameters:\n  range: {type: string}\n\
    resources:\n\
    \x20 net: {type: OS::Neutron::Net}\n\
    \x20 subnet:\n    type: OS::Neutron::Subnet\n    properties: {network: {get_resource: net}, cidr: {get_param: range}}\n";

fn report(golden: Option<&str>) -> Report {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("hot")).unwrap();
    fs::write(dir.path().join("hot/network.yaml"), NETWORK).unwrap();
    fs::write(
        dir.path().join("hot/broken.yaml"),
        "heat_template_version: 2013-05-23\nresources: [1]\n",
    )
    .unwrap();
    fs::write(dir.path().join("hot/env.yaml"), "parameters: {range: x}\n").unwrap();
    if let Some(golden) = golden {
        fs::write(dir.path().join("golden.csv"), golden).unwrap();
    }
    run(dir.path(), None).unwrap()
}

fn last_line(report: &Report) -> String {
    report.to_string().lines().last().unwrap().to_owned()
}

#[test]
fn files_that_are_not_templates_are_not_counted() {
    let report = report(None);
    assert_eq!(
        last_line(&report),
        "templates 2 parsed 1 valid 1 planned 1 deployable 1 edges 0/0 extra 0"
    );
    assert!(report.differs(), "one does not plan");
}

#[test]
fn a_golden_table_tells_missing_and_extra_edges() {
    let table = "path,heat_validate,graph_nodes,edges_before>after\n\
                 hot/network.yaml,ok,2,subnet>net\n\
                 hot/broken.yaml,Resources must be a map,,\n\
                 hot/gone.yaml,ok,0,\n";
    let report = report(Some(table));
    assert_eq!(
        last_line(&report),
        "templates 2 parsed 1 valid 1 planned 1 deployable 1 edges 0/1 extra 1"
    );
    let table = report.to_string();
    assert!(
        table.contains("missing subnet>net; extra net>subnet"),
        "{table}"
    );
    assert!(
        table.contains("hot/gone.yaml: in the golden table"),
        "{table}"
    );
    assert!(table.contains("1 differ from the golden table"), "{table}");
    assert!(table.contains("\n0 break a law: "), "{table}");
}

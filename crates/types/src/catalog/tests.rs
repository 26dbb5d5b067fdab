use super::*;
use crate::{PropertyKind, ReferenceRole, ResourceType};
use hot::diagnostic::listing;

const MANIFEST: &str = "\
name: nginx
title: nginx
version: 1.0.0
summary: A web server.
category: web
listens:
  - {port: listen_port, protocol: tcp}
provides:
  - {name: http, port: listen_port}
requires:
  - {name: backends, capability: http, min: 0, max: 8, summary: Servers behind it.}
outputs:
  url: \"http://{address}:{listen_port}/\"
tested: [debian-12]
";

const SPECS: &str = "\
argument_specs:
  main:
    short_description: nginx
    options:
      listen_port: {type: int, default: 80, description: The port.}
      mode: {type: str, choices: [static, proxy], default: static, description: [One., Two.]}
      password: {type: str, required: true, no_log: true}
      backends:
        type: list
        elements: dict
        options:
          name: {type: str, required: true}
      tuning: {type: dict, options: {workers: {type: int}}}
      names: {type: list, elements: str}
      anything: {type: raw}
";

#[test]
fn an_item_becomes_a_type() {
    let described = CatalogItem::parse(MANIFEST, SPECS).unwrap().resource_type();
    assert_eq!(described.name, "Stackloom::Catalog::nginx");
    let names: Vec<&str> = described
        .properties
        .iter()
        .map(|property| property.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "host",
            "backends",
            "listen_port",
            "mode",
            "password",
            "tuning",
            "names",
            "anything"
        ]
    );
    let of = |name: &str| described.property(name).unwrap();
    assert_eq!(
        of("host").reference.as_ref().unwrap().role,
        ReferenceRole::Nests
    );
    assert_eq!(
        of("backends").reference.as_ref().unwrap().to,
        ["component:http"]
    );
    assert!(of("password").secret && of("password").required && !of("backends").required);
    assert_eq!(of("mode").summary, "One. Two.");
    assert!(matches!(&of("tuning").kind, PropertyKind::Map { of } if of[0].name == "workers"));
    assert_eq!(described.attributes[0].name, "url");
    let json = serde_json::to_string(&described).unwrap();
    assert_eq!(
        serde_json::from_str::<ResourceType>(&json).unwrap(),
        described
    );
}

#[test]
fn an_output_may_come_from_the_role() {
    let manifest = MANIFEST.replace(
        "tested:",
        "  pages: \"{stats.pages} on {address}\"\n  none: \"{stats.}\"\ntested:",
    );
    let problems = CatalogItem::parse(&manifest, SPECS).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].path, "item.yml.outputs.none");
    let manifest = manifest.replace("  none: \"{stats.}\"\n", "");
    let described = CatalogItem::parse(&manifest, SPECS)
        .unwrap()
        .resource_type();
    assert_eq!(
        described.attributes[1].summary,
        "A value that the role sets."
    );
}

#[test]
fn names_and_versions_can_be_folders_and_lists_of_lists_end() {
    let manifest = |name: &str, version: &str| {
        MANIFEST
            .replace("name: nginx\n", &format!("name: {name}\n"))
            .replace("1.0.0", version)
    };
    for bad in [
        "1.0.0-../../x",
        "1.0.0-a/b",
        "1.0",
        "1.0.99999999999999999999",
    ] {
        let problems = CatalogItem::parse(&manifest("nginx", bad), SPECS).unwrap_err();
        assert_eq!(problems[0].path, "item.yml.version", "{bad}");
    }
    let long = "x".repeat(64);
    assert!(CatalogItem::parse(&manifest(&long, "1.0.0"), SPECS).is_err());
    let specs = SPECS.replace("elements: str", "elements: list");
    let item = CatalogItem::parse(&manifest("nginx", "2.0.0-rc.1+b"), &specs).unwrap();
    assert_eq!(item.version, "2.0.0-rc.1+b");
}

#[test]
fn newer_versions_come_later() {
    let ordered = [
        "0.9.0",
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-rc.1",
        "1.0.0",
        "1.2.0",
        "1.10.0",
    ];
    for (at, one) in ordered.iter().enumerate() {
        for (other_at, other) in ordered.iter().enumerate() {
            assert_eq!(precedence(one, other), at.cmp(&other_at), "{one} {other}");
        }
    }
    assert_eq!(precedence("1.0.0+a", "1.0.0+b"), std::cmp::Ordering::Equal);
}

#[test]
fn problems_of_a_manifest_have_their_line() {
    let manifest = "name: Nginx\ntitel: x\nversion: one\nsummary: s\ncategory: web\nlistens: [{port: prot, protocol: sctp}]\noutputs: {url: 'http://{adress}/'}\n";
    let specs = "argument_specs:\n  main:\n    options:\n      port: {type: integer}\n      host: {type: str, required: maybe}\n      x: {typ: str}\n";
    insta::assert_snapshot!(listing(&CatalogItem::parse(manifest, specs).unwrap_err()), @r"
    2:1 Error item-invalid item.yml: item.yml: `titel` is no key here; did you mean `title`?; there are `name`, `title`, `version`, `summary`, `category`, `listens`, `provides`, `requires`, `outputs`, `commands`, `health` and `tested`
    1:1 Error item-invalid item.yml.title: item.yml: `title` is missing
    1:7 Error item-invalid item.yml.name: item.yml: `Nginx` cannot name an item: use at most 63 lower case letters, digits, `_` and `-`
    3:10 Error item-invalid item.yml.version: item.yml: `one` is no version such as `1.0.0`
    6:11 Error item-invalid item.yml.listens.0: item.yml: `sctp` is not one of `tcp` and `udp`
    6:1 Error item-invalid item.yml.listens: item.yml: `prot` is no option of the role; `port` names the option that holds the number
    7:1 Error item-invalid item.yml.outputs.url: item.yml: `{adress}` is neither an address, an option of the role, nor a value that the role sets (`{stats.<name>}`); did you mean `address`?
    4:20 Error item-invalid argument_specs.yml.main.port: argument_specs.yml: `integer` is no type of option; there are `str`, `int`, `bool`, `list`, `dict`, `float`, `path` and `raw`
    5:35 Error item-invalid argument_specs.yml.main.host: argument_specs.yml: `required` takes `true` or `false`
    6:11 Error item-invalid argument_specs.yml.main.x: argument_specs.yml: `typ` is no key here; did you mean `type`?; there are `type`, `required`, `default`, `choices`, `description`, `elements`, `options`, `no_log`, `version_added`, `aliases`, `required_one_of`, `mutually_exclusive` and `removed_in_version`
    1:1 Error item-invalid argument_specs.yml: argument_specs.yml: an option cannot be named `host`: that is the server that the role runs on
    ");
    insta::assert_snapshot!(listing(&CatalogItem::parse("", "").unwrap_err()), @r"
    1:1 Error item-invalid item.yml: item.yml: a map with `name`, `title`, `version`, `summary`, `category`, `listens`, `provides`, `requires`, `outputs`, `commands`, `health` and `tested` belongs here
    1:1 Error item-invalid argument_specs.yml: argument_specs.yml: `argument_specs` is missing: `meta/argument_specs.yml` lists the options of the role, and is `argument_specs: {main: {options: {}}}` if there are none
    ");
    insta::assert_snapshot!(listing(&CatalogItem::parse("[", "a: b").unwrap_err()), @r"
    1:2 Error yaml-syntax item.yml: item.yml: this is not YAML: while parsing a node, did not find expected node content
    1:1 Error item-invalid argument_specs.yml: argument_specs.yml: `argument_specs.main` is missing: the options of the role's entry point
    ");
}

#[test]
fn a_capability_shares_options_of_the_role() {
    let with = |shares: &str| {
        let capability = format!("{{name: http, port: listen_port, shares: {shares}}}");
        MANIFEST.replace("{name: http, port: listen_port}", &capability)
    };
    let item = CatalogItem::parse(&with("[mode, password]"), SPECS).unwrap();
    assert_eq!(item.provides[0].shares, ["mode", "password"]);
    let refused = CatalogItem::parse(&with("[pasword, port, [a]]"), SPECS).unwrap_err();
    insta::assert_snapshot!(listing(&refused), @r"
    9:61 Error item-invalid item.yml.provides.0: item.yml: `shares` takes options of the role
    8:1 Error item-invalid item.yml.provides.0.shares: item.yml: `pasword` is no option of the role that can be shared; did you mean `password`?
    8:1 Error item-invalid item.yml.provides.0.shares: item.yml: `port` is no option of the role that can be shared: every connected component gets that anyway
    ");
}

#[test]
fn a_capability_can_need_values_of_options() {
    let with = |condition: &str| {
        let capability = format!("{{name: http, port: listen_port, when: {condition}}}");
        let manifest = MANIFEST.replace("{name: http, port: listen_port}", &capability);
        CatalogItem::parse(&manifest, SPECS)
    };
    let item = with("{mode: static}").unwrap();
    assert_eq!(item.capability("http").unwrap().when["mode"], "static");
    let problem = |condition: &str| listing(&with(condition).unwrap_err());
    let unknown = problem("{mod: static}");
    let expected = "`mod` is no option of the role that takes a text; did you mean `mode`?";
    assert!(unknown.contains(expected), "{unknown}");
    let number = problem("{listen_port: 80}");
    let expected = "`listen_port` is no option of the role that takes a text";
    assert!(number.ends_with(expected), "{number}");
    let word = problem("static");
    let expected = "`when` takes a map from options to values";
    assert!(word.ends_with(expected), "{word}");
}

#[test]
fn a_capability_lists_its_consumers_in_an_option_that_no_form_shows() {
    let with = |more: &str| {
        let capability = format!("{{name: http, port: listen_port, {more}}}");
        MANIFEST.replace("{name: http, port: listen_port}", &capability)
    };
    let item = CatalogItem::parse(&with("consumers: names"), SPECS).unwrap();
    let offered = item.capability("http").unwrap();
    assert_eq!(offered.consumers.as_deref(), Some("names"));
    assert!(item.is_from_connections("names"));
    assert!(item.inputs.iter().all(|input| input.name != "names"));

    let problem = |more: &str, specs: &str| {
        let refused = CatalogItem::parse(&with(more), specs).unwrap_err();
        listing(&refused)
    };
    let taken = problem("consumers: backends", SPECS);
    assert!(taken.contains("`backends` is taken"), "{taken}");
    let named_so = SPECS.replace("password:", "secret:");
    let shared = problem("consumers: names, shares: [secret]", &named_so);
    assert!(shared.contains("gets its own"), "{shared}");
    let without = CatalogItem::parse(&with("shares: [secret]"), &named_so);
    assert!(without.is_ok());
}

#[test]
fn commands_are_read_and_checked() {
    let with = |commands: &str| format!("{MANIFEST}commands:\n{commands}");
    let good =
        with("  - {name: reload, summary: Reads its files again., tasks: tasks/reload.yml}\n");
    let item = CatalogItem::parse(&good, SPECS).unwrap();
    let command = item.command("reload").unwrap();
    assert_eq!(command.summary, "Reads its files again.");
    assert_eq!(command.tasks_from(), "reload.yml");
    assert!(item.command("restart").is_none());
    let bad = with(
        "  - {name: reload, summary: One., tasks: ../reload.yml}\n  - {name: reload, summary: Two., tasks: tasks/a/b.yml, as: root}\n  - {name: Re load, tasks: tasks/x.yml}\n",
    );
    insta::assert_snapshot!(listing(&CatalogItem::parse(&bad, SPECS).unwrap_err()), @r"
    16:5 Error item-invalid item.yml.commands.0: item.yml: `../reload.yml` is no file of tasks such as `tasks/reload.yml`
    17:57 Error item-invalid item.yml.commands.1: item.yml: `as` is no key here; there are `name`, `summary` and `tasks`
    17:5 Error item-invalid item.yml.commands.1: item.yml: there are two commands `reload`
    17:5 Error item-invalid item.yml.commands.1: item.yml: `tasks/a/b.yml` is no file of tasks such as `tasks/reload.yml`
    18:5 Error item-invalid item.yml.commands.2: item.yml: `summary` is missing
    18:5 Error item-invalid item.yml.commands.2: item.yml: `Re load` cannot name a command: use at most 63 lower case letters, digits, `_` and `-`
    ");
}

/// The page for authors of items.
const PAGE: &str = include_str!("../../../../docs/items.md");

#[test]
fn the_page_for_authors_lists_every_key_of_a_manifest() {
    let table = PAGE
        .split("\n## ")
        .find(|part| part.starts_with("The manifest"));
    let table = table.unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let keys: Vec<&str> = rows
        .filter_map(|row| Some(row.split_once('`')?.0))
        .collect();
    assert_eq!(keys, read::MANIFEST_KEYS);
}

#[test]
fn the_example_for_authors_is_an_item() {
    let file = |name: &str| {
        let section = PAGE.split(&format!("### `{name}`")).nth(1).unwrap();
        let text = section.split("```yaml\n").nth(1).unwrap();
        text.split("```").next().unwrap()
    };
    let item = CatalogItem::parse(file("item.yml"), file("meta/argument_specs.yml")).unwrap();
    let defaults = hot::yaml::parse(file("defaults/main.yml")).root.unwrap();
    for input in &item.inputs {
        let default = defaults
            .entry(&input.name)
            .map(|entry| entry.value.to_json());
        assert_eq!(default, input.default, "{}", input.name);
    }
    for command in &item.commands {
        assert!(!file(&command.tasks).is_empty());
    }
}

fn health(checks: &str) -> Result<Vec<HealthCheck>, Vec<String>> {
    let manifest = MANIFEST.replace("tested:", &format!("health:\n{checks}tested:"));
    match CatalogItem::parse(&manifest, SPECS) {
        Ok(item) => Ok(item.health),
        Err(problems) => Err(problems
            .into_iter()
            .map(|one| format!("{}: {}", one.path, one.message))
            .collect()),
    }
}

#[test]
fn health_checks_have_defaults() {
    let checks = health(
        "  - {title: Accepts, tcp: listen_port}
  - {title: Answers, http: listen_port, status: 200, contains: ok, interval: 1, timeout: 3, deadline: 30}
  - {title: Resolves, dns: listen_port, name: '_http._tcp.{listen_port}.internal', type: SRV}
  - {title: Works, command: 'check \"$listen_port\" ${password_file}'}
",
    );
    let checks = checks.unwrap();
    let port = || "listen_port".to_owned();
    let times = |check: &HealthCheck| (check.interval, check.timeout, check.deadline);
    assert_eq!(checks[0].probe, Probe::Tcp { port: port() });
    assert_eq!(times(&checks[0]), (2, 5, 120));
    let page = Probe::Http {
        port: port(),
        scheme: None,
        path: "/".into(),
        status: Some("200".into()),
        contains: Some("ok".into()),
    };
    assert_eq!(checks[1].probe, page);
    assert_eq!(times(&checks[1]), (1, 3, 30));
    let record = Probe::Dns {
        port: port(),
        name: "_http._tcp.{listen_port}.internal".into(),
        record: RecordType::Srv,
    };
    assert_eq!(checks[2].probe, record);
    assert!(matches!(checks[3].probe, Probe::Command { .. }));
}

#[test]
fn options_stand_in_the_texts_of_a_check_and_decide_whether_it_is_made() {
    let checks = health(
        "  - {title: Answers, http: listen_port, scheme: '{mode}', path: '/{listen_port}', status: '{listen_port}', contains: '{\"up\": {}}', when: listen_port}
  - {title: Accepts, tcp: listen_port}
",
    );
    let checks = checks.unwrap();
    let filled = Probe::Http {
        port: "listen_port".into(),
        scheme: Some("{mode}".into()),
        path: "/{listen_port}".into(),
        status: Some("{listen_port}".into()),
        contains: Some("{\"up\": {}}".into()),
    };
    assert_eq!(checks[0].probe, filled);
    let applies = |value: serde_json::Value| {
        let inputs = serde_json::json!({ "listen_port": value });
        checks[0].applies(inputs.as_object().unwrap())
    };
    assert!(applies(80.into()) && applies("80".into()) && applies(true.into()));
    assert!(!applies("".into()) && !applies(false.into()) && !applies(None::<u16>.into()));
    assert!(!checks[0].applies(&serde_json::Map::new()));
    assert!(checks[1].applies(&serde_json::Map::new()));
}

#[test]
fn a_wrong_health_check_is_told_with_its_place() {
    for (check, place, text) in [
        ("{tcp: listen_port}", "health.0", "`title` is missing"),
        (
            "{title: x}",
            "health.0",
            "one of `tcp`, `http`, `dns` and `command`",
        ),
        (
            "{title: x, dns: listen_port}",
            "health.0",
            "`name` is missing",
        ),
        (
            "{title: x, dns: listen_port, name: a b}",
            "health.0",
            "no domain name",
        ),
        (
            "{title: x, dns: listen_port, name: a, type: AAA}",
            "health.0",
            "did you mean `AAAA`",
        ),
        (
            "{title: x, dns: listen_port, name: 'a.{listen_prt}'}",
            "health.0",
            "did you mean `listen_port`",
        ),
        (
            "{title: x, tcp: listen_port, name: a}",
            "health.0",
            "only a `dns` check has `name`",
        ),
        (
            "{title: x, tcp: listen_port, http: listen_port}",
            "health.0",
            "one of `tcp`",
        ),
        (
            "{title: x, tcp: listen_prt}",
            "health.0",
            "did you mean `listen_port`",
        ),
        (
            "{title: x, tcp: listen_port, path: /}",
            "health.0",
            "only an `http` check has `path`",
        ),
        (
            "{title: x, tcp: listen_port, scheme: https}",
            "health.0",
            "only an `http` check has `scheme`",
        ),
        (
            "{title: x, http: listen_port, scheme: ftp}",
            "health.0",
            "`ftp` is no scheme",
        ),
        (
            "{title: x, http: listen_port, scheme: '{mod}'}",
            "health.0",
            "cannot stand in a scheme; did you mean `mode`",
        ),
        (
            "{title: x, http: listen_port, path: a b}",
            "health.0",
            "no path of a URL",
        ),
        (
            "{title: x, http: listen_port, status: 20}",
            "health.0",
            "from 100 to 599",
        ),
        (
            "{title: x, http: listen_port, status: '{listen_prt}'}",
            "health.0",
            "cannot stand in a status; did you mean `listen_port`",
        ),
        (
            "{title: x, http: listen_port, path: '/{listen_prt}'}",
            "health.0",
            "cannot stand in a path; did you mean `listen_port`",
        ),
        (
            "{title: x, http: listen_port, contains: '{password}'}",
            "health.0",
            "cannot stand in a text: it is secret",
        ),
        (
            "{title: x, tcp: listen_port, when: listen_prt}",
            "health.0",
            "did you mean `listen_port`",
        ),
        (
            "{title: x, http: listen_port, dedline: 3}",
            "health.0",
            "did you mean `deadline`",
        ),
        (
            "{title: x, tcp: listen_port, deadline: 901}",
            "health.0",
            "from 1 to 900",
        ),
        (
            "{title: x, tcp: listen_port, interval: 0}",
            "health.0",
            "from 1 to 60",
        ),
        (
            "{title: x, command: 'login $password'}",
            "health.0",
            "cannot use the secret `password`",
        ),
    ] {
        let problems = health(&format!("  - {check}\n")).unwrap_err();
        let found = |problem: &String| {
            problem.starts_with(&format!("item.yml.{place}")) && problem.contains(text)
        };
        assert!(problems.iter().any(found), "{check}: {problems:?}");
    }
    let many = "  - {title: x, tcp: listen_port}\n".repeat(9);
    assert!(health(&many).unwrap_err()[0].contains("at most 8"));
}

#[test]
fn an_option_has_several_lines_if_its_default_has_or_if_it_takes_pem() {
    let multiline = |option: &str| {
        let specs = SPECS.replace("anything: {type: raw}", option);
        let item = CatalogItem::parse(MANIFEST, &specs).unwrap();
        item.inputs.last().unwrap().multiline
    };
    assert!(multiline("script: {type: str, default: \"a\\nb\"}"));
    assert!(multiline(
        "key: {type: str, no_log: true, description: Private key (PEM).}"
    ));
    assert!(!multiline("word: {type: str, description: A word.}"));
}

#[test]
fn ports_of_peers_and_connections_for_addresses_only_are_marked() {
    let plain = CatalogItem::parse(MANIFEST, SPECS).unwrap();
    assert!(!plain.listens[0].peers && plain.requires[0].opens);
    let manifest = MANIFEST
        .replace("protocol: tcp}", "protocol: tcp, peers: true}")
        .replace("min: 0", "opens: false, min: 0");
    let marked = CatalogItem::parse(&manifest, SPECS).unwrap();
    assert!(marked.listens[0].peers && !marked.requires[0].opens);
    let wrong = manifest.replace("peers: true", "peers: some");
    let problems = CatalogItem::parse(&wrong, SPECS).unwrap_err();
    assert_eq!(
        listing(&problems),
        "7:47 Error item-invalid item.yml.listens.0: item.yml: `peers` takes `true` or `false`"
    );
}

#[test]
fn a_requirement_needs_health_or_an_address() {
    let with = |needs: &str| MANIFEST.replace("min: 0", &format!("{needs}min: 0"));
    let needs = |text: &str| CatalogItem::parse(text, SPECS).unwrap().requires[0].needs;
    assert_eq!(needs(MANIFEST), Need::Health);
    assert_eq!(needs(&with("needs: health, ")), Need::Health);
    assert_eq!(needs(&with("needs: address, ")), Need::Address);
    let problems = CatalogItem::parse(&with("needs: adress, "), SPECS).unwrap_err();
    insta::assert_snapshot!(listing(&problems), @"11:47 Error item-invalid item.yml.requires.0: item.yml: `adress` is not one of `health` and `address`; with `address` the role runs before the others are set up");
}

#[test]
fn a_draft_has_a_version_that_no_manifest_can_have() {
    let digest = "0f1e2d3c4b5a69788796";
    let draft = draft_version("1.1.0", digest);
    assert_eq!(draft, "1.1.0-draft.0f1e2d3c4b5a");
    assert!(is_draft(&draft));
    for published in ["1.1.0", "1.1.0-rc.1", "1.1.0-draft.1", "1.1.0-draft"] {
        assert!(!is_draft(published), "{published}");
    }
    let manifest = MANIFEST.replace("version: 1.0.0", &format!("version: {draft}"));
    let problems = CatalogItem::parse(&manifest, SPECS).unwrap_err();
    assert_eq!(problems[0].path, "item.yml.version");
}

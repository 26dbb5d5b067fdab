use super::*;
use crate::catalog::{CatalogItem, Probe};

/// A small web server with a page, a port and a secret.
fn lighttpd() -> Recipe {
    Recipe {
        name: "lighttpd".into(),
        title: "lighttpd".into(),
        version: "1.0.0".into(),
        summary: "A small web server: \"fast\".".into(),
        category: "web".into(),
        packages: vec!["lighttpd".into()],
        files: vec![
            RecipeFile {
                path: "/etc/lighttpd/conf-enabled/10-port.conf".into(),
                mode: "0644".into(),
                content: "server.port := {{ listen_port }}\n".into(),
            },
            RecipeFile {
                path: "/etc/lighttpd/users".into(),
                mode: "0600".into(),
                content: "admin:{{ admin_password }}\n".into(),
            },
        ],
        service: "lighttpd".into(),
        ports: vec![RecipePort {
            option: "listen_port".into(),
            number: "8080".into(),
            protocol: Protocol::Tcp,
            capability: "http".into(),
        }],
        options: vec![
            RecipeOption {
                name: "admin_password".into(),
                kind: OptionKind::Secret,
                default: String::new(),
                summary: "The password of the user `admin`.".into(),
            },
            RecipeOption {
                name: "workers".into(),
                kind: OptionKind::Number,
                default: String::new(),
                summary: "Number of processes.".into(),
            },
            RecipeOption {
                name: "greeting".into(),
                kind: OptionKind::Text,
                default: "it's: \"fine\" #1".into(),
                summary: String::new(),
            },
        ],
    }
}

fn parsed(recipe: &Recipe) -> CatalogItem {
    let files = recipe.files();
    CatalogItem::parse(&files["item.yml"], &files["meta/argument_specs.yml"]).unwrap()
}

fn problems(recipe: &Recipe) -> Vec<(String, String)> {
    let found = recipe.check().into_iter();
    found.map(|one| (one.path, one.message)).collect()
}

#[test]
fn a_recipe_becomes_an_item_with_its_ports_options_commands_and_checks() {
    let recipe = lighttpd();
    assert_eq!(problems(&recipe), []);
    let item = parsed(&recipe);
    assert_eq!(item.type_name(), "Stackloom::Catalog::lighttpd");
    assert_eq!(item.summary, recipe.summary);
    let shown: Vec<_> = item
        .inputs
        .iter()
        .map(|input| (input.name.as_str(), input.required, input.secret))
        .collect();
    assert_eq!(
        shown,
        [
            ("listen_port", false, false),
            ("admin_password", true, true),
            ("workers", true, false),
            ("greeting", false, false)
        ]
    );
    let greeting = item.inputs.last().unwrap();
    assert_eq!(greeting.default, Some("it's: \"fine\" #1".into()));
    assert_eq!(item.provides[0].name, "http");
    assert_eq!(item.outputs[0].value, "http://{address}:{listen_port}/");
    assert_eq!(item.commands[0].tasks, "tasks/restart.yml");
    assert_eq!(
        item.health[0].probe,
        Probe::Tcp {
            port: "listen_port".into()
        }
    );
}

#[test]
fn the_role_installs_writes_starts_and_can_be_removed() {
    let files = lighttpd().files();
    let tasks = &files["tasks/main.yml"];
    for part in [
        "name: [\"lighttpd\"]",
        "lock_timeout: 300",
        "src: \"0-10-port.conf.j2\"",
        "dest: \"/etc/lighttpd/conf-enabled/10-port.conf\"",
        "notify: Restart the service",
        "port: \"{{ listen_port }}\"",
    ] {
        assert!(tasks.contains(part), "{part}\n{tasks}");
    }
    // Only the file with the secret is not shown in the log.
    assert_eq!(tasks.matches("no_log: true").count(), 1);
    let removal = &files["tasks/remove.yml"];
    for part in ["state: stopped", "- \"/etc/lighttpd/users\"", "purge: true"] {
        assert!(removal.contains(part), "{part}\n{removal}");
    }
    assert_eq!(
        files["templates/1-users.j2"],
        "admin:{{ admin_password }}\n"
    );
    assert!(!files["defaults/main.yml"].contains("admin_password"));
}

#[test]
fn systemd_reads_a_unit_of_the_role_again() {
    let mut recipe = lighttpd();
    assert!(!recipe.files()["tasks/remove.yml"].contains("daemon_reload"));
    recipe.files[0].path = "/etc/systemd/system/lighttpd.service".into();
    let files = recipe.files();
    for tasks in ["handlers/main.yml", "tasks/restart.yml", "tasks/remove.yml"] {
        assert!(files[tasks].contains("daemon_reload: true"), "{tasks}");
    }
}

#[test]
fn the_form_of_the_next_version_is_filled_from_the_role() {
    let recipe = lighttpd();
    let files = recipe.files();
    let read: Recipe = serde_json::from_str(&files[RECIPE_FILE]).unwrap();
    assert_eq!(read, recipe);
    let versions = ["1.4.2", "2.0.0-rc.1", "latest"].map(|version| {
        let version = version.to_owned();
        Recipe {
            version,
            ..recipe.clone()
        }
        .next()
        .version
    });
    assert_eq!(versions, ["1.5.0", "2.1.0", "latest"]);
}

#[test]
fn an_item_of_packages_only_has_neither_service_nor_options() {
    let recipe = Recipe {
        files: vec![],
        service: String::new(),
        ports: vec![],
        options: vec![],
        ..lighttpd()
    };
    assert_eq!(problems(&recipe), []);
    let item = parsed(&recipe);
    assert!(item.inputs.is_empty() && item.commands.is_empty() && item.health.is_empty());
}

#[test]
fn a_service_without_a_port_is_asked_whether_it_runs() {
    let recipe = Recipe {
        ports: vec![],
        files: vec![],
        ..lighttpd()
    };
    let command = "systemctl is-active lighttpd".to_owned();
    assert_eq!(parsed(&recipe).health[0].probe, Probe::Command { command });
}

#[test]
fn problems_stand_at_their_values() {
    let mut recipe = lighttpd();
    recipe.name = "Light".into();
    recipe.title = " ".into();
    recipe.version = "1".into();
    recipe.packages.push("rm -rf".into());
    recipe.files[0].path = "/etc/../shadow".into();
    recipe.files[1].mode = "0644".into();
    recipe.ports[0].number = "70000".into();
    recipe.options[1].name = "listen_port".into();
    recipe.options[0].default = "swordfish".into();
    let paths: Vec<String> = problems(&recipe)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        paths,
        [
            "title",
            "name",
            "version",
            "ports.0.number",
            "options.1.name",
            "packages.1",
            "files.0.path",
            "files.1.mode",
            "options.0.default",
        ]
    );
    let empty = Recipe::default();
    assert!(problems(&empty).iter().any(|(path, _)| path == "packages"));
}

#[test]
fn no_text_of_the_form_ends_its_string() {
    for evil in [
        "a\"\nevil: true",
        "{{ lookup('pipe', 'id') }}",
        "'",
        "\\",
        "%",
        "- x",
    ] {
        let mut recipe = lighttpd();
        recipe.options[2].default = evil.into();
        recipe.options[2].summary = evil.replace('\n', " ");
        recipe.title = evil.replace('\n', " ");
        let item = parsed(&recipe);
        assert_eq!(item.title, recipe.title);
        assert_eq!(
            item.inputs.last().unwrap().default,
            Some(evil.into()),
            "{evil}"
        );
    }
}

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::diagnostic::listing;
use crate::environment::Target;
use crate::{bundle::Bundle, document::Document};

fn merged(template: &str, environments: &[(&str, &str)]) -> Merged {
    let files = environments
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let names = environments.iter().map(|(name, _)| (*name).to_owned());
    let bundle = Bundle::new(files, names);
    Merged::of(&bundle, Document::parse(template).template())
}

const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
parameters:
  size: {type: number, default: 1}
  zones: {type: comma_delimited_list, default: ''}
  tags: {type: json, default: {}}
  name: {type: string, default: x}
";

fn values(template: &str, environments: &[(&str, &str)]) -> BTreeMap<String, Value> {
    let document = Document::parse(template);
    merged(template, environments).parameters(document.template(), &BTreeMap::new())
}

/// Values computed by a real Heat (Zed) from the same environments and request.
#[test]
fn an_environment_wins_over_the_request_as_in_heat() {
    let document = Document::parse(TEMPLATE);
    let name = |environments: &[&str], given: Value| {
        let files = ["a.yaml", "b.yaml"].into_iter();
        let files: Vec<_> = files.zip(environments.iter().copied()).collect();
        let given = BTreeMap::from([("name".to_owned(), given)]);
        let merged = merged(TEMPLATE, &files);
        let values = merged.parameters(document.template(), &given);
        values["name"].clone()
    };
    let env = "parameters: {name: fromenv}\n";
    let env2 = "parameters: {name: fromenv2}\n";
    let defaults = "parameter_defaults: {name: fromdefaults}\n";
    let null = "parameters: {name: null}\n";
    let merge = "parameters: {name: fromenv}\nparameter_merge_strategies: {name: merge}\n";
    for (environments, given, counts) in [
        (&[env][..], json!("fromcli"), "fromenv"),
        (&[env, env2], json!("fromcli"), "fromenv2"),
        (&[defaults], json!("fromcli"), "fromcli"),
        (&[defaults], json!(null), "fromdefaults"),
        (&[defaults, env], json!("fromcli"), "fromenv"),
        (&[null], json!("fromcli"), "fromcli"),
        (&[env], json!(null), "fromenv"),
        (&[merge], json!("fromcli"), "fromclifromenv"),
    ] {
        assert_eq!(name(environments, given), counts, "{environments:?}");
    }
}

#[test]
fn an_environment_that_overrides_a_given_value_gives_a_warning() {
    let document = Document::parse(TEMPLATE);
    let env = "parameters:\n  name: fromenv\n  size: 2\nparameter_defaults: {tags: {}}\n";
    let merged = merged(TEMPLATE, &[("env.yaml", env)]);
    // `2` is the same number as the environment's.
    let given = json!({"name": "fromcli", "size": "2", "tags": {"a": 1}});
    let given: BTreeMap<String, Value> = serde_json::from_value(given).unwrap();
    assert_eq!(
        listing(&merged.overridden(document.template(), &given)),
        "2:3 Warning environment-overrides parameters.name: the environment `env.yaml` sets `name`; the value given for it is not used. \
         Change it there, or remove it there to give it here"
    );
    assert_eq!(merged.overridden_by("name"), Some("env.yaml"));
    assert_eq!(merged.overridden_by("tags"), None);
}

#[test]
fn later_files_win() {
    let document = Document::parse(TEMPLATE);
    let merged = merged(
        TEMPLATE,
        &[
            ("a.yaml", "parameters: {size: 2, name: a}\n"),
            (
                "b.yaml",
                "parameters: {size: 3}\nparameter_defaults: {name: d, other: 1}\n",
            ),
        ],
    );
    let values = merged.parameters(document.template(), &BTreeMap::new());
    assert_eq!(json!(values), json!({"size": 3, "name": "a"}));
    assert_eq!(merged.default_of("other"), Some(&json!(1)));
    assert_eq!(merged.diagnostics, []);
}

#[test]
fn merge_strategies_combine_values() {
    let first = "parameters: {size: 2, zones: 'a,b', tags: {k: {x: 1}, l: 1}, name: left}\n\
                 parameter_merge_strategies: {default: merge, tags: deep_merge}\n";
    let second = "parameters: {size: 3, zones: c, tags: {k: {y: 2}}, name: right}\n";
    assert_eq!(
        json!(values(TEMPLATE, &[("a.yaml", first), ("b.yaml", second)])),
        json!({"size": 5, "zones": "a,b,c", "tags": {"k": {"x": 1, "y": 2}, "l": 1}, "name": "leftright"})
    );
    let shallow = first.replace("deep_merge", "merge");
    assert_eq!(
        values(TEMPLATE, &[("a.yaml", &shallow), ("b.yaml", second)])["tags"],
        json!({"k": {"y": 2}, "l": 1})
    );
}

#[test]
fn two_strategies_for_one_parameter_are_refused() {
    let first = "parameters: {size: 2}\nparameter_merge_strategies: {size: merge}\n";
    let second = "parameters: {size: 3}\nparameter_merge_strategies: {size: overwrite}\n";
    let merged = merged(TEMPLATE, &[("a.yaml", first), ("b.yaml", second)]);
    assert_eq!(
        listing(&merged.diagnostics),
        "- Error environment-conflict parameter_merge_strategies.size: `size` is merged in another way by an earlier environment; say the same in both"
    );
}

#[test]
fn an_unreadable_environment_is_reported_with_its_line() {
    let text = "\
parameter: {a: 1}
parameter_merge_strategies: {size: join}
encrypted_param_names: [secret, plain]
parameters: {secret: [cryptography_decrypt_v1, Z0FBQQ], plain: x}
event_sinks: [{type: zaqar-queue, target: q}]
resource_registry:
  My::Type: [x]
  resources:
    web: {hooks: pre-boot}
";
    let environment = Environment::parse("e.yaml", text);
    assert!(
        environment
            .diagnostics
            .iter()
            .all(|one| one.file.as_deref() == Some("e.yaml"))
    );
    assert_eq!(
        listing(&environment.diagnostics),
        "1:1 Error unknown-key parameter: `parameter` is no key of an environment; did you mean `parameters`?\n\
         2:36 Error wrong-shape parameter_merge_strategies.size: a strategy is one of `overwrite`, `merge` and `deep_merge`\n\
         5:1 Info environment-ignored event_sinks: event sinks are not used: a run's events are read from the run itself\n\
         7:13 Error wrong-shape resource_registry.My::Type: the name of a type or of a file belongs here\n\
         9:18 Error wrong-shape resource_registry.resources.web.hooks: `hooks` takes `pre-create`, `pre-update`, `pre-delete`, `post-create`, `post-update` and `post-delete`\n\
         3:25 Error environment-encrypted encrypted_param_names: encrypted parameters can only be opened by the Heat that made them; give the values in clear, as parameters of the deployment\n\
         3:33 Info environment-ignored encrypted_param_names: `plain` is marked as encrypted, but its value is not: it is used as written"
    );
}

#[test]
fn a_hidden_value_in_an_environment_gives_a_warning() {
    let template = TEMPLATE.replace("{type: string, default: x}", "{type: string, hidden: true}");
    let merged = merged(
        &template,
        &[("a.yaml", "parameters: {name: s3cret, nme: 1}\n")],
    );
    let found = merged.undeclared(Document::parse(template.as_str()).template());
    assert_eq!(
        listing(&found),
        "1:14 Warning environment-secret parameters.name: `name` is hidden, but its value is here in clear text and is stored so with the design; give it when you deploy\n\
         1:28 Error unknown-parameter parameters.nme: `nme` is no parameter of the template; did you mean `name`?; under `parameter_defaults` it may be set for nested templates"
    );
}

#[test]
fn hooks_and_locks_are_kept() {
    let text = "\
resource_registry:
  resources:
    web:
      hooks: pre-create
      restricted_actions: [update, replace]
      inner:
        hooks: [post-delete]
    '*_db': {restricted_actions: replace}
";
    let environment = Environment::parse("e.yaml", text);
    assert_eq!(listing(&environment.diagnostics), "");
    let rules: Vec<_> = environment
        .rules
        .iter()
        .map(|rule| {
            (
                rule.resource.as_str(),
                &rule.hooks[..],
                &rule.restricted_actions[..],
            )
        })
        .collect();
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        rules,
        [
            ("web/inner", &words(&["post-delete"])[..], &[][..]),
            (
                "web",
                &words(&["pre-create"])[..],
                &words(&["update", "replace"])[..]
            ),
            ("*_db", &[][..], &words(&["replace"])[..]),
        ]
    );
}

#[test]
fn aliases_lead_to_types_and_files() {
    let merged = merged(
        TEMPLATE,
        &[
            (
                "env/a.yaml",
                "resource_registry:\n  My::Server: OS::Nova::Server\n  My::Web: web.yaml\n  Old::*: OS::Neutron::*\n  OS::Cinder::*: OS::Heat::None\n  \
                 OS::Nova::Server: server.yaml\n  resources:\n    db: {My::Web: db.yaml}\n    'w*': {OS::Nova::KeyPair: OS::Heat::None}\n",
            ),
            ("env/b.yaml", "resource_registry:\n  OS::Cinder::*: null\n"),
        ],
    );
    let resolve = |resource: &str, name: &str| merged.aliases.resolve(resource, name, &[]);
    let file = |name: &str| Target::File {
        name: name.to_owned(),
        from: Some("env/a.yaml".to_owned()),
    };
    assert_eq!(
        resolve("x", "Old::Net"),
        Target::Type("OS::Neutron::Net".into())
    );
    assert_eq!(resolve("x", "My::Web"), file("web.yaml"));
    assert_eq!(resolve("db", "My::Web"), file("db.yaml"));
    assert_eq!(resolve("x", "My::Server"), file("server.yaml"));
    assert_eq!(
        resolve("web", "OS::Nova::KeyPair"),
        Target::Type("OS::Heat::None".into())
    );
    assert_eq!(
        resolve("x", "OS::Cinder::Volume"),
        Target::Type("OS::Cinder::Volume".into())
    );
    let itself = ["OS::Nova::Server".to_owned()];
    assert_eq!(
        merged.aliases.resolve("x", "OS::Nova::Server", &itself),
        Target::Type("OS::Nova::Server".into())
    );
    assert_eq!(
        resolve("x", "near.yaml"),
        Target::File {
            name: "near.yaml".into(),
            from: None
        }
    );
}

#[test]
fn the_last_of_duplicate_keys_counts_with_a_warning() {
    let text = "parameter_defaults:\n  a: 1\n  b: 2\n  a: 3\n";
    let environment = Environment::parse("env.yaml", text);
    assert_eq!(environment.parameter_defaults["a"].value, 3);
    let [one] = environment.diagnostics.as_slice() else {
        panic!("{:?}", environment.diagnostics);
    };
    assert_eq!((one.code.as_str(), one.line), ("duplicate-key", Some(4)));
    assert!(!one.is_error());
}

//! The test that an item brings along: `tests/design.yaml`, a design with the item and with clients that fail if it does
//! not serve them, and `tests/change.yaml`, other values of the design's parameters.
//!
//! The item is one of the project's, as an author's is. The design is deployed. Then the role of each component runs again,
//! and must change nothing, and the item's commands run. The item's components are upgraded to its next version. The
//! parameters get their other values, and the clients try again. Last, the components are taken out while their servers
//! stay, and nothing may listen any more on the ports of those with a removal.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::{Path, PathBuf},
};

use super::*;
use api::UpgradeRequest;
use engine::catalog::{Catalog, Files, Stage, pack};
use hot::document::Document;
use serde_json::{Map, json};
use tempfile::TempDir;
use tokio::sync::Mutex;
use types::catalog::CatalogItem;

/// The designs of all items have networks with the same addresses.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());
/// Name of the command that the test adds to each item.
const AGAIN: &str = "again";

macro_rules! items {
    ($($item:ident)*) => {
        const TESTED: &[&str] = &[$(stringify!($item)),*];
        $(
            #[tokio::test(flavor = "multi_thread")]
            #[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
            async fn $item() {
                test_item(&own_items().join(stringify!($item))).await;
            }
        )*
    };
}

items! {
    alertmanager apache application baseline dnsmasq etcd haproxy job keepalived mariadb memcached nginx node_exporter playbook
    postgresql postgresql_replica prometheus rabbitmq redis redis_replica script service wordpress
}

fn own_items() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog")
}

#[test]
fn each_item_with_a_design_is_tested() {
    let folders = std::fs::read_dir(own_items()).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path());
    let with_design = folders.filter(|folder| folder.join("tests/design.yaml").is_file());
    let names = with_design.map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, TESTED);
}

/// An example is the first thing that a reader of an item's page tries.
#[test]
fn examples_of_readmes_have_properties_of_their_items() {
    let catalog = Catalog::load(&own_items()).unwrap();
    for folder in std::fs::read_dir(own_items()).unwrap() {
        let readme = folder.unwrap().path().join("README.md");
        let text = std::fs::read_to_string(&readme).unwrap();
        let examples = text.split("```yaml\n").skip(1);
        for example in examples.filter_map(|part| part.split("```").next()) {
            let resources = Document::parse(example).value(&[]).unwrap();
            for (name, resource) in resources.as_object().unwrap() {
                let Some(item) = catalog.of_type(resource["type"].as_str().unwrap()) else {
                    continue;
                };
                let described = item.described.resource_type();
                for property in resource["properties"].as_object().unwrap().keys() {
                    let is_known = described.property(property).is_some();
                    assert!(is_known, "{}: `{property}` of `{name}`", readme.display());
                }
            }
        }
    }
}

/// Runs the test of the item in a folder.
pub(super) async fn test_item(folder: &Path) {
    let _alone = ONE_AT_A_TIME.lock().await;
    let begin = Instant::now();
    let catalog = catalog_with(folder);
    let test = ItemTest::read(folder, catalog.path());
    // As an item of the project, so that its next version can be published.
    let own = catalog.path().join(&test.item);
    let files = files_of(&own);
    std::fs::remove_dir_all(own).unwrap();
    let folder_of_all = catalog.path().to_str().unwrap();
    let bench = on_docker_with(folder_of_all, "engine-items", "172.31.48.0/24", BOOT).await;

    publish(&bench, &files).await;
    let started = bench
        .try_deploy("item", &test.design.to_string(), test.parameters(0))
        .await
        .unwrap();
    let deployed = Deployed {
        bench,
        id: started.deployment,
        test,
    };
    deployed.succeeds(&started.run).await;
    deployed.changes_nothing_when_it_runs_again().await;
    deployed.carries_out_its_commands().await;
    deployed.is_upgraded(files).await;
    deployed.update(deployed.test.design.clone(), 1).await;
    deployed.is_taken_out().await;
    all_goes(deployed.bench, &deployed.id).await;
    // Not captured, so that a run of all tests shows the times.
    let name = name_of(folder);
    let seconds = begin.elapsed().as_secs();
    let _ = writeln!(std::io::stderr(), "item {name}: {seconds} s");
}

/// The name of the item in a folder, which can have another name.
fn name_of(folder: &Path) -> String {
    let manifest = std::fs::read_to_string(folder.join("item.yml")).unwrap();
    let name = Document::parse(manifest).value(&["name"]).unwrap();
    name.as_str().unwrap().to_owned()
}

/// Stackloom's items, with the one in the folder. Each has a command more, which runs its role again.
fn catalog_with(folder: &Path) -> TempDir {
    let catalog = tempfile::tempdir().unwrap();
    let tested = name_of(folder);
    let others = std::fs::read_dir(own_items()).unwrap();
    let others = others.map(|entry| entry.unwrap());
    let others = others.map(|entry| (entry.file_name().into_string().unwrap(), entry.path()));
    let others = others.filter(|(name, _)| *name != tested);
    for (name, item) in others.chain([(tested.clone(), folder.to_owned())]) {
        let copy = catalog.path().join(name);
        copy_folder(&item, &copy);
        let manifest = copy.join("item.yml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let mut described = Document::parse(text).value(&[]).unwrap();
        let again =
            json!({"name": AGAIN, "summary": "Runs the role again.", "tasks": "tasks/main.yml"});
        match described["commands"].as_array_mut() {
            Some(commands) => commands.push(again),
            None => described["commands"] = json!([again]),
        }
        std::fs::write(manifest, described.to_string()).unwrap();
    }
    catalog
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // The folder can be a clone of an author's repository, whose history is no part of the item.
        if entry.file_name() == ".git" {
            continue;
        }
        let copy = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &copy);
        } else {
            std::fs::copy(entry.path(), copy).unwrap();
        }
    }
}

/// The files of an item, by their paths in its folder.
fn files_of(item: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![item.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(item).unwrap().to_str().unwrap();
                files.insert(name.to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// The next version of an item, with the same role.
fn next_version(mut files: Files) -> (Files, String) {
    let manifest = String::from_utf8(files["item.yml"].clone()).unwrap();
    let mut described = Document::parse(manifest).value(&[]).unwrap();
    let version = described["version"].as_str().unwrap();
    let (start, last) = version.rsplit_once('.').unwrap();
    let next = format!("{start}.{}", last.parse::<u64>().unwrap() + 1);
    described["version"] = json!(next);
    files.insert("item.yml".to_owned(), described.to_string().into_bytes());
    (files, next)
}

/// Publishes an item to the project.
async fn publish(bench: &Bench, files: &Files) {
    let archive = pack(files).unwrap();
    let published = bench
        .engine
        .publish(&bench.actor, archive, None, Stage::Published);
    published.await.unwrap();
}

/// A component of the design.
struct Component {
    name: String,
    item: CatalogItem,
}

struct ItemTest {
    /// Name of the tested item.
    item: String,
    design: Value,
    /// Values of parameters for the second round.
    changed: BTreeMap<String, Value>,
    components: Vec<Component>,
}

impl ItemTest {
    fn read(folder: &Path, catalog: &Path) -> ItemTest {
        let catalog = Catalog::load(catalog).unwrap();
        assert!(catalog.problems.is_empty(), "{:#?}", catalog.problems);
        let read = |file: &str| {
            let path = folder.join("tests").join(file);
            std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let design = Document::parse(read("design.yaml")).value(&[]).unwrap();
        let changed = Document::parse(read("change.yaml")).value(&["parameters"]);
        let changed = changed.unwrap().as_object().unwrap().clone();
        let resources = design["resources"].as_object().unwrap();
        let components = resources.iter().filter_map(|(name, resource)| {
            let item = catalog.of_type(resource["type"].as_str()?)?;
            Some(Component {
                name: name.clone(),
                item: item.described.clone(),
            })
        });
        let components: Vec<Component> = components.collect();
        let own = name_of(folder);
        assert!(
            components
                .iter()
                .any(|component| component.item.name == own),
            "the design has no component of the item"
        );
        ItemTest {
            item: own,
            components,
            changed: changed.into_iter().collect(),
            design,
        }
    }

    /// The values of the parameters in a round, 0 or 1.
    fn parameters(&self, round: usize) -> BTreeMap<String, Value> {
        match round {
            0 => BTreeMap::new(),
            _ => self.changed.clone(),
        }
    }

    /// The value of a parameter after the change.
    fn parameter(&self, name: &str) -> Value {
        let default = &self.design["parameters"][name]["default"];
        self.changed.get(name).unwrap_or(default).clone()
    }

    /// Values of hidden parameters in both rounds.
    fn secrets(&self) -> Vec<&str> {
        let parameters = self.design["parameters"].as_object();
        let hidden = parameters.into_iter().flatten();
        let hidden = hidden.filter(|(_, parameter)| parameter["hidden"] == true);
        let values = hidden
            .flat_map(|(name, parameter)| [Some(&parameter["default"]), self.changed.get(name)]);
        values.flatten().filter_map(Value::as_str).collect()
    }

    /// The design without its components. For each port of a removed one, a script tries that nothing listens there.
    fn without_components(&self) -> Value {
        let mut design = self.design.clone();
        let mut checks = Map::new();
        for Component { name, item } in &self.components {
            let properties = self.design["resources"][name]["properties"].clone();
            let ports = item
                .listens
                .iter()
                .filter(|listen| listen.protocol == "tcp");
            for listen in ports.filter(|_| item.removes) {
                let given = &properties[&listen.port];
                let port = match given["get_param"].as_str() {
                    Some(parameter) => self.parameter(parameter),
                    None if given.is_null() => {
                        let mut inputs = item.inputs.iter();
                        let input = inputs.find(|input| input.name == listen.port);
                        input.and_then(|input| input.default.clone()).unwrap()
                    }
                    None => given.clone(),
                };
                let check = json!({
                    "type": "Stackloom::Catalog::script",
                    "properties": {
                        "host": properties["host"],
                        "arguments": [port.to_string()],
                        "script": "! (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null",
                    },
                });
                checks.insert(format!("closed_{name}_{}", listen.port), check);
            }
        }
        let resources = design["resources"].as_object_mut().unwrap();
        for component in &self.components {
            resources.remove(&component.name);
        }
        resources.extend(checks);
        design.as_object_mut().unwrap().remove("outputs");
        design
    }
}

/// The deployment of a design.
struct Deployed {
    bench: Bench,
    id: String,
    test: ItemTest,
}

impl Deployed {
    async fn succeeds(&self, run: &str) -> Vec<Event> {
        let (run, events) = story(&self.bench, run).await;
        let failed = run.steps.iter().filter(|step| step.error.is_some());
        let failed: Vec<_> = failed.collect();
        assert_eq!(run.state, RunState::Succeeded, "{failed:#?}");
        for secret in self.test.secrets() {
            let mut events = events.iter();
            let is_told = events.any(|event| format!("{event:?}").contains(secret));
            assert!(!is_told, "a hidden parameter is in the log");
        }
        events
    }

    async fn update(&self, template: Value, round: usize) -> Vec<Event> {
        let changes = engine::Changes {
            template: template.to_string(),
            parameters: self.test.parameters(round),
            cloud: bench::facts(),
            ..engine::Changes::default()
        };
        let update = self
            .bench
            .engine
            .update(&self.bench.actor, &self.id, changes);
        self.succeeds(&update.await.unwrap().run).await
    }

    async fn run_command(&self, component: &str, command: &str) -> Vec<Event> {
        let request = json!({"component": component, "command": command});
        let request = serde_json::from_value(request).unwrap();
        let (engine, actor) = (&self.bench.engine, &self.bench.actor);
        let started = engine.command(actor, &self.id, request).await;
        self.succeeds(&started.unwrap().run).await
    }

    async fn changes_nothing_when_it_runs_again(&self) {
        for Component { name, .. } in &self.test.components {
            let events = self.run_command(name, AGAIN).await;
            let recap = events.iter().find_map(|event| match &event.body {
                EventBody::Log(line) => line.text.strip_prefix("RECAP "),
                _ => None,
            });
            let mut counts = recap.unwrap().split(' ');
            assert!(
                counts.any(|count| count == "changed=0"),
                "`{name}` changes something when it runs again: {recap:?}"
            );
        }
    }

    async fn carries_out_its_commands(&self) {
        let mut own = self.test.components.iter();
        let Component { name, item } = own.find(|one| one.item.name == self.test.item).unwrap();
        for command in item.commands.iter().filter(|one| one.name != AGAIN) {
            self.run_command(name, &command.name).await;
        }
    }

    /// Sets the item's components up with its next version. The clients of the update that follows show that they serve.
    async fn is_upgraded(&self, files: Files) {
        let (files, version) = next_version(files);
        publish(&self.bench, &files).await;
        let request = UpgradeRequest {
            item: self.test.item.clone(),
            version: version.clone(),
            ..UpgradeRequest::default()
        };
        let (engine, actor) = (&self.bench.engine, &self.bench.actor);
        let started = engine.upgrade(actor, &self.id, request, bench::facts());
        self.succeeds(&started.await.unwrap().run).await;
        let shown = engine.deployment(&self.bench.tenant, &self.id).await;
        let used = shown.unwrap().items.into_iter();
        let used = used.filter(|item| item.name == self.test.item);
        let used: Vec<_> = used.map(|item| item.version).collect();
        assert_eq!(used, [version]);
    }

    async fn is_taken_out(&self) {
        let events = self.update(self.test.without_components(), 1).await;
        let with_removal = self.test.components.iter().filter(|one| one.item.removes);
        for Component { name, .. } in with_removal {
            let taking = format!("Removing `{name}` from ");
            let is_taken = events.iter().any(|event| {
                matches!(&event.body, EventBody::Log(line) if line.text.starts_with(&taking))
            });
            assert!(is_taken, "`{name}` is not removed from its server");
        }
    }
}

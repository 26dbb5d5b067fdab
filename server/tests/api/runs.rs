//! Roll-back of a deployment to the content of an earlier run, over the API.

use lab::Lab;
use serde_json::json;

use crate::{
    lab::ended,
    stack::{Stack, json, problem},
};

/// A network with a name and a secret, and another one where `spare` is given.
fn template(spare: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16\n\
         parameters:\n\
         \x20 label: {{type: string, default: plain}}\n\
         \x20 secret: {{type: string, default: s3cret-value, hidden: true}}\n\
         resources:\n\
         \x20 net: {{type: OS::Neutron::Net, properties: {{name: {{get_param: label}}}}}}\n{spare}"
    )
}

#[tokio::test]
async fn a_deployment_returns_to_the_template_files_and_parameters_of_an_earlier_run() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let first = template("  spare: {type: OS::Neutron::Net}\n");
    let request = json!({"name": "shop", "template": first, "files": {"note.txt": "one"}, "parameters": {"secret": "a"}});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let (id, run) = (
        started["deployment"].as_str().unwrap(),
        started["run"].as_str().unwrap(),
    );
    let path = format!("/api/v1/deployments/{id}");
    let update = json!({"name": "", "template": template(""), "files": {}, "parameters": {"label": "green"}});
    let started = json(demo.put(&path, &update).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");

    let content = |run: &str| format!("/api/v1/runs/{run}/content");
    let stored = json(demo.get(&content(run)).await, 200).await;
    assert_eq!(stored["template"], json!(first));
    assert_eq!(stored["parameters"], json!({}), "hidden ones are left out");
    let newest = json(
        demo.get(&content(started["run"].as_str().unwrap())).await,
        200,
    )
    .await;
    assert_eq!(newest["parameters"], json!({"label": "green"}));

    let back = json!({"name": "", "run": run, "parameters": {"label": "plain"}});
    assert_eq!(
        problem(other.put(&path, &back).await).await.0,
        404,
        "of another project"
    );
    let missing = json!({"name": "", "run": "no-such-run"});
    assert_eq!(
        problem(demo.put(&path, &missing).await).await,
        (404, "not-found".into())
    );
    let started = json(demo.put(&path, &back).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let shown = json(demo.get(&path).await, 200).await;
    assert_eq!(shown["template"], json!(first));
    assert_eq!(shown["files"], json!({"note.txt": "one"}));
    let names = shown["resources"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["net", "spare"]);
}

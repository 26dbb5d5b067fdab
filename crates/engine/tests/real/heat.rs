//! Stacks of the cloud's own Heat, for comparison.

use std::collections::BTreeMap;
use std::time::Duration;

use openstack::{Error, Method, Service, Session};
use serde_json::{Value, json};

/// Pause between two polls of a stack.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Template, environment and files of a stack.
pub struct Content {
    pub template: String,
    /// Nested templates by their names in the template.
    pub files: BTreeMap<String, String>,
    /// Environments as YAML, in merge order.
    pub environments: BTreeMap<String, String>,
    pub parameters: BTreeMap<String, Value>,
}

/// A stack.
pub struct Stack<'a> {
    session: &'a Session,
    name: String,
    id: String,
}

impl<'a> Stack<'a> {
    /// Creates a stack and waits for it. A failed one is deleted again.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn create(
        session: &'a Session,
        name: &str,
        content: &Content,
    ) -> Result<Stack<'a>, String> {
        let mut body = body(content);
        body["stack_name"] = name.into();
        let call = session.call(Service::Orchestration, Method::POST, &["stacks"]);
        let made: Value = call.json(&body).fetch("stack").await.map_err(message)?;
        let stack = Stack {
            session,
            name: name.to_owned(),
            id: made["id"].as_str().expect("an id").to_owned(),
        };
        match stack.until("CREATE_COMPLETE").await {
            Ok(_) => Ok(stack),
            Err(error) => {
                stack.delete().await?;
                Err(error)
            }
        }
    }

    /// Updates the stack, and waits.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn update(&self, content: &Content) -> Result<(), String> {
        let call = self.call(Method::PUT).json(&body(content));
        call.send().await.map_err(message)?;
        self.until("UPDATE_COMPLETE").await.map(drop)
    }

    /// Deletes the stack, and waits.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn delete(&self) -> Result<(), String> {
        self.call(Method::DELETE).send().await.map_err(message)?;
        self.until("DELETE_COMPLETE").await.map(drop)
    }

    /// Outputs by name, without those with an error.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn outputs(&self) -> Result<BTreeMap<String, Value>, String> {
        let stack = self.shown().await?;
        let outputs = stack["outputs"].as_array().into_iter().flatten();
        let given = outputs.filter(|output| output.get("output_error").is_none());
        let named = given.map(|output| {
            let name = output["output_key"].as_str().expect("a name").to_owned();
            (name, output["output_value"].clone())
        });
        Ok(named.collect())
    }

    fn call(&self, method: Method) -> openstack::Call<'_> {
        let path = ["stacks", &self.name, &self.id];
        self.session.call(Service::Orchestration, method, &path)
    }

    async fn shown(&self) -> Result<Value, String> {
        self.call(Method::GET).fetch("stack").await.map_err(message)
    }

    async fn until(&self, wanted: &str) -> Result<Value, String> {
        loop {
            let stack = self.shown().await?;
            match stack["stack_status"].as_str().expect("a state") {
                state if state == wanted => return Ok(stack),
                state if state.ends_with("_IN_PROGRESS") || !state.starts_with(&wanted[..6]) => {}
                state => return Err(format!("{state}: {}", stack["stack_status_reason"])),
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

fn body(content: &Content) -> Value {
    let files: BTreeMap<_, _> = content.files.iter().chain(&content.environments).collect();
    json!({
        "template": content.template,
        "files": files,
        "environment_files": content.environments.keys().collect::<Vec<_>>(),
        "parameters": content.parameters,
        "timeout_mins": 60,
    })
}

fn message(error: Error) -> String {
    error.to_string()
}

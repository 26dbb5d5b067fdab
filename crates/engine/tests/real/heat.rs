//! Stacks of the cloud's own Heat, for comparison.

use std::collections::BTreeMap;
use std::time::Duration;

use openstack::{Error, Method, Service, Session};
use serde_json::{Value, json};

/// Pause between two polls of a stack.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Polls until a signal to a policy counts as ignored.
const SCALING_LOOKS: usize = 900;

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
        let stack = Stack::begin(session, name, content).await?;
        match stack.created().await {
            Ok(()) => Ok(stack),
            Err(error) => {
                stack.delete().await?;
                Err(error)
            }
        }
    }

    /// Starts the creation of a stack.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn begin(
        session: &'a Session,
        name: &str,
        content: &Content,
    ) -> Result<Stack<'a>, String> {
        let mut body = body(content);
        body["stack_name"] = name.into();
        let call = session.call(Service::Orchestration, Method::POST, &["stacks"]);
        let made: Value = call.json(&body).fetch("stack").await.map_err(message)?;
        Ok(Stack {
            session,
            name: name.to_owned(),
            id: made["id"].as_str().expect("an id").to_owned(),
        })
    }

    /// Waits until the stack is created.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn created(&self) -> Result<(), String> {
        self.until("CREATE_COMPLETE").await.map(drop)
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

    /// Suspends the stack, and waits.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn suspend(&self) -> Result<(), String> {
        self.act("suspend").await?;
        self.until("SUSPEND_COMPLETE").await.map(drop)
    }

    /// Resumes the suspended stack, and waits.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn resume(&self) -> Result<(), String> {
        self.act("resume").await?;
        self.until("RESUME_COMPLETE").await.map(drop)
    }

    async fn act(&self, action: &str) -> Result<(), String> {
        let call = self.below(Method::POST, &["actions"]);
        let sent = call.json(&json!({ action: null })).send().await;
        sent.map(drop).map_err(message)
    }

    /// Sends a signal to a resource, as soon as that is created.
    ///
    /// # Errors
    /// Heat's message.
    pub async fn signal(&self, resource: &str, body: &Value) -> Result<(), String> {
        while !self.is_created(resource).await? {
            let stack = self.shown().await?;
            if stack["stack_status"] == "CREATE_FAILED" {
                return Err(format!("CREATE_FAILED: {}", stack["stack_status_reason"]));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let call = self.below(Method::POST, &["resources", resource, "signal"]);
        call.json(body).send().await.map(drop).map_err(message)
    }

    async fn is_created(&self, resource: &str) -> Result<bool, String> {
        let call = self.below(Method::GET, &["resources"]);
        let resources: Vec<Value> = call.fetch("resources").await.map_err(message)?;
        let mut named = resources
            .iter()
            .filter(|one| one["resource_name"] == resource);
        Ok(named.any(|one| {
            let state = one["resource_status"].as_str().unwrap_or_default();
            state.ends_with("_COMPLETE") && !state.starts_with("INIT")
        }))
    }

    /// Signals a policy, and waits until its group is scaled: only then does Heat record the signal.
    ///
    /// # Errors
    /// Heat's message. If Heat ignores the signal, as during a cooldown.
    pub async fn scale(&self, policy: &str) -> Result<(), String> {
        let before = self.recorded_signals(policy).await?;
        self.signal(policy, &json!({})).await?;
        for _ in 0..SCALING_LOOKS {
            if self.recorded_signals(policy).await? > before {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(format!("Heat has not carried out the signal to `{policy}`"))
    }

    async fn recorded_signals(&self, resource: &str) -> Result<usize, String> {
        let call = self.below(Method::GET, &["resources", resource, "events"]);
        let events: Vec<Value> = call.fetch("events").await.map_err(message)?;
        let states = events
            .iter()
            .filter_map(|event| event["resource_status"].as_str());
        Ok(states.filter(|state| state.starts_with("SIGNAL")).count())
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
        self.below(method, &[])
    }

    /// A call below the stack's address.
    fn below(&self, method: Method, path: &[&str]) -> openstack::Call<'_> {
        let stack = ["stacks", &self.name, &self.id];
        let path = [&stack[..], path].concat();
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

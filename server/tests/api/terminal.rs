//! Terminals: who gets one, and what is recorded. The lab in memory has no sshd: a terminal tries to log in until it is
//! ended.

use std::time::Duration;

use futures::StreamExt;
use lab::Lab;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{
    self, Message, client::IntoClientRequest, protocol::frame::coding::CloseCode,
};

use crate::{
    lab::{ended, stack_with},
    stack::{Client, Stack, json, problem},
    stream::Socket,
};

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
";

/// Software gives the server a login.
const NGINX: &str =
    "  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}}}\n";

const PATIENCE: Duration = Duration::from_secs(300);

async fn start(settings: &[&str]) -> (Lab, Stack, Client) {
    let (lab, stack) = stack_with(settings).await;
    let browser = stack.login("demo").await;
    (lab, stack, browser)
}

async fn deploy(browser: &Client, name: &str, template: &str) -> Value {
    let body = json!({"name": name, "template": template});
    json(browser.post("/api/v1/deployments", &body).await, 202).await
}

fn path(started: &Value, server: &str) -> String {
    let deployment = started["deployment"].as_str().unwrap();
    format!("/api/v1/deployments/{deployment}/servers/{server}/terminal")
}

async fn connect(
    browser: &Client,
    path: &str,
    origin: Option<&str>,
) -> tungstenite::Result<Socket> {
    let url = format!("{}{path}", browser.base.replace("http", "ws"));
    let mut request = url.into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("cookie", browser.cookie.as_ref().unwrap().parse().unwrap());
    if let Some(origin) = origin {
        headers.insert("origin", origin.parse().unwrap());
    }
    Ok(tokio_tungstenite::connect_async(request).await?.0)
}

/// The status of a refused handshake.
async fn refused(browser: &Client, path: &str, origin: Option<&str>) -> u16 {
    match connect(browser, path, origin).await.err().unwrap() {
        tungstenite::Error::Http(response) => response.status().as_u16(),
        other => panic!("{other}"),
    }
}

/// The reason in the last message, and the close code.
async fn end(socket: &mut Socket) -> (String, CloseCode) {
    let mut reason = String::new();
    loop {
        let message = tokio::time::timeout(PATIENCE, socket.next()).await;
        match message.expect("it ends").unwrap().unwrap() {
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(message["type"], "ended", "{message}");
                reason = message["reason"].as_str().unwrap().to_owned();
            }
            Message::Close(frame) => return (reason, frame.unwrap().code),
            _ => {}
        }
    }
}

/// The terminals in the audit trail: action without the path, and status. Oldest first.
async fn trail(browser: &Client) -> Vec<(String, u64)> {
    let events = json(browser.get("/api/v1/audit").await, 200).await;
    let events = events.as_array().unwrap().iter().rev();
    let of_terminals = events.filter_map(|event| {
        let action = event["action"].as_str()?;
        let pattern = " /api/v1/deployments/{id}/servers/{name}/terminal";
        assert!(!action.contains(pattern) || event["target"].as_str()?.ends_with("/terminal"));
        let action = action
            .contains(pattern)
            .then(|| action.replace(pattern, ""))?;
        Some((action, event["status"].as_u64()?))
    });
    of_terminals.collect()
}

#[tokio::test]
async fn members_of_the_project_alone_get_a_terminal_and_from_our_own_pages() {
    let (_lab, stack, browser) = start(&[]).await;
    let started = deploy(&browser, "shop", TEMPLATE).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");
    let web = path(&started, "web");

    let other = stack.login("other").await;
    assert_eq!(refused(&other, &web, None).await, 404);
    assert_eq!(refused(&browser, &path(&started, "front"), None).await, 404);
    let unknown = json!({"deployment": "no-such-deployment"});
    assert_eq!(refused(&browser, &path(&unknown, "web"), None).await, 404);
    let foreign = Some("https://evil.example");
    assert_eq!(refused(&browser, &web, foreign).await, 403);
    let nobody = stack.stranger().get(&web).await;
    assert_eq!(problem(nobody).await, (401, "not-signed-in".into()));
    let no_socket = browser.get(&web).await;
    assert_eq!(problem(no_socket).await, (422, "invalid-request".into()));
    // The request from another site's page.
    assert_eq!(trail(&browser).await, [("GET".to_owned(), 403)]);
    assert_eq!(trail(&other).await, []);
}

#[tokio::test]
async fn a_reader_gets_no_terminal() {
    let stack = Stack::start().await;
    let reader = stack.login("ada").await;
    let answer = reader
        .get("/api/v1/deployments/d/servers/web/terminal")
        .await;
    assert_eq!(problem(answer).await, (403, "reader-cannot-change".into()));
    let member = stack.login("demo").await;
    assert_eq!(trail(&member).await, [("GET".to_owned(), 403)]);
}

#[tokio::test]
async fn a_terminal_that_cannot_be_opened_tells_the_page_why() {
    let (_lab, _stack, browser) = start(&[]).await;
    let started = deploy(&browser, "shop", TEMPLATE).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");
    let web = path(&started, "web");
    let mut socket = connect(&browser, &web, None).await.unwrap();
    let (reason, code) = end(&mut socket).await;
    assert!(
        reason.starts_with("The deployment has no bastion"),
        "{reason}"
    );
    assert_eq!(code, CloseCode::Normal);
    assert_eq!(trail(&browser).await, [("OPEN".to_owned(), 409)]);
}

#[tokio::test]
async fn a_terminal_ends_with_its_login_and_both_are_recorded() {
    let (lab, stack, browser) = start(&["--person-terminals=1"]).await;
    let started = deploy(&browser, "shop", &format!("{TEMPLATE}{NGINX}")).await;
    let rules = || {
        lab.model(|model| {
            let mut rules = model.security_group_rules.iter();
            rules.any(|rule| format!("{rule:?}").contains("ssh for the run"))
        })
    };
    // The run waits for the server's sshd.
    let opened = async {
        while !rules() {
            tokio::time::sleep(Duration::from_millis(10)).await
        }
    };
    tokio::time::timeout(PATIENCE, opened)
        .await
        .expect("the run opens the bastion");
    let web = path(&started, "web");
    let mut socket = connect(&browser, &web, None).await.unwrap();
    let recorded = async { while trail(&browser).await.is_empty() {} };
    tokio::time::timeout(PATIENCE, recorded)
        .await
        .expect("the opening is recorded");
    let mut second = connect(&browser, &web, None).await.unwrap();
    let (reason, _) = end(&mut second).await;
    assert!(reason.contains("1 open terminals of yours"), "{reason}");

    assert_eq!(
        browser.post("/api/v1/logout", &json!({})).await.status(),
        204
    );
    let (reason, code) = end(&mut socket).await;
    assert_eq!(
        (reason.as_str(), code),
        ("The login has ended. Log in again.", CloseCode::Policy)
    );
    assert!(rules(), "the run still needs the bastion");

    let again = stack.login("demo").await;
    let closed = async {
        loop {
            let trail = trail(&again).await;
            if trail
                .iter()
                .any(|(action, _)| action.starts_with("CLOSE after "))
            {
                return trail;
            }
        }
    };
    let trail = tokio::time::timeout(PATIENCE, closed)
        .await
        .expect("the end is recorded");
    let statuses: Vec<u64> = trail.iter().map(|(_, status)| *status).collect();
    assert_eq!(statuses, [101, 409, 200], "{trail:?}");
}

#[tokio::test]
async fn the_console_of_a_server_tells_what_it_wrote_and_why_there_is_no_screen() {
    let (_lab, stack, browser) = start(&[]).await;
    let started = deploy(&browser, "shop", TEMPLATE).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");
    let console = |server| path(&started, server).replace("terminal", "console");
    let web = console("web");

    let log = json(browser.get(&web).await, 200).await;
    let text = log["text"].as_str().unwrap();
    assert!(text.contains("exists in memory only"), "{text}");
    // Like a cloud without a console proxy, the lab gives no graphical console.
    let refused = json(browser.post(&web, &json!({})).await, 502).await;
    assert_eq!(refused["code"], "cloud-error");
    let detail = refused["detail"].as_str().unwrap();
    assert!(
        detail.contains("Unavailable console type novnc"),
        "{detail}"
    );

    let other = stack.login("other").await;
    for (who, path) in [(&other, &web), (&browser, &console("front"))] {
        let not_found = (404, "not-found".to_owned());
        assert_eq!(problem(who.get(path).await).await, not_found);
        assert_eq!(problem(who.post(path, &json!({})).await).await, not_found);
    }
    let events = json(browser.get("/api/v1/audit").await, 200).await;
    let opened = |event: &Value| event["action"].as_str().unwrap().ends_with("/console");
    let opened = events.as_array().unwrap().iter().filter(|one| opened(one));
    let status: Vec<_> = opened.map(|event| event["status"].clone()).collect();
    assert_eq!(status, [json!(404), json!(502)]);
}

#[tokio::test]
async fn a_server_is_stopped_started_and_rebooted_and_its_state_is_that_of_the_cloud() {
    let (_lab, stack, browser) = start(&[]).await;
    let started = deploy(&browser, "shop", TEMPLATE).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");
    let deployment = started["deployment"].as_str().unwrap();
    let list = format!("/api/v1/deployments/{deployment}/servers");
    let power = |server: &str| format!("{list}/{server}/power");
    let state = async || {
        let servers = json(browser.get(&list).await, 200).await;
        assert_eq!(servers.as_array().unwrap().len(), 1);
        servers[0].clone()
    };
    let becomes = async |status: &str| {
        let same = async { while state().await["status"] != status {} };
        tokio::time::timeout(PATIENCE, same).await.expect(status);
    };
    let shown = state().await;
    assert_eq!(
        (shown["name"].as_str(), shown["status"].as_str()),
        (Some("web"), Some("ACTIVE"))
    );
    let addresses = shown["addresses"].as_array().unwrap();
    assert_eq!(
        addresses.len(),
        2,
        "the floating IP comes last: {addresses:?}"
    );
    assert!(addresses[0].as_str().unwrap().starts_with("10.7.0."));

    let send = async |action: &str| browser.post(&power("web"), &json!({"power": action})).await;
    assert_eq!(send("stop").await.status(), 202);
    becomes("SHUTOFF").await;
    let refused = send("stop").await;
    assert_eq!(problem(refused).await, (409, "not-possible-now".into()));
    assert_eq!(send("start").await.status(), 202);
    becomes("ACTIVE").await;
    assert_eq!(send("reboot").await.status(), 202);
    becomes("ACTIVE").await;

    let not_found = (404, "not-found".to_owned());
    let body = json!({"power": "stop"});
    let missing = browser.post(&power("front"), &body).await;
    assert_eq!(problem(missing).await, not_found);
    let other = stack.login("other").await;
    assert_eq!(problem(other.get(&list).await).await, not_found);
    assert_eq!(
        problem(other.post(&power("web"), &body).await).await,
        not_found
    );
}

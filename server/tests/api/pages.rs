//! Responses to a browser before it runs scripts.

use std::fs;

use reqwest::header;

use crate::stack::Stack;

#[tokio::test]
async fn a_page_without_a_session_leads_to_the_login_and_back() {
    let stack = Stack::start().await;
    let redirect = stack.stranger().get("/runs/7?step=web").await;
    assert_eq!(redirect.status(), 303);
    assert_eq!(
        redirect.headers()[header::LOCATION],
        "/login?next=/runs/7%3Fstep%3Dweb"
    );
    let browser = stack.login("demo").await;
    assert_eq!(browser.get("/runs/7?step=web").await.status(), 200);
    let back = browser.get("/login?next=/runs/7%3Fstep%3Dweb").await;
    assert_eq!(back.headers()[header::LOCATION], "/runs/7?step=web");
    assert_eq!(
        browser.get("/").await.headers()[header::LOCATION],
        "/designs"
    );
}

#[tokio::test]
async fn a_page_may_run_the_script_with_its_nonce_and_our_files_only() {
    let stack = Stack::start().await;
    let page = stack.stranger().get("/login").await;
    assert_eq!(page.status(), 200);
    let policy = page.headers()[header::CONTENT_SECURITY_POLICY]
        .to_str()
        .unwrap()
        .to_owned();
    let html = page.text().await.unwrap();
    let nonce = policy
        .split("'nonce-")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    assert!(!nonce.is_empty() && html.contains(&format!("nonce=\"{nonce}\"")));
    for inline in html.split("<script").skip(1) {
        let tag = inline.split('>').next().unwrap();
        assert!(
            tag.contains("nonce=") || tag.contains("src="),
            "<script{tag}> would not run"
        );
    }
    assert!(
        policy.contains("frame-ancestors 'none'")
            && !policy.contains("script-src 'self' 'unsafe-inline'"),
        "{policy}"
    );
    assert!(html.contains("/pkg/stackloom"));
}

#[tokio::test]
async fn a_page_can_recover_before_its_program_is_there() {
    let stack = Stack::start().await;
    let html = stack.stranger().get("/login").await.text().await.unwrap();
    let (head, body) = html.split_once("<body").unwrap();
    let (_, message) = head.split_once("id=\"program-missing\"").unwrap();
    let (message, _) = message.split_once("</template>").unwrap();
    for text in ["The page could not be loaded", "Load again"] {
        assert!(message.contains(text), "{message}");
        assert!(
            !body.contains(text),
            "the message is shown after a failure only"
        );
    }
    let recovery = head.find("stackloomProgram").unwrap();
    let program = head.find("import(").unwrap();
    assert!(
        recovery < program,
        "the recovery begins before the program is fetched"
    );
}

#[tokio::test]
async fn a_path_that_is_no_page_is_our_own_not_found_page() {
    let stack = Stack::start().await;
    let page = stack.stranger().get("/nothing/here").await;
    assert_eq!(page.status(), 404);
    assert!(
        page.headers()[header::CONTENT_TYPE]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
}

#[tokio::test]
async fn files_are_served_compressed_and_asked_for_again_only_when_they_change() {
    let stack = Stack::start().await;
    fs::write(stack.site().join("pkg/stackloom.wasm"), b"plain").unwrap();
    fs::write(stack.site().join("pkg/stackloom.wasm.br"), b"precompressed").unwrap();
    let browser = stack.stranger();
    let ask = || {
        browser
            .request(reqwest::Method::GET, "/pkg/stackloom.wasm")
            .header(header::ACCEPT_ENCODING, "br")
    };
    let file = ask().send().await.unwrap();
    assert_eq!(file.headers()[header::CONTENT_TYPE], "application/wasm");
    assert_eq!(file.headers()[header::CONTENT_ENCODING], "br");
    let changed = file.headers()[header::LAST_MODIFIED].clone();
    assert_eq!(file.bytes().await.unwrap(), "precompressed");
    let again = ask()
        .header(header::IF_MODIFIED_SINCE, changed)
        .send()
        .await
        .unwrap();
    assert_eq!(again.status(), 304);
    assert_eq!(browser.get("/pkg/../stackloom.db").await.status(), 404);
    assert_eq!(
        browser.get("/pkg/%2e%2e/%2e%2e/clouds.yaml").await.status(),
        404
    );
}

#[tokio::test]
async fn a_program_is_kept_for_good_icons_for_a_day_and_what_is_missing_not() {
    let stack = Stack::start().await;
    fs::create_dir(stack.site().join("pkg/app-1")).unwrap();
    fs::write(stack.site().join("pkg/app-1/stackloom.js"), b"").unwrap();
    let browser = stack.stranger();
    let kept = async |path: &str| {
        let file = browser.get(&format!("/pkg/{path}")).await;
        file.headers()[header::CACHE_CONTROL].clone()
    };
    assert_eq!(kept("icons.svg?v=1").await, "public, no-cache");
    fs::write(stack.site().join("pkg/icons.svg"), b"<svg/>").unwrap();
    for (path, how) in [
        ("app-1/stackloom.js", "public, max-age=31536000, immutable"),
        ("app-2/stackloom.js", "public, no-cache"),
        ("icons.svg?v=1", "public, max-age=86400"),
        ("icons.svg", "public, no-cache"),
    ] {
        assert_eq!(kept(path).await, how, "{path}");
    }
}

#[tokio::test]
async fn only_the_worker_may_run_a_module_without_a_page() {
    let stack = Stack::start().await;
    fs::create_dir(stack.site().join("pkg/app-1")).unwrap();
    let browser = stack.stranger();
    for (script, may) in [("worker.js", true), ("planner.js", false)] {
        fs::write(stack.site().join("pkg/app-1").join(script), b"").unwrap();
        let file = browser.get(&format!("/pkg/app-1/{script}")).await;
        let policy = file.headers()[header::CONTENT_SECURITY_POLICY].to_str();
        let policy = policy.unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert_eq!(policy.contains("wasm-unsafe-eval"), may, "{policy}");
    }
}

#[tokio::test]
async fn every_code_has_its_page() {
    let stack = Stack::start().await;
    for code in server::CODES {
        let page = stack.stranger().get(&format!("/errors/{code}")).await;
        assert_eq!(page.status(), 200, "{code}");
    }
    assert_eq!(stack.stranger().get("/errors/nonsense").await.status(), 404);
}

#[tokio::test]
async fn operators_see_that_it_lives_and_what_it_counts() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    assert_eq!(browser.get("/healthz").await.status(), 200);
    assert_eq!(browser.get("/readyz").await.status(), 200);
    let text = browser.get("/metrics").await.text().await.unwrap();
    assert!(text.contains("stackloom_sessions 1\n"), "{text}");
    assert!(
        text.contains(r#"{method="POST",route="/api/v1/login",status="200"} 1"#),
        "{text}"
    );
    assert!(!text.contains("demo"), "no names: {text}");
}

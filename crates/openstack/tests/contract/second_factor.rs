//! Keystone: logins with a one-time code beside the password.

use openstack::{Credentials, Error, Identifier, Method, Scope, Service, Session};
use serde_json::{Value, json};
use sha1::{Digest, Sha1};

use crate::world::{World, admin_case};

/// TOTP seed, shared by the authenticator and Keystone. Keystone requires at least 16 bytes.
const SEED: &[u8] = b"12345678901234567890";
const SEED_BASE32: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

/// The six-digit TOTP code of RFC 6238 at a time in seconds since 1970.
fn code(seed: &[u8], time: u64) -> String {
    let pad = |with: u8| {
        let mut block = [with; 64];
        for (byte, of_seed) in block.iter_mut().zip(seed) {
            *byte ^= of_seed;
        }
        block
    };
    // HMAC of RFC 2104; the seed is shorter than a block.
    let inner = Sha1::new().chain_update(pad(0x36));
    let inner = inner.chain_update((time / 30).to_be_bytes()).finalize();
    let outer = Sha1::new().chain_update(pad(0x5c)).chain_update(inner);
    let hash = outer.finalize();
    let at = usize::from(hash[19] & 15);
    let four = [hash[at] & 127, hash[at + 1], hash[at + 2], hash[at + 3]];
    format!("{:06}", u32::from_be_bytes(four) % 1_000_000)
}

fn code_now() -> String {
    code(SEED, jiff::Timestamp::now().as_second().unsigned_abs())
}

#[test]
fn codes_are_those_of_rfc_6238() {
    // RFC 6238, appendix B: the last six of eight digits.
    assert_eq!(code(SEED, 59), "287082");
    assert_eq!(code(SEED, 1_111_111_109), "081804");
    assert_eq!(code(SEED, 20_000_000_000), "353130");
}

/// A member of the administrator's project. The password is the user name.
async fn member(w: &World) -> Identifier {
    let body = json!({"user": {"name": w.name, "domain_id": "default", "password": w.name}});
    let user = w.make(Service::Identity, "users", body).await;
    let user = user["id"].as_str().unwrap().to_owned();
    let roles = w.get(Service::Identity, "roles?name=member").await;
    let role = roles.text("/roles/0/id");
    let project = &w.session.project().unwrap().id;
    let path = format!("projects/{project}/users/{user}/roles/{role}");
    let response = w
        .ask(Service::Identity, Method::PUT, &path, None, None)
        .await;
    w.status("a role for the user", &response, 204);
    Identifier::Id(user)
}

#[tokio::test]
async fn a_code_beside_the_password() {
    admin_case("factors", async |w| {
        let user = member(w).await;
        let id = user.as_str().to_owned();
        let body = json!({"credential": {"user_id": id, "type": "totp", "blob": SEED_BASE32}});
        let made = w.make(Service::Identity, "credentials", body).await;
        w.has(
            "a credential",
            &made,
            &["id", "user_id", "type", "blob", "project_id", "links"],
        );

        let scope = Scope::project_id(&w.session.project().unwrap().id);
        let cloud = w.session.cloud();
        let password = |passcode: Option<String>| Credentials::Password {
            user: user.clone(),
            password: w.name.as_str().into(),
            passcode: passcode.map(Into::into),
        };
        let login = async |credentials: &Credentials| {
            Session::login(cloud, credentials, Some(&scope)).await
        };
        let plain = login(&password(None)).await;
        w.is("without a rule the password is enough", plain.is_ok(), true);
        if let Err(error) = login(&password(Some(code_now()))).await {
            // The enabled methods are in Keystone's configuration; `totp` is not enabled by default.
            let words = error.message().unwrap_or_default();
            assert!(words.contains("unsupported method"), "{error}");
            eprintln!("factors: skipped, the cloud takes no one-time codes");
            return;
        }

        let rules = json!({"user": {"options": {"multi_factor_auth_enabled": true,
            "multi_factor_auth_rules": [["password", "totp"]]}}});
        let path = format!("users/{id}");
        let response = w
            .ask(Service::Identity, Method::PATCH, &path, Some(rules), None)
            .await;
        w.status("PATCH of the rules", &response, 200);
        w.is(
            "the rules are kept",
            response.at("/user/options/multi_factor_auth_rules"),
            json!([["password", "totp"]]),
        );

        let error = login(&password(None)).await.unwrap_err();
        let Error::SecondFactor {
            missing, receipt, ..
        } = error
        else {
            panic!("a second factor is wanted: {error}");
        };
        w.is("what is missing", json!(missing), json!([["totp"]]));
        let with = |passcode: String| Credentials::Passcode {
            user: user.clone(),
            passcode: passcode.into(),
            receipt: receipt.clone(),
        };
        let now = code_now();
        let wrong = if now == "000000" { "000001" } else { "000000" };
        for credentials in [with(wrong.into()), password(Some(wrong.into()))] {
            let refused = login(&credentials).await;
            let refused = matches!(refused, Err(Error::WrongCredentials { .. }));
            w.is("a wrong code", refused, true);
        }
        for credentials in [with(code_now()), password(Some(code_now()))] {
            let session = login(&credentials).await.unwrap();
            w.is("a right code", session.user().id.as_str(), id.as_str());
            let call = session.call(Service::Identity, Method::GET, &["auth", "tokens"]);
            let call = call.header("x-subject-token", session.token().expose());
            let body: Value = call.send().await.unwrap().json().unwrap();
            let mut methods: Vec<&str> = body["token"]["methods"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            methods.sort_unstable();
            w.is(
                "both methods stand in the token",
                json!(methods),
                json!(["password", "token", "totp"]),
            );
            // A session can change to another project without a code.
            let again = session.in_scope(&scope).await;
            w.is("from one scope to the next", again.is_ok(), true);
        }
    })
    .await;
}

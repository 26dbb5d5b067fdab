//! Keystone: logins, tokens, projects.

use openstack::application_credentials::NewApplicationCredential;
use openstack::{Credentials, Error, LoginMethod, Method, Scope, Service, Session};
use serde_json::json;

use crate::world::case;

#[tokio::test]
async fn tokens() {
    case("tokens", &[], async |w| {
        let response = w
            .ask(Service::Identity, Method::GET, "auth/tokens", None, None)
            .await;
        // The subject token is a separate header. Without one, the request has no target.
        w.status("GET auth/tokens without a subject", &response, 403);

        let me = &w.session;
        let subject = me.token().expose();
        let call = me
            .call(Service::Identity, Method::GET, &["auth", "tokens"])
            .header("x-subject-token", subject);
        let answer = call.answer().await.unwrap();
        w.is("GET auth/tokens", answer.status, 200);
        let body: serde_json::Value = answer.json().unwrap();
        w.has(
            "a token",
            &body["token"],
            &[
                "methods",
                "user",
                "audit_ids",
                "expires_at",
                "issued_at",
                "project",
                "is_domain",
                "roles",
                "catalog",
            ],
        );
        w.has(
            "a token's user",
            &body["token"]["user"],
            &["id", "name", "domain", "password_expires_at"],
        );
        let catalog = body["token"]["catalog"].as_array().unwrap();
        w.has(
            "a service of the catalogue",
            &catalog[0],
            &["id", "type", "name", "endpoints"],
        );
        w.has(
            "an endpoint of the catalogue",
            &catalog[0]["endpoints"][0],
            &["id", "interface", "region", "region_id", "url"],
        );
        w.is(
            "the token comes back with its validation",
            answer.header("x-subject-token"),
            subject,
        );

        let call = me
            .call(Service::Identity, Method::HEAD, &["auth", "tokens"])
            .header("x-subject-token", subject);
        w.is("HEAD auth/tokens", call.answer().await.unwrap().status, 200);
        let call = me
            .call(Service::Identity, Method::GET, &["auth", "tokens"])
            .header("x-subject-token", "nonsense");
        w.is(
            "GET auth/tokens of nonsense",
            call.answer().await.unwrap().status,
            404,
        );

        // A token of another scope from an existing token, without a password.
        let project = me.project().unwrap().id.clone();
        let again = me.in_scope(&Scope::project_id(&project)).await.unwrap();
        w.is(
            "a rescoped token is another",
            again.token().expose() == subject,
            false,
        );
        w.is(
            "a rescoped token ends when the first does",
            again.expires_at().to_string(),
            me.expires_at().to_string(),
        );
        let unscoped = me.in_scope(&Scope::Unscoped).await.unwrap();
        w.is(
            "an unscoped token has no project",
            unscoped.project().is_none(),
            true,
        );
        w.is(
            "an unscoped token has no catalogue",
            unscoped.catalog().service_types().count(),
            0,
        );
        again.revoke().await.unwrap();
        let error = again.network().external_networks().await.unwrap_err();
        w.is("a revoked token", error.status(), 401);
        let still = w.get(Service::Network, "networks?limit=1").await;
        w.status("the token that it came from goes on", &still, 200);
    })
    .await;
}

#[tokio::test]
async fn logins_that_are_refused() {
    case("refused", &[], async |w| {
        let cloud = w.session.cloud();
        let user = w.session.user();
        let wrong = Credentials::password(&user.name, &user.domain.name, "certainly not");
        let error = Session::login(cloud, &wrong, None).await.unwrap_err();
        w.is(
            "a wrong password",
            matches!(error, Error::WrongCredentials { .. }),
            true,
        );
        for (what, wrong, method) in [
            (
                "an unknown application credential",
                Credentials::application_credential("0123456789abcdef0123456789abcdef", "no"),
                LoginMethod::ApplicationCredential,
            ),
            (
                "a token that nobody issued",
                Credentials::token("gAAAAAnonsense"),
                LoginMethod::Token,
            ),
        ] {
            let error = Session::login(cloud, &wrong, None).await.unwrap_err();
            let refused =
                matches!(error, Error::WrongCredentials { method: response, .. } if response == method);
            w.is(what, refused, true);
        }
        let mut elsewhere = cloud.clone();
        elsewhere.region = Some("Nowhere".into());
        let token = w.session.token().clone();
        let error = Session::from_token(&elsewhere, token).await.unwrap_err();
        w.is(
            "a region that the catalogue does not have",
            matches!(error, Error::UnknownRegion { known, .. } if !known.is_empty()),
            true,
        );
        let body = json!({"auth": {"identity": {"methods": ["password"]}}});
        let response = w.post(Service::Identity, "auth/tokens", body).await;
        w.status("POST auth/tokens without the password", &response, 400);
        w.is("Keystone names its errors", response.at("/error/code"), 400);
        w.has(
            "a refusal",
            &response.body["error"],
            &["code", "message", "title"],
        );
    })
    .await;
}

#[tokio::test]
async fn projects() {
    case("projects", &[], async |w| {
        let response = w.get(Service::Identity, "auth/projects").await;
        w.status("GET auth/projects", &response, 200);
        let mine = w.session.project().unwrap();
        let listed = response.list("projects");
        let found = listed
            .iter()
            .find(|project| project["id"] == mine.id.as_str());
        w.is("my project is listed", found.is_some(), true);
        w.has(
            "a project",
            found.unwrap_or(&json!({})),
            &[
                "id",
                "name",
                "domain_id",
                "enabled",
                "is_domain",
                "links",
                "parent_id",
            ],
        );
        w.has("the list", &response.body, &["links", "projects"]);
        let response = w.get(Service::Identity, "auth/catalog").await;
        w.status("GET auth/catalog", &response, 200);
        let response = w.get(Service::Identity, "nonsense").await;
        w.status("GET of nonsense", &response, 404);
    })
    .await;
}

#[tokio::test]
async fn application_credentials() {
    case("appcred", &[], async |w| {
        let user = w.session.user().id.clone();
        let path = format!("users/{user}/application_credentials");
        let body = json!({"application_credential": {"name": w.name, "description": "a test's"}});
        let made = w.make(Service::Identity, &path, body.clone()).await;
        w.has(
            "an application credential",
            &made,
            &[
                "id",
                "name",
                "description",
                "secret",
                "project_id",
                "roles",
                "expires_at",
                "unrestricted",
            ],
        );
        let response = w.post(Service::Identity, &path, body).await;
        w.refused("a second of the same name", &response, 409, "Conflict");
        let (id, secret) = (
            made["id"].as_str().unwrap(),
            made["secret"].as_str().unwrap(),
        );
        let cloud = w.session.cloud();
        let credentials = Credentials::application_credential(id, secret);
        let session = Session::login(cloud, &credentials, None).await.unwrap();
        w.is(
            "it carries its project",
            session.project().unwrap().id.clone(),
            w.session.project().unwrap().id.clone(),
        );
        let wrong = Credentials::application_credential(id, "nonsense");
        let error = Session::login(cloud, &wrong, None).await.unwrap_err();
        w.is(
            "a wrong secret",
            matches!(error, Error::WrongCredentials { .. }),
            true,
        );
        let response = w.get(Service::Identity, &format!("{path}/{id}")).await;
        w.status("GET of it", &response, 200);
        w.is(
            "the secret is shown once",
            response.at("/application_credential/secret"),
            serde_json::Value::Null,
        );
        let response = w.delete(Service::Identity, &format!("{path}/{id}")).await;
        w.status("DELETE of it", &response, 204);
        let error = Session::login(cloud, &credentials, None).await.unwrap_err();
        w.is(
            "one that is gone",
            matches!(error, Error::WrongCredentials { .. }),
            true,
        );
    })
    .await;
}

#[tokio::test]
async fn application_credentials_of_programs() {
    case("credentials", &[], async |w| {
        let me = &w.session;
        let name = format!("{}-credential", w.name);
        let roles: Vec<&str> = me.roles().iter().map(|role| role.name.as_str()).collect();
        let has_rules = me.identity().has_access_rules().await.unwrap();
        let rules = me.access_rules();
        let end = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(10);
        let new = NewApplicationCredential {
            name: &name,
            description: "of a test",
            roles: &roles[..1],
            expires_at: end,
            access_rules: if has_rules { &rules } else { &[] },
        };
        let made = me
            .identity()
            .application_credential_create(&new)
            .await
            .unwrap();
        let again = me.identity().application_credential_create(&new).await;
        w.is("the name is taken", again.unwrap_err().status(), 409);
        let credentials = Credentials::application_credential(&made.id, made.secret.clone());
        let program = Session::login(me.cloud(), &credentials, None)
            .await
            .unwrap();
        w.is("the login is restricted", program.is_restricted(), true);
        w.is(
            "its token ends with it",
            program.expires_at().as_second(),
            end.as_second(),
        );
        w.is("a login by password is not", me.is_restricted(), false);
        w.is(
            "it acts in the project",
            program.project().map(|project| project.id.as_str()),
            me.project().map(|project| project.id.as_str()),
        );
        w.is("its roles", program.has_role(roles[0]), true);
        let token = Session::from_token(me.cloud(), program.token().clone()).await;
        w.is(
            "its token is validated",
            token.unwrap().is_restricted(),
            true,
        );
        let more = NewApplicationCredential {
            name: "more",
            ..new
        };
        let more = program
            .identity()
            .application_credential_create(&more)
            .await;
        w.is("it creates no other one", more.is_err(), true);
        let identity = me.identity();
        identity.application_credential_delete(&name).await.unwrap();
        identity.application_credential_delete(&name).await.unwrap();
        let error = program.network().external_networks().await.unwrap_err();
        w.is("its token is deleted with it", error.status(), 401);
        let late = Session::login(me.cloud(), &credentials, None).await;
        w.is("a deleted one", late.is_err(), true);
    })
    .await;
}

//! Keystone: domains with users and groups, role assignments, regions, services and endpoints.

use openstack::{Method, Service};
use serde_json::{Value, json};

use crate::world::{Response, World, admin_case};

const KEYSTONE: Service = Service::Identity;

/// An empty PUT: the URL contains the member of the group or the role assignment.
async fn put_empty(w: &World, address: &str) -> Response {
    w.ask(KEYSTONE, Method::PUT, address, None, None).await
}

async fn id(w: &World, collection: &str, body: Value) -> String {
    let made = w.make(KEYSTONE, collection, body).await;
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_domain_has_users_and_groups() {
    admin_case("domain", async |w| {
        let name = w.name.as_str();
        // Roles outlive their domain, so they are deleted last.
        let role = id(w, "roles", json!({"role": {"name": name}})).await;
        let body = json!({"domain": {"name": name}});
        let made = w.make(KEYSTONE, "domains", body.clone()).await;
        w.has("a domain", &made, &["id", "name", "description", "enabled", "tags", "options", "links"]);
        let domain = made["id"].as_str().unwrap();
        let there = format!("domains/{domain}");
        w.status("a second of the name", &w.post(KEYSTONE, "domains", body).await, 409);
        w.status("an enabled domain stays", &w.delete(KEYSTONE, &there).await, 403);
        let user = json!({"user": {"name": name, "domain_id": domain, "password": "pw"}});
        let user = id(w, "users", user).await;
        let body = json!({"group": {"name": name, "domain_id": domain}});
        let group = id(w, "groups", body.clone()).await;
        w.status("a second group", &w.post(KEYSTONE, "groups", body).await, 409);
        let project = json!({"project": {"name": name, "domain_id": domain}});
        let project = id(w, "projects", project).await;
        let own = id(w, "roles", json!({"role": {"name": name, "domain_id": domain}})).await;
        let response = w.get(KEYSTONE, &format!("roles?name={name}")).await;
        w.is("roles that count everywhere", response.at("/roles/1"), Value::Null);
        w.is("that one", response.at("/roles/0/id"), role.as_str());
        let response = w.get(KEYSTONE, &format!("roles?name={name}&domain_id={domain}")).await;
        w.is("the domain's own", response.at("/roles/0/id"), own.as_str());

        let member = format!("groups/{group}/users/{user}");
        w.status("not in it", &w.get(KEYSTONE, &member).await, 404);
        w.status("into the group", &put_empty(w, &member).await, 204);
        w.status("into it again", &put_empty(w, &member).await, 204);
        w.status("in it", &w.get(KEYSTONE, &member).await, 204);
        w.status("nobody", &put_empty(w, &format!("groups/{group}/users/nobody")).await, 404);
        let response = w.get(KEYSTONE, &format!("users/{user}/groups")).await;
        w.is("the user's groups", response.at("/groups/0/id"), group.as_str());
        let grant = format!("projects/{project}/groups/{group}/roles/{role}");
        w.status("not given", &w.get(KEYSTONE, &grant).await, 404);
        w.status("given", &put_empty(w, &grant).await, 204);
        w.status("given again", &put_empty(w, &grant).await, 204);
        let response = w.get(KEYSTONE, &format!("role_assignments?group.id={group}&include_names=true")).await;
        w.is("by name", response.at("/role_assignments/0/scope/project/domain/name"), name);
        // A token never contains a domain-specific role.
        let only = format!("projects/{project}/users/{user}/roles/{own}");
        w.status("the domain's own, given", &put_empty(w, &only).await, 204);
        let login = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {"id": user, "password": "pw"}}},
            "scope": {"project": {"id": project}},
        }});
        let response = w.post(KEYSTONE, "auth/tokens", login.clone()).await;
        w.status("a login by the group's role", &response, 201);
        w.is("its only role", response.at("/token/roles"), json!([{"id": role, "name": name}]));
        w.status("out of the group", &w.delete(KEYSTONE, &member).await, 204);
        w.status("out of it again", &w.delete(KEYSTONE, &member).await, 404);
        let response = w.post(KEYSTONE, "auth/tokens", login.clone()).await;
        w.status("no login without it", &response, 401);
        w.status("into the group once more", &put_empty(w, &member).await, 204);
        let disabled = json!({"domain": {"enabled": false}});
        let response = w.ask(KEYSTONE, Method::PATCH, &there, Some(disabled), None).await;
        w.is("disabled", response.at("/domain/enabled"), false);
        let response = w.post(KEYSTONE, "auth/tokens", login).await;
        w.status("no login in a disabled domain", &response, 401);
        w.status("the domain goes", &w.delete(KEYSTONE, &there).await, 204);
        for gone in [there, format!("users/{user}"), format!("groups/{group}"), format!("projects/{project}")] {
            let what = gone.split('/').next().unwrap();
            w.status(&format!("with it, {what}"), &w.get(KEYSTONE, &gone).await, 404);
        }
        w.status("but its roles", &w.get(KEYSTONE, &format!("roles/{own}")).await, 200);
    })
    .await;
}

#[tokio::test]
async fn a_project_stays_while_it_has_children() {
    admin_case("family", async |w| {
        let body = json!({"project": {"name": w.name, "domain_id": "default"}});
        let parent = id(w, "projects", body).await;
        let body = json!({"project": {"name": format!("{}-child", w.name), "domain_id": "default", "parent_id": parent}});
        let child = id(w, "projects", body).await;
        let response = w.delete(KEYSTONE, &format!("projects/{parent}")).await;
        w.status("a parent stays", &response, 403);
        let response = w.delete(KEYSTONE, &format!("projects/{child}")).await;
        w.status("a child goes", &response, 204);
    })
    .await;
}

#[tokio::test]
async fn services_endpoints_and_regions() {
    admin_case("catalogue", async |w| {
        let name = w.name.as_str();
        let region = json!({"region": {"id": name}});
        w.make(KEYSTONE, "regions", region.clone()).await;
        w.status("a second region", &w.post(KEYSTONE, "regions", region).await, 409);
        let lost = json!({"region": {"id": format!("{name}-lost"), "parent_region_id": "nowhere"}});
        w.status("a region in none", &w.post(KEYSTONE, "regions", lost).await, 404);
        let body = json!({"service": {"type": name, "name": name}});
        let made = w.make(KEYSTONE, "services", body).await;
        w.is("a service is not described by itself", made.get("description").cloned(), Value::Null);
        let service = made["id"].as_str().unwrap();
        let response = w.post(KEYSTONE, "services", json!({"service": {"name": name}})).await;
        w.status("a service of no type", &response, 400);
        let endpoint = |service: &str, interface: &str, region: &str| {
            json!({"endpoint": {"service_id": service, "interface": interface, "url": "http://x", "region_id": region}})
        };
        let made = w.make(KEYSTONE, "endpoints", endpoint(service, "public", name)).await;
        w.is("its region, twice", made["region"].clone(), name);
        for (what, body) in [
            ("of no service", endpoint("nothing", "public", name)),
            ("in no region", endpoint(service, "public", "nowhere")),
            ("of no kind", endpoint(service, "sideways", name)),
        ] {
            let response = w.post(KEYSTONE, "endpoints", body).await;
            w.status(&format!("an endpoint {what}"), &response, 400);
        }
        let region = format!("regions/{name}");
        w.status("a region in use", &w.delete(KEYSTONE, &region).await, 403);
        let endpoint = format!("endpoints/{}", made["id"].as_str().unwrap());
        let body = Some(json!({"endpoint": {"url": "http://y"}}));
        let response = w.ask(KEYSTONE, Method::PATCH, &endpoint, body, None).await;
        w.is("another address", response.at("/endpoint/url"), "http://y");
        w.status("the service goes", &w.delete(KEYSTONE, &format!("services/{service}")).await, 204);
        w.status("with its endpoints", &w.get(KEYSTONE, &endpoint).await, 404);
        w.status("the region goes", &w.delete(KEYSTONE, &region).await, 204);
        let member = w.member().await;
        w.status("all know the regions", &w.other(&member, KEYSTONE, "regions", Value::Null).await, 200);
        w.status("not the services", &w.other(&member, KEYSTONE, "services", Value::Null).await, 403);
        w.status("nor the domains", &w.other(&member, KEYSTONE, "domains", Value::Null).await, 403);
    })
    .await;
}

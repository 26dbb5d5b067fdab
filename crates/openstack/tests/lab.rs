//! The client against the lab cloud in memory: login, look-ups, quotas, secrets.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use lab::{Backend, CallFault, Fault, Lab, LabConfig};
use openstack::network::Network;
use openstack::{CloudConfig, Credentials, Error, Scope, Secret, Service, Session};

async fn session(lab: &Lab, name: &str) -> Session {
    log_in(&CloudConfig::new("lab", &lab.auth_url()), name).await
}

async fn log_in(config: &CloudConfig, name: &str) -> Session {
    let credentials = Credentials::password(name, "Default", name);
    let scope = Scope::project(name, "Default");
    Session::login(config, &credentials, Some(&scope))
        .await
        .unwrap()
}

#[tokio::test]
async fn failed_logins_have_different_errors() {
    let lab = Lab::memory().await.unwrap();
    let config = CloudConfig::new("lab", &lab.auth_url());
    let login = async |password: &str, project: &str| {
        let credentials = Credentials::password("demo", "Default", password);
        Session::login(
            &config,
            &credentials,
            Some(&Scope::project(project, "Default")),
        )
        .await
    };
    assert!(login("demo", "demo").await.is_ok());
    assert!(matches!(
        login("wrong", "demo").await.unwrap_err(),
        Error::WrongCredentials { .. }
    ));
    // `other` exists, but `demo` has no role in it.
    for project in ["nowhere", "other"] {
        let error = login("demo", project).await.unwrap_err();
        let Error::UnknownProject { accessible, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(accessible, ["demo"]);
    }
}

#[tokio::test]
async fn a_token_works_until_it_is_revoked() {
    let lab = Lab::memory().await.unwrap();
    let first = session(&lab, "demo").await;
    let config = first.cloud().clone();
    let second = Session::from_token(&config, first.token().clone())
        .await
        .unwrap();
    assert_eq!(second.user(), first.user());
    assert_eq!(second.project(), first.project());
    second.compute().flavor_list().await.unwrap();
    first.revoke().await.unwrap();
    first.revoke().await.unwrap();
    let error = second.compute().flavor_list().await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
}

#[tokio::test]
async fn lists_for_forms_have_ids_and_names() {
    let lab = Lab::memory().await.unwrap();
    let session = session(&lab, "demo").await;
    for service in [
        Service::Compute,
        Service::Network,
        Service::Image,
        Service::KeyManager,
    ] {
        assert!(session.has_service(service), "{service}");
    }
    assert_eq!(
        session
            .image()
            .image_find("debian-12")
            .await
            .unwrap()
            .status,
        "active"
    );
    assert_eq!(
        session
            .compute()
            .flavor_find("m1.small")
            .await
            .unwrap()
            .name,
        "m1.small"
    );
    let external = session.network().external_networks().await.unwrap();
    assert_eq!(external[0].name.as_deref(), Some("public"));
    assert!(
        session
            .compute()
            .zone_list()
            .await
            .unwrap()
            .iter()
            .any(|zone| zone.available)
    );
    assert!(session.compute().key_pair_list().await.unwrap().is_empty());
    let project = session.project().unwrap().id.clone();
    for (service, name) in [
        (Service::Compute, "cores"),
        (Service::Network, "floatingip"),
        (Service::BlockStorage, "gigabytes"),
        (Service::LoadBalancer, "listener"),
    ] {
        let usage = session.quota_sets(service).usage(&project).await.unwrap();
        assert_eq!(usage[name].used, 0, "{name}");
    }
}

#[tokio::test]
async fn unknown_names_are_reported() {
    let lab = Lab::memory().await.unwrap();
    let session = session(&lab, "demo").await;
    let error = session.image().image_find("plan9").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no image named `plan9` in this project; check the name, or choose one that the cloud has"
    );
    let gone = "00000000-0000-4000-8000-000000000000";
    assert!(
        session
            .compute()
            .server_get(gone)
            .await
            .unwrap_err()
            .is_not_found()
    );
}

#[tokio::test]
async fn a_secret_is_replaced_and_deleted() {
    let lab = Lab::memory().await.unwrap();
    let session = session(&lab, "demo").await;
    let safe = session.key_manager();
    assert!(safe.secret_get("key").await.unwrap().is_none());
    safe.secret_put("key", &Secret::new("first\n"))
        .await
        .unwrap();
    safe.secret_put("key", &Secret::new("second\n"))
        .await
        .unwrap();
    assert_eq!(
        safe.secret_get("key").await.unwrap().unwrap().expose(),
        "second\n"
    );
    safe.secret_forget("key").await.unwrap();
    safe.secret_forget("key").await.unwrap();
    assert!(safe.secret_get("key").await.unwrap().is_none());
}

#[tokio::test]
async fn hundreds_of_waiting_steps_share_a_few_polls() {
    let slow = lab::substrate::memory::MemorySubstrate {
        active_after: Duration::from_millis(1500),
        gone_after: Duration::from_millis(1500),
    };
    let lab = Lab::start(LabConfig {
        backend: Backend::Memory(slow),
        ..LabConfig::memory()
    })
    .await
    .unwrap();
    let session = session(&lab, "demo").await;
    let (image, flavor) = (
        session.image().image_find("debian-12").await.unwrap().id,
        session.compute().flavor_find("m1.small").await.unwrap().id,
    );
    let mut ids = Vec::new();
    for index in 0..200 {
        let fields = serde_json::json!({"name": format!("s{index}"), "imageRef": image, "flavorRef": flavor, "networks": "none"});
        let id = session.compute().server_create(&fields, None).await;
        ids.push(id.unwrap());
    }
    // All tasks poll far more often than the client should send requests.
    let poll_until = async |wanted: &'static str| {
        let mut polls = tokio::task::JoinSet::new();
        for id in ids.clone() {
            let session = session.clone();
            polls.spawn(async move {
                let mut queries = 0;
                loop {
                    queries += 1;
                    let seen = session.poller().server(&id).await.unwrap();
                    let status = seen.map_or("DELETED".to_owned(), |server| server.status);
                    if status == wanted {
                        return queries;
                    }
                }
            });
        }
        polls.join_all().await.into_iter().sum::<u64>()
    };
    let reads = || lab.faults().counts()["compute"]["GET"];
    let before = reads();
    let queries = poll_until("ACTIVE").await;
    let calls = reads() - before;
    assert!(
        calls < 60 && calls * 10 < queries,
        "{calls} calls for {queries} queries"
    );

    for id in &ids {
        session.compute().server_delete(id).await.unwrap();
    }
    let before = reads();
    let queries = poll_until("DELETED").await;
    let calls = reads() - before;
    assert!(calls < 60, "{calls} calls for {queries} queries");
}

/// As in a run that creates many resources: it sees which of them are there while others are still being made.
#[tokio::test]
async fn a_read_does_not_wait_behind_changes() {
    let lab = Lab::memory().await.unwrap();
    lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        delay_ms: 3_600_000,
        ..CallFault::default()
    }));
    let mut config = CloudConfig::new("lab", &lab.auth_url());
    config.connection.parallel_calls = 1;
    let session = log_in(&config, "demo").await;
    let creation = tokio::spawn({
        let session = session.clone();
        async move {
            let fields = serde_json::json!({"name": "front"});
            session.network().create::<Network>(&fields).await
        }
    });
    // The response of the creation is late; its effect is not.
    let until_it_is_there = async {
        loop {
            let networks = session.network().list::<Network>(&[]).await.unwrap();
            if networks
                .iter()
                .any(|network| network.name.as_deref() == Some("front"))
            {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), until_it_is_there)
        .await
        .expect("a list is answered while the creation is not");
    assert!(!creation.is_finished());
    creation.abort();
}

#[tokio::test]
async fn attributes_from_a_creation_cost_no_call() {
    let lab = Lab::memory().await.unwrap();
    let session = session(&lab, "demo").await;
    let network = session.network();
    let fields = serde_json::json!({"name": "front"});
    let made: openstack::network::Network = network.create(&fields).await.unwrap();
    session.poller().set(&made);
    let reads = || {
        lab.faults().counts()["network"]
            .get("GET")
            .copied()
            .unwrap_or(0)
    };
    let before = reads();
    let poller = session.poller();
    let seen = poller
        .network::<openstack::network::Network>(&made.id)
        .await;
    assert_eq!(seen.unwrap(), Some(made.clone()));
    assert_eq!(reads(), before);
    // The next look-up sends a request.
    network
        .delete::<openstack::network::Network>(&made.id)
        .await
        .unwrap();
    let seen = poller
        .network::<openstack::network::Network>(&made.id)
        .await;
    assert_eq!(seen.unwrap(), None);
    assert_eq!(reads(), before + 1);
}

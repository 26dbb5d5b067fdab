//! Lists of what the lab has none of: clients ask for them before they do anything else, and an empty list is the truth.
//!
//! Each says who may ask, as the real services do. Of these things none can be made here: that is refused as on any path that
//! nobody serves.

use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, reply};
use crate::kit::refusal::Refusal;
use crate::services::{Call, Routes};

/// A service's lists.
struct Shelf {
    /// Where they are; more than one where clients write the same place in several ways.
    prefixes: &'static [&'static str],
    lists: &'static [Empty],
}

/// One list.
struct Empty {
    path: &'static str,
    /// What stands beside the list, as Glance and Keystone have it.
    beside: Beside,
    /// The names of lists in the body.
    words: &'static [&'static str],
    /// What others than administrators are told; nothing where everybody may ask.
    refusal: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Beside {
    Nothing,
    /// `first` and `schema`.
    First,
    /// `links`.
    Links,
    /// `total`.
    Total,
}

impl Empty {
    const fn of(path: &'static str, words: &'static [&'static str]) -> Empty {
        Empty {
            path,
            beside: Beside::Nothing,
            words,
            refusal: None,
        }
    }

    const fn with(mut self, beside: Beside) -> Empty {
        self.beside = beside;
        self
    }

    const fn for_admins(mut self, refusal: &'static str) -> Empty {
        self.refusal = Some(refusal);
        self
    }
}

const OCTAVIA: &str = "Policy does not allow this request to be performed.";

static SHELVES: [Shelf; 7] = [
    Shelf {
        prefixes: &["/network/v2.0"],
        lists: &[
            Empty::of("/address-groups", &["address_groups"]),
            Empty::of("/flavors", &["flavors"]),
        ],
    },
    Shelf {
        prefixes: &["/compute/v2.1"],
        lists: &[Empty::of("/os-migrations", &["migrations"]).for_admins(
            "Policy doesn't allow os_compute_api:os-migrations:index to be performed.",
        )],
    },
    Shelf {
        prefixes: &["/volume/v3", "/volume/v3/{tenant}"],
        lists: &[
            Empty::of("/consistencygroups", &["consistencygroups"]),
            Empty::of("/consistencygroups/detail", &["consistencygroups"]),
        ],
    },
    Shelf {
        prefixes: &["/image/v2"],
        lists: &[
            Empty::of("/tasks", &["tasks"])
                .with(Beside::First)
                .for_admins("You are not authorized to complete get_tasks action."),
            Empty::of("/metadefs/namespaces", &["namespaces"]).with(Beside::First),
        ],
    },
    Shelf {
        prefixes: &["/identity/v3"],
        lists: &[
            Empty::of("/policies", &["policies"])
                .with(Beside::Links)
                .for_admins(
                    "You are not authorized to perform the requested action: identity:list_policies.",
                ),
            Empty::of("/role_inferences", &["role_inferences"]).for_admins(
                "You are not authorized to perform the requested action: identity:list_role_inference_rules.",
            ),
            Empty::of("/OS-TRUST/trusts", &["trusts"])
                .with(Beside::Links)
                .for_admins(
                    "You are not authorized to perform the requested action: identity:list_trusts.",
                ),
            Empty::of("/OS-FEDERATION/identity_providers", &["identity_providers"])
                .with(Beside::Links)
                .for_admins(
                    "You are not authorized to perform the requested action: identity:list_identity_providers.",
                ),
            Empty::of("/OS-FEDERATION/mappings", &["mappings"])
                .with(Beside::Links)
                .for_admins(
                    "You are not authorized to perform the requested action: identity:list_mappings.",
                ),
            Empty::of("/OS-OAUTH1/consumers", &["consumers"])
                .with(Beside::Links)
                .for_admins(
                    "You are not authorized to perform the requested action: identity:list_consumers.",
                ),
            Empty::of("/registered_limits", &["registered_limits"]).with(Beside::Links),
            Empty::of("/limits", &["limits"]).with(Beside::Links),
        ],
    },
    Shelf {
        prefixes: &["/key-manager/v1"],
        lists: &[Empty::of("/transport_keys", &["transport_keys"]).with(Beside::Total)],
    },
    Shelf {
        prefixes: &["/load-balancer/v2", "/load-balancer/v2.0"],
        lists: &[
            Empty::of("/lbaas/flavorprofiles", &["flavorprofiles", "flavorprofile_links"])
                .for_admins(OCTAVIA),
            Empty::of(
                "/lbaas/availabilityzoneprofiles",
                &["availability_zone_profiles", "availability_zone_profile_links"],
            )
            .for_admins(OCTAVIA),
            Empty::of("/octavia/amphorae", &["amphorae", "amphorae_links"]).for_admins(OCTAVIA),
        ],
    },
];

pub fn routes() -> Routes {
    SHELVES.iter().fold(Routes::below(""), |routes, shelf| {
        let below = Routes::below_each(shelf.prefixes);
        let lists = shelf.lists.iter().fold(below, |below, list| {
            below.get(list.path, async move |call| shown(list, &call))
        });
        routes.and(lists)
    })
}

fn shown(list: &Empty, call: &Call) -> Answer {
    let token = call.token()?;
    match list.refusal {
        Some(words) if !token.is_admin() => Err(Refusal::forbidden(words)),
        _ => reply(200, body(list, &call.base)),
    }
}

fn body(list: &Empty, base: &str) -> Value {
    let words = list.words.iter();
    let mut body: Map<String, Value> = words.map(|word| ((*word).to_owned(), json!([]))).collect();
    let path = list.path;
    match list.beside {
        Beside::Nothing => {}
        Beside::First => {
            body.insert("first".into(), format!("/v2{path}").into());
            body.insert("schema".into(), format!("/v2/schemas{path}").into());
        }
        Beside::Links => {
            let own = format!("{base}/identity/v3{path}");
            let links = json!({"next": null, "self": own, "previous": null});
            body.insert("links".into(), links);
        }
        Beside::Total => {
            body.insert("total".into(), 0.into());
        }
    }
    body.into()
}

//! The test of a draft: a deployment with it, as an ordinary run. The next draft of the item updates that deployment.

mod template;

use std::{collections::BTreeMap, future::Future};

use api::{CatalogEntry, CloudFacts, DeployRequest, DeploymentState, Problem};
use leptos::{ev::SubmitEvent, prelude::*};
use leptos_router::hooks::use_navigate;
use types::{Property, catalog::CatalogItem};

use self::template::{required_inputs, template, value};
use crate::{
    browser,
    client::{self, Answer},
    load::Load,
    ui::{Icon, ItemCard, Modal, ProblemNote, skeleton},
};

/// Maximum length of a deployment's name.
const NAME_MAX: usize = 63;
/// Keys of the last choices in the browser's storage.
const IMAGE_KEY: &str = "item.test.image";
const FLAVOR_KEY: &str = "item.test.flavor";

/// The start of a test: its draft is stored, then a dialog asks for image and flavor.
#[derive(Clone, Copy, Default)]
pub struct ItemTest {
    /// True while the draft is being stored.
    pub is_busy: RwSignal<bool>,
    draft: RwSignal<Option<CatalogEntry>>,
    problem: RwSignal<Option<Problem>>,
}

impl ItemTest {
    /// Stores a draft with this call, and opens the dialog. A problem is shown beside the dialog.
    pub fn begin(self, call: impl Future<Output = Answer<CatalogEntry>> + 'static) {
        if self.is_busy.get_untracked() {
            return;
        }
        self.problem.set(None);
        leptos::task::spawn_local(async move {
            if let Err(problem) = self.start(call).await {
                self.problem.try_set(Some(problem));
            }
        });
    }

    /// Stores a draft with this call, and opens the dialog.
    ///
    /// # Errors
    /// If the draft is not stored.
    pub async fn start(self, call: impl Future<Output = Answer<CatalogEntry>>) -> Answer<()> {
        self.is_busy.try_set(true);
        let answer = call.await;
        self.is_busy.try_set(false);
        self.draft.try_set(Some(answer?));
        Ok(())
    }
}

/// The dialog of a test, and the problem of a draft that is no item.
#[component]
pub fn TestDialog(
    /// The test.
    test: ItemTest,
) -> impl IntoView {
    let open = RwSignal::new(false);
    Effect::new(move |_| open.set(test.draft.with(Option::is_some)));
    view! {
        <div role="status">
            {move || test.is_busy.get().then(|| view! {
                <p class="upload-state"><progress aria-label="Draft"></progress>"Storing the draft"</p>
            })}
        </div>
        <ProblemNote problem=test.problem />
        <Modal open title="Test the draft">
            {test.draft.get_untracked().map(|draft| view! { <Start draft open /> })}
        </Modal>
    }
}

/// The deployment in which drafts of an item are tested.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    /// Name of the deployment.
    name: String,
    /// Id of the deployment. `None` if it does not exist yet.
    before: Option<String>,
}

/// Facts for the form: images and flavors of the cloud, and the deployment of the test.
type Known = (CloudFacts, Place);

/// The form, as soon as its facts are loaded.
#[component]
fn Start(
    /// The stored draft.
    draft: CatalogEntry,
    /// True while the dialog is open.
    open: RwSignal<bool>,
) -> impl IntoView {
    let draft = StoredValue::new(draft);
    let known: Load<Known> = Load::new(move || {
        let item = draft.with_value(|draft| draft.item.clone());
        async move {
            let facts = client::cloud_facts().await?;
            Ok((facts, place(&item).await?))
        }
    });
    known.view(
        || skeleton::rows(3),
        move |(facts, Place { name, before }): Known| {
            let draft = draft.get_value();
            view! { <Form draft facts before name open /> }
        },
    )
}

/// Image, flavor and required inputs of the test.
#[component]
fn Form(
    /// The stored draft.
    draft: CatalogEntry,
    /// Facts with images and flavors.
    facts: CloudFacts,
    /// Id of the deployment of the draft before this one.
    before: Option<String>,
    /// Name of the deployment.
    name: String,
    /// True while the dialog is open.
    open: RwSignal<bool>,
) -> impl IntoView {
    let navigate = StoredValue::new_local(use_navigate());
    let images = facts.images.unwrap_or_default().into_iter();
    let images: Vec<String> = images.map(|image| image.name).collect();
    let mut flavors = facts.flavors.unwrap_or_default();
    flavors.sort_by_key(|flavor| (flavor.ram_mib, flavor.vcpus, flavor.disk_gib));
    let flavors: Vec<String> = flavors.into_iter().map(|flavor| flavor.name).collect();
    let image = RwSignal::new(first_choice(IMAGE_KEY, &images));
    let flavor = RwSignal::new(first_choice(FLAVOR_KEY, &flavors));
    let has_own_design = draft.uploaded.as_ref().is_some_and(|it| it.test.is_some());
    let inputs = if has_own_design {
        Vec::new()
    } else {
        required_inputs(&draft)
    };
    let texts = RwSignal::new(BTreeMap::<String, String>::new());
    let problem = RwSignal::new(None::<Problem>);
    let is_busy = RwSignal::new(false);
    let explanation = if has_own_design {
        "The design in the item, tests/design.yaml, is deployed with the draft."
    } else {
        "A server with a network and a public address is created, and the draft is set up on it."
    };
    let before_link = before.clone().map(|id| {
        let href = format!("/deployments/{}", browser::encode(&id));
        view! {
            <p class="help">
                "The deployment "<a class="link" href=href>{name.clone()}</a>" of an earlier draft is updated to this one."
            </p>
        }
    });
    let action = if before.is_some() {
        "Update the test"
    } else {
        "Deploy the test"
    };
    let item = draft.item.clone();
    let (fields, known) = (
        inputs.clone(),
        StoredValue::new((draft, inputs, before, name)),
    );
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if is_busy.get_untracked() {
            return;
        }
        let (draft, inputs, before, name) = known.get_value();
        let (image, flavor) = (image.get_untracked(), flavor.get_untracked());
        browser::remember(IMAGE_KEY, &image);
        browser::remember(FLAVOR_KEY, &flavor);
        let texts = texts.get_untracked();
        let values = inputs.iter().map(|input| {
            let text = texts.get(&input.name).map_or("", String::as_str);
            (input.name.clone(), value(&input.kind, text))
        });
        let template = match template(&draft, (&image, &flavor), values.collect()) {
            Ok(template) => template,
            Err(error) => {
                problem.set(Some(Problem {
                    title: String::from("The design of the test cannot be used"),
                    detail: error.to_string(),
                    hint: Some(String::from("Correct tests/design.yaml of the item.")),
                    ..Problem::default()
                }));
                return;
            }
        };
        let request = DeployRequest {
            name,
            template: Some(template),
            versions: BTreeMap::from([(draft.item.name, draft.item.version)]),
            ..DeployRequest::default()
        };
        is_busy.set(true);
        problem.set(None);
        leptos::task::spawn_local(async move {
            let started = match before {
                Some(id) => client::deployment_update(&id, &request).await,
                None => client::deploy(&request).await,
            };
            is_busy.try_set(false);
            match started {
                Ok(started) => {
                    open.try_set(false);
                    let place = format!("/runs/{}", browser::encode(&started.run));
                    navigate.try_with_value(|navigate| navigate(&place, Default::default()));
                }
                Err(refused) => {
                    problem.try_set(Some(refused));
                }
            }
        });
    };
    let fields = fields
        .into_iter()
        .map(|input| view! { <Input input texts /> });
    view! {
        <form class="dialog-form" on:submit=submit>
            <ItemCard item />
            <p class="quiet">{explanation}</p>
            {before_link}
            <Choice id="test-image" label="Image" names=images chosen=image />
            <Choice id="test-flavor" label="Flavor" names=flavors chosen=flavor />
            {fields.collect_view()}
            <p class="help">
                "The run shows the test live. Afterwards, the deployment's page has the command again, which runs the role once more and should change nothing, and Undeploy, which removes all of it."
            </p>
            <ProblemNote problem />
            <div class="dialog-actions">
                <button type="button" class="button" on:click=move |_| open.set(false)>"Cancel"</button>
                <button type="submit" class="button" data-look="primary" disabled=move || is_busy.get()>
                    <Icon name="rocket" />
                    {action}
                </button>
            </div>
        </form>
    }
}

/// The deployment of the test. One that has the name and no component of the item is no test, so it is left alone.
async fn place(item: &CatalogItem) -> Answer<Place> {
    let deployments = client::deployments().await?;
    let mut number = 1;
    loop {
        let name = deployment_name(&item.name, number);
        let mut live = deployments
            .iter()
            .filter(|one| one.state != DeploymentState::Undeployed);
        let Some(found) = live.find(|one| one.name == name) else {
            return Ok(Place { name, before: None });
        };
        let found = client::deployment(&found.id).await?;
        if found.template.contains(&item.type_name()) {
            let before = Some(found.id);
            return Ok(Place { name, before });
        }
        number += 1;
    }
}

/// The name of a deployment in which drafts of an item are tested.
fn deployment_name(item: &str, number: u32) -> String {
    let end = if number == 1 {
        String::new()
    } else {
        format!("-{number}")
    };
    let start = format!("test-{item}");
    let start: String = start.chars().take(NAME_MAX - end.len()).collect();
    start + &end
}

/// The remembered choice if there still is such a name, or the first name.
fn first_choice(key: &str, names: &[String]) -> String {
    let remembered = browser::remembered(key).filter(|name| names.contains(name));
    remembered
        .or_else(|| names.first().cloned())
        .unwrap_or_default()
}

/// A choice among names of the cloud.
#[component]
fn Choice(
    /// Id of the control.
    id: &'static str,
    /// Label of the control.
    label: &'static str,
    /// The names to choose from.
    names: Vec<String>,
    /// The chosen name.
    chosen: RwSignal<String>,
) -> impl IntoView {
    let is_empty = names.is_empty();
    let options = names.into_iter().map(|name| {
        let own = name.clone();
        view! { <option value=name.clone() selected=move || chosen.with(|chosen| *chosen == own)>{name.clone()}</option> }
    });
    view! {
        <div class="field">
            <label for=id>{label}</label>
            <select class="input" id=id required on:change=move |event| chosen.set(event_target_value(&event))>
                {options.collect_view()}
            </select>
            {is_empty.then(|| view! {
                <p class="help">"The cloud lists none for this project. Open the dialog again in a minute, or ask the cloud's administrator."</p>
            })}
        </div>
    }
}

/// The field of a required input.
#[component]
fn Input(
    /// The input.
    input: Property,
    /// Typed texts, by name of the input.
    texts: RwSignal<BTreeMap<String, String>>,
) -> impl IntoView {
    let id = format!("test-{}", input.name);
    let kind = if input.secret { "password" } else { "text" };
    let name = input.name.clone();
    let write = move |text: String| {
        texts.update(|texts| {
            texts.insert(name.clone(), text);
        });
    };
    view! {
        <div class="field">
            <label for=id.clone()>{input.name}</label>
            <input class="input" id=id type=kind required autocomplete="off" spellcheck="false" on:input=move |event| write(event_target_value(&event)) />
            {(!input.summary.is_empty()).then(|| view! { <p class="help">{input.summary}</p> })}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_differ_and_have_a_limit() {
        assert_eq!(deployment_name("hello", 1), "test-hello");
        assert_eq!(deployment_name("hello", 2), "test-hello-2");
        let long = deployment_name(&"x".repeat(80), 12);
        assert_eq!(long.len(), NAME_MAX);
        assert!(long.ends_with("x-12"), "{long}");
    }
}

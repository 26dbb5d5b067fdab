//! Login with the cloud's own credentials.
//!
//! The fields are uncontrolled: text entered by a user or a password manager before hydration stays, also after a
//! failed login. The button is disabled until hydration, because a plain form submission would put the password into
//! the address.

use api::{CloudInfo, LoginRequest, Problem};
use leptos::{ev::SubmitEvent, html, prelude::*};
use leptos_meta::Title;
use leptos_router::hooks::{use_navigate, use_query_map};

use crate::{
    client,
    frame::Mark,
    load::{Load, Loaded},
    session::use_session,
    ui::{Icon, ProblemNote},
};

/// The kind of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Password,
    ApplicationCredential,
}

/// The login form.
#[component]
pub fn LoginPage() -> impl IntoView {
    let session = use_session();
    let navigate = StoredValue::new_local(use_navigate());
    let query = use_query_map();
    let clouds = Load::new(client::clouds);
    let method = RwSignal::new(Method::Password);
    let mounted = RwSignal::new(false);
    let busy = RwSignal::new(false);
    let problem = RwSignal::new(None::<Problem>);
    Effect::new(move |_| mounted.set(true));

    let cloud = NodeRef::<html::Select>::new();
    let [user, password, domain, project, passcode, id, secret] =
        std::array::from_fn(|_| NodeRef::<html::Input>::new());
    // True if the cloud requires a second factor.
    let wants_code = RwSignal::new(false);
    let chosen = RwSignal::new(None::<String>);
    propose(clouds, chosen, domain, project);

    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        let cloud = cloud
            .get_untracked()
            .map(|select| select.value())
            .unwrap_or_default();
        let request = match method.get_untracked() {
            Method::Password => LoginRequest::Password {
                cloud,
                user: text_of(user),
                password: text_of(password),
                domain: text_of(domain),
                project: text_of(project),
                passcode: wants_code.get_untracked().then(|| text_of(passcode)),
            },
            Method::ApplicationCredential => LoginRequest::ApplicationCredential {
                cloud,
                application_credential_id: text_of(id),
                application_credential_secret: text_of(secret),
            },
        };
        busy.set(true);
        problem.set(None);
        leptos::task::spawn_local(async move {
            match client::login(&request).await {
                Ok(me) => {
                    session.me.try_set(Some(me));
                    let next = query
                        .try_with_untracked(|query| query.get("next"))
                        .flatten();
                    let next = next
                        .filter(|next| api::is_own_page(next))
                        .unwrap_or_else(|| String::from("/designs"));
                    navigate.try_with_value(|navigate| navigate(&next, Default::default()));
                }
                Err(refused) => {
                    if refused.code == "second-factor-needed" {
                        wants_code.try_set(true);
                    }
                    problem.try_set(Some(refused));
                    focus_code(passcode);
                }
            }
            busy.try_set(false);
        });
    };

    let has_password = move || method.get() == Method::Password;
    view! {
        <Title text="Log in" />
        <main class="login" id="main">
            <div class="login-box">
                <header class="login-head">
                    <Mark />
                    <h1>"Stackloom"</h1>
                    <p class="quiet">"Draw it, deploy it, watch it."</p>
                </header>
                <form class="login-card" method="post" aria-label="Log in" on:submit=submit>
                    <CloudField clouds chosen select=cloud />
                    <div class="segments" role="group" aria-label="Credentials">
                        <button
                            type="button" aria-pressed=move || has_password().to_string()
                            on:click=move |_| method.set(Method::Password)
                        >
                            "Name and password"
                        </button>
                        <button
                            type="button" aria-pressed=move || (!has_password()).to_string()
                            on:click=move |_| method.set(Method::ApplicationCredential)
                        >
                            "Application credential"
                        </button>
                    </div>
                    // Both fieldsets stay in the page, so that switching keeps the entered text.
                    <fieldset class="login-fields" hidden=move || !has_password() disabled=move || !has_password()>
                        <Field id="user" label="User" autocomplete="username" node=user />
                        <Field id="password" label="Password" kind="password" autocomplete="current-password" node=password />
                        <div class="login-pair">
                            <Field id="domain" label="Domain" value="Default" node=domain />
                            <Field id="project" label="Project" node=project />
                        </div>
                        <Show when=move || wants_code.get()>
                            <Field id="passcode" label="One-time code" autocomplete="one-time-code" mono=true node=passcode />
                        </Show>
                    </fieldset>
                    <fieldset class="login-fields" hidden=has_password disabled=has_password>
                        <Field id="credential-id" label="Credential id" mono=true node=id />
                        <Field id="credential-secret" label="Credential secret" kind="password" node=secret />
                    </fieldset>
                    <ProblemNote problem />
                    <button type="submit" class="button" data-look="primary" disabled=move || !mounted.get() || busy.get()>
                        {move || busy.get().then(|| view! { <span class="spinner"><Icon name="loader-circle" /></span> })}
                        "Log in"
                    </button>
                </form>
                <p class="login-foot">"Your credentials are sent to the cloud's identity service. They are not stored in clear text."</p>
            </div>
        </main>
    }
}

/// Clears the passcode field and moves the focus to it. A used code is not valid again.
fn focus_code(passcode: NodeRef<html::Input>) {
    request_animation_frame(move || {
        if let Some(field) = passcode.try_get_untracked().flatten() {
            field.set_value("");
            // If the focus fails, the user can still click the field.
            let _ = field.focus();
        }
    });
}

/// Fills empty domain and project fields with the values from the cloud's configuration.
fn propose(
    clouds: Load<Vec<CloudInfo>>,
    chosen: RwSignal<Option<String>>,
    domain: NodeRef<html::Input>,
    project: NodeRef<html::Input>,
) {
    Effect::new(move |_| {
        let chosen = chosen.get();
        let Some(cloud) = clouds.with(|clouds| {
            let clouds = clouds?;
            clouds
                .iter()
                .find(|cloud| Some(&cloud.name) == chosen.as_ref())
                .or(clouds.first())
                .cloned()
        }) else {
            return;
        };
        let fill = |field: NodeRef<html::Input>, value: Option<String>, untouched: &str| {
            if let (Some(field), Some(value)) = (field.get(), value)
                && (field.value().is_empty() || field.value() == untouched)
            {
                field.set_value(&value);
            }
        };
        fill(domain, cloud.domain, "Default");
        fill(project, cloud.project, "");
    });
}

fn text_of(field: NodeRef<html::Input>) -> String {
    field
        .get_untracked()
        .map(|field| field.value())
        .unwrap_or_default()
}

#[component]
fn CloudField(
    clouds: Load<Vec<CloudInfo>>,
    chosen: RwSignal<Option<String>>,
    select: NodeRef<html::Select>,
) -> impl IntoView {
    let options = move || {
        clouds.with(|clouds| {
            clouds.map(|clouds| {
                clouds
                    .iter()
                    .map(|cloud| {
                        let shown = match &cloud.region {
                            Some(region) if *region != cloud.name => {
                                format!("{} ({region})", cloud.name)
                            }
                            _ => cloud.name.clone(),
                        };
                        view! { <option value=cloud.name.clone()>{shown}</option> }
                    })
                    .collect_view()
            })
        })
    };
    let trouble = move || match clouds.state() {
        Loaded::Failed(problem) => Some(view! {
            <p class="fault" role="alert">
                {format!("{}. ", problem.title)}
                <button type="button" class="link" on:click=move |_| clouds.reload()>"Try again"</button>
            </p>
        }),
        _ => None,
    };
    let none = move || {
        clouds.with(|clouds| clouds.is_some_and(Vec::is_empty)).then(|| {
            view! { <p class="fault" role="alert">"The server has no cloud. Set STACKLOOM_CLOUDS to a clouds.yaml."</p> }
        })
    };
    view! {
        <div class="field">
            <label for="cloud">"Cloud"</label>
            <select
                class="input" id="cloud" name="cloud" node_ref=select
                on:change=move |event| chosen.set(Some(event_target_value(&event)))
            >
                {options}
            </select>
            {trouble}
            {none}
        </div>
    }
}

#[component]
fn Field(
    id: &'static str,
    label: &'static str,
    #[prop(default = "text")] kind: &'static str,
    #[prop(default = "off")] autocomplete: &'static str,
    #[prop(default = "")] value: &'static str,
    #[prop(default = false)] mono: bool,
    node: NodeRef<html::Input>,
) -> impl IntoView {
    view! {
        <div class="field">
            <label for=id>{label}</label>
            <input
                class="input" class:mono=mono id=id name=id type=kind value=value autocomplete=autocomplete autocapitalize="none"
                spellcheck="false" required node_ref=node
            />
        </div>
    }
}

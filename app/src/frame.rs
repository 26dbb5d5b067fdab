//! The frame around all pages except the login: top bar, navigation rail, command palette, shortcuts.
//!
//! Each page sets its breadcrumb ([`Frame::crumbs`]) and its actions ([`Frame::actions`]). Both are set after mount, so
//! the server's first render does not include them.

use leptos::{children::ViewFn, prelude::*};
use leptos_router::{
    components::Outlet,
    hooks::{use_location, use_navigate},
};

use crate::{
    client::Outage,
    connection::use_connection,
    session::use_session,
    ui::{
        Command, Icon,
        menu::{self, Menu},
        palette::{CommandPalette, use_palette},
        shortcuts::Shortcuts,
        theme::ThemeSwitch,
        use_confirm, use_leaving,
    },
};

/// One step of the breadcrumb.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crumb {
    /// The text.
    pub text: String,
    /// The address. `None` for the last crumb.
    pub href: Option<String>,
}

impl Crumb {
    /// A crumb with a link.
    pub fn link(text: impl Into<String>, href: impl Into<String>) -> Crumb {
        Crumb {
            text: text.into(),
            href: Some(href.into()),
        }
    }

    /// The crumb of the current page.
    pub fn here(text: impl Into<String>) -> Crumb {
        Crumb {
            text: text.into(),
            href: None,
        }
    }
}

/// The top bar, for pages.
#[derive(Clone, Copy)]
pub struct Frame {
    crumbs: RwSignal<Vec<Crumb>>,
    actions: RwSignal<Option<(u32, ViewFn)>>,
    next: StoredValue<u32>,
}

/// The frame around this page.
pub fn use_frame() -> Frame {
    expect_context()
}

impl Frame {
    /// Sets the breadcrumb of this page. Updated with the signals that `crumbs` reads.
    pub fn crumbs(self, crumbs: impl Fn() -> Vec<Crumb> + 'static) {
        Effect::new(move |_| {
            self.crumbs.try_set(crumbs());
        });
    }

    /// Sets the right end of the top bar while this page is open.
    pub fn actions(self, view: impl Into<ViewFn>) {
        let Some(id) = self.next.try_get_value() else {
            return;
        };
        self.next.set_value(id + 1);
        let view = view.into();
        Effect::new(move |_| {
            self.actions.try_set(Some((id, view.clone())));
        });
        on_cleanup(move || {
            // The next page may already have set its actions.
            self.actions.try_update(|actions| {
                if actions.as_ref().is_some_and(|(owner, _)| *owner == id) {
                    *actions = None;
                }
            });
        });
    }
}

const PLACES: [(&str, &str, &str, &str); 3] = [
    ("/designs", "Designs", "pencil-ruler", "g d"),
    ("/deployments", "Deployments", "rocket", "g e"),
    ("/catalog", "Catalogue", "blocks", "g c"),
];

/// Closes the confirmation dialog when its page is left, as by Back. The state that its action needs ends with the page.
fn close_questions_of_left_pages() {
    let (confirm, path) = (use_confirm(), use_location().pathname);
    Effect::new(move |before: Option<String>| {
        let path = path.get();
        if before.is_some_and(|before| before != path) {
            confirm.close();
        }
        path
    });
}

/// The frame, with the current page inside.
#[component]
pub fn Shell() -> impl IntoView {
    let frame = Frame {
        crumbs: RwSignal::new(Vec::new()),
        actions: RwSignal::new(None),
        next: StoredValue::new(0),
    };
    provide_context(frame);
    let session = use_session();
    Effect::new(move |_| session.ensure());
    close_questions_of_left_pages();

    let palette = use_palette();
    let navigate = StoredValue::new_local(use_navigate());
    let leaving = use_leaving();
    palette.register(
        PLACES
            .iter()
            .map(|&(href, name, icon, keys)| {
                Command::new("Go to", icon, name, move || {
                    if leaving.can_leave() {
                        navigate.try_with_value(|navigate| navigate(href, Default::default()));
                    }
                })
                .keys(keys)
            })
            .chain([Command::new("Session", "log-out", "Log out", move || {
                session.log_out()
            })])
            .collect(),
    );

    view! {
        <a class="skip" href="#main" rel="external">"Skip to content"</a>
        <div class="frame">
            <TopBar frame />
            <Rail />
            <main class="frame-main" id="main" tabindex="-1"><Outlet /></main>
        </div>
        <CommandPalette />
        <Shortcuts />
    }
}

#[component]
fn TopBar(frame: Frame) -> impl IntoView {
    let session = use_session();
    let palette = use_palette();
    let connection = use_connection();
    let lost = move || {
        let (icon, words) = match connection.outage()? {
            Outage::Connection => ("wifi-off", "No connection"),
            Outage::Database => ("database", "The server cannot use its database"),
        };
        let note = view! { <span class="topbar-lost"><Icon name=icon />{words}</span> };
        Some(view! {
            <div role="status">
                <Menu id="connection-menu" label=words button=note.into_any()>
                    <p class="menu-note">"This page may be out of date. It is updated when the server responds again."</p>
                </Menu>
            </div>
        })
    };
    let project = move || {
        session.me.with(|me| {
            me.as_ref().map(|me| {
                view! {
                    <span class="topbar-project" title="Project and cloud">
                        {me.project.clone()}
                        <span class="quiet">{format!(" / {}", me.cloud)}</span>
                    </span>
                }
            })
        })
    };
    view! {
        <header class="topbar">
            <a class="brand" href="/designs" aria-label="Stackloom"><Mark /></a>
            {project}
            <nav class="crumbs" aria-label="Breadcrumb">
                <ol>
                    {move || frame.crumbs.get().into_iter().map(|crumb| view! {
                        <li>
                            {match crumb.href {
                                Some(href) => view! { <a href=href>{crumb.text}</a> }.into_any(),
                                None => view! { <span aria-current="page">{crumb.text}</span> }.into_any(),
                            }}
                        </li>
                    }).collect_view()}
                </ol>
            </nav>
            {lost}
            <div class="topbar-actions">{move || frame.actions.get().map(|(_, view)| view.run())}</div>
            <button type="button" class="topbar-search" on:click=move |_| palette.open.set(true)>
                <Icon name="search" />
                <span>"Search"</span>
                <kbd>"Ctrl K"</kbd>
            </button>
            <PersonMenu />
        </header>
    }
}

/// Id of the user's menu.
const MENU: &str = "person-menu";

#[component]
fn PersonMenu() -> impl IntoView {
    let session = use_session();
    let initial = move || {
        session.me.with(|me| {
            me.as_ref()
                .and_then(|me| me.user.chars().next())
                .map(|letter| letter.to_uppercase().to_string())
        })
    };
    let who = move || {
        session.me.with(|me| {
            me.as_ref().map(|me| {
                view! {
                    <p><strong>{me.user.clone()}</strong></p>
                    <p class="meta">{format!("{} / {}", me.project, me.cloud)}</p>
                    <p class="meta">{me.roles.join(", ")}</p>
                }
            })
        })
    };
    let face = view! { <span class="face" aria-hidden="true">{initial}</span> }.into_any();
    view! {
        <Menu id=MENU label="User and settings" button=face>
            <div class="menu-head">{who}</div>
            <div class="menu-row"><span>"Theme"</span><ThemeSwitch /></div>
            <a class="menu-item" href="/sessions" on:click=move |_| menu::close(MENU)>
                <Icon name="key-round" />
                "Your sessions"
            </a>
            <a class="menu-item" href="/audit" on:click=move |_| menu::close(MENU)>
                <Icon name="eye" />
                "Audit log"
            </a>
            <button type="button" class="menu-item" on:click=move |_| session.log_out()>
                <Icon name="log-out" />
                "Log out"
            </button>
        </Menu>
    }
}

#[component]
fn Rail() -> impl IntoView {
    let path = use_location().pathname;
    view! {
        <nav class="rail" aria-label="Main">
            {PLACES.iter().map(|&(href, name, icon, _)| {
                let inside = move || {
                    path.with(|path| path.starts_with(href)
                            || (href == "/deployments" && path.starts_with("/runs/"))
                            || (href == "/catalog" && path.starts_with("/items/")))
                };
                view! {
                    <a href=href aria-current=move || inside().then_some("page")>
                        <Icon name=icon />
                        <span>{name}</span>
                    </a>
                }
            }).collect_view()}
        </nav>
    }
}

/// The product's logo: three sheets, woven by a thread.
#[component]
pub fn Mark() -> impl IntoView {
    view! {
        <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
            <path class="mark-sheet" d="M12 2.5 21 7l-9 4.5L3 7z" />
            <path class="mark-thread" d="M3 12l9 4.5L21 12" />
            <path class="mark-thread" d="M3 17l9 4.5L21 17" />
        </svg>
    }
}

//! Pages with code that the browser loads when they are opened.
//!
//! The core contains the login page and the list of designs, which users see first. The build splits off four pieces:
//! `designer` (canvas, gestures, undo), `forms` (palette, inspector, drawer, top bar and menus, loaded after the canvas is
//! built, see [`designer::forms`]), `code` (the code editor, versions and merges, loaded when one of them is needed,
//! see [`designer::later`]) and `pages` (plan, runs, deployments, catalogue). Code used by several, such as the parser
//! and the drawing, is in further pieces that are loaded with each of them. Validation, planning and the arrangement of
//! large drawings are in a module of their own, in a worker (`worker`).
//!
//! The server renders every page completely and links the page's piece in the document's head, so that its download
//! begins while the core starts. On the list of designs the pieces are fetched when the browser is idle ([`warm_up`]),
//! so that a design opens without a delay.

use leptos::{prelude::*, wasm_split::SplitLoaderError};
use leptos_router::LazyRoute;

use crate::{
    browser, client, designer,
    opening::Missing,
    pages::{
        audit, catalog, catalog_item, deployment, deployments, new_item, plan, sessions, terminal,
    },
    program, run,
    ui::ProblemCard,
    worker,
};

/// Delay between mount and [`warm_up`], in milliseconds. The page's own data and first paint come first.
const WARM_UP_AFTER_MS: i32 = 1_500;

/// Pages of the piece `pages`.
#[derive(Clone, Copy)]
enum Page {
    Plan,
    RollBackPlan,
    Compare,
    Deployments,
    Deployment,
    Run,
    Catalog,
    CatalogItem,
    NewItem,
    Audit,
    Sessions,
    Terminal,
}

#[leptos::wasm_split::wasm_split(designer, wasm_split_path = ::leptos::wasm_split, preload(fetch_designer), fallible)]
fn designer_piece() -> Result<AnyView, Missing> {
    Ok(view! { <designer::DesignPage /> }.into_any())
}

/// Starts the worker, whose client is in both pieces.
#[leptos::wasm_split::wasm_split(designer, wasm_split_path = ::leptos::wasm_split, fallible)]
fn worker_piece() -> Result<(), Missing> {
    worker::warm_up();
    Ok(())
}

#[leptos::wasm_split::wasm_split(pages, wasm_split_path = ::leptos::wasm_split, preload(fetch_pages), fallible)]
fn pages_piece(page: Page) -> Result<AnyView, Missing> {
    Ok(match page {
        Page::Plan => view! { <plan::PlanPage /> }.into_any(),
        Page::Compare => view! { <deployment::compare::ComparePage /> }.into_any(),
        Page::RollBackPlan => view! { <plan::RollBackPlanPage /> }.into_any(),
        Page::Deployments => view! { <deployments::DeploymentsPage /> }.into_any(),
        Page::Deployment => view! { <deployment::DeploymentPage /> }.into_any(),
        Page::Run => view! { <run::RunPage /> }.into_any(),
        Page::Catalog => view! { <catalog::CatalogPage /> }.into_any(),
        Page::CatalogItem => view! { <catalog_item::CatalogItemPage /> }.into_any(),
        Page::NewItem => view! { <new_item::NewItemPage /> }.into_any(),
        Page::Sessions => view! { <sessions::SessionsPage /> }.into_any(),
        Page::Terminal => view! { <terminal::TerminalPage /> }.into_any(),
        Page::Audit => view! { <audit::AuditPage /> }.into_any(),
    })
}

/// Ends the start of the program if the piece of the first page is missing: without it, the server-rendered page cannot
/// be hydrated. On later pages it does nothing, since these show the problem.
async fn require_on_first_page(piece: Result<(), SplitLoaderError>) {
    let is_first_page =
        Owner::current_shared_context().is_some_and(|context| context.during_hydration());
    if piece.is_err() && is_first_page {
        program::failed();
        std::future::pending::<()>().await;
    }
}

/// View of the page, or of the reason why it is missing: no connection, or a newer release on the server than in this
/// tab.
fn page_or_problem(piece: Result<AnyView, Missing>) -> AnyView {
    piece.unwrap_or_else(|Missing| {
        let problem = client::page_missing();
        let retry = Callback::new(|()| browser::navigate(&browser::current_address()));
        view! { <ProblemCard problem retry /> }.into_any()
    })
}

/// Fetches the pieces that users of the list of designs need next, when the browser is idle.
pub fn warm_up() {
    Effect::new(|_| {
        browser::after_ms(WARM_UP_AFTER_MS, || {
            leptos::task::spawn_local(async {
                // If this fails, the piece is fetched again when its page is opened.
                let _ = fetch_designer().await;
                let _ = designer::forms::fetch().await;
                let _ = fetch_pages().await;
                let _ = worker_piece().await;
                let _ = designer::later::fetch().await;
            });
        });
    });
}

macro_rules! routes {
    ($($(#[$doc:meta])* $name:ident: $piece:literal, $fetch:ident, $view:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl LazyRoute for $name {
            fn data() -> Self {
                Self
            }

            async fn view(_: Self) -> AnyView {
                leptos::prefetch_lazy_fn_on_server($piece);
                page_or_problem($view.await)
            }

            async fn preload() {
                require_on_first_page(browser::with_retries($fetch).await).await;
            }
        }
    )*};
}

routes! {
    /// `/designs/:id`
    Design: "designer", fetch_designer, designer_piece();
    /// `/designs/:id/plan`
    Plan: "pages", fetch_pages, pages_piece(Page::Plan);
    /// `/deployments/:id/plan`
    RollBackPlan: "pages", fetch_pages, pages_piece(Page::RollBackPlan);
    /// `/deployments/:id/compare`
    Compare: "pages", fetch_pages, pages_piece(Page::Compare);
    /// `/deployments`
    Deployments: "pages", fetch_pages, pages_piece(Page::Deployments);
    /// `/deployments/:id`
    Deployment: "pages", fetch_pages, pages_piece(Page::Deployment);
    /// `/deployments/:id/terminal/:server`
    Terminal: "pages", fetch_pages, pages_piece(Page::Terminal);
    /// `/runs/:id`
    Run: "pages", fetch_pages, pages_piece(Page::Run);
    /// `/catalog`
    Catalog: "pages", fetch_pages, pages_piece(Page::Catalog);
    /// `/catalog/:item`
    CatalogItem: "pages", fetch_pages, pages_piece(Page::CatalogItem);
    /// `/items/new`
    NewItem: "pages", fetch_pages, pages_piece(Page::NewItem);
    /// `/sessions`
    Sessions: "pages", fetch_pages, pages_piece(Page::Sessions);
    /// `/audit`
    Audit: "pages", fetch_pages, pages_piece(Page::Audit);
}

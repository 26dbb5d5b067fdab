//! The user's own login sessions.

use api::{LoginSession, Problem};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    client,
    frame::{Crumb, use_frame},
    load::Load,
    time::Ago,
    ui::{ProblemCard, skeleton},
};

/// The open sessions as a table, with a button that ends each of the others.
#[component]
pub fn SessionsPage() -> impl IntoView {
    use_frame().crumbs(|| vec![Crumb::here("Your sessions")]);
    let sessions = Load::new(client::sessions);
    let refused = RwSignal::new(None::<Problem>);
    let end = Callback::new(move |id: String| {
        leptos::task::spawn_local(async move {
            refused.try_set(client::session_end(&id).await.err());
            sessions.reload();
        });
    });
    let list = sessions.view(
        || skeleton::rows(3),
        move |sessions: Vec<LoginSession>| view! { <SessionTable sessions end /> }.into_any(),
    );
    view! {
        <Title text="Your sessions" />
        <div class="page">
            <header class="page-head">
                <div>
                    <h1>"Your sessions"</h1>
                    <p>"Browsers in which you are logged in. End those that you do not know, and change your password."</p>
                </div>
            </header>
            {move || refused.get().map(|problem| view! { <ProblemCard problem /> })}
            {list}
        </div>
    }
}

#[component]
fn SessionTable(sessions: Vec<LoginSession>, end: Callback<String>) -> impl IntoView {
    let row = move |session: LoginSession| {
        let action = if session.is_current {
            view! { <span class="quiet">"This browser"</span> }.into_any()
        } else {
            let id = session.id;
            let end = move |_| end.run(id.clone());
            view! { <button type="button" class="button" on:click=end>"End"</button> }.into_any()
        };
        view! {
            <tr>
                <td class="fit"><Ago time=session.created /></td>
                <td class="fit"><Ago time=session.seen /></td>
                <td>{session.address}</td>
                <td class="fit">{action}</td>
            </tr>
        }
    };
    view! {
        <div class="table">
            <table>
                <thead>
                    <tr>
                        <th scope="col" class="fit">"Login"</th><th scope="col" class="fit">"Last request"</th>
                        <th scope="col">"Address"</th><th scope="col" class="fit"><span class="sr-only">"Actions"</span></th>
                    </tr>
                </thead>
                <tbody>{sessions.into_iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}

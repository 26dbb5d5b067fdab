//! The version of the design that is planned, and the note on a newer one.

use api::DesignVersionSummary;
use leptos::prelude::*;

use super::{Page, source::Origin};
use crate::{
    browser,
    client::{self, Answer},
    load::Load,
    time::Ago,
    ui::Icon,
};

/// Interval at which the page looks for a newer version while it is visible. It also looks when it is shown again.
const REFRESH: std::time::Duration = std::time::Duration::from_secs(10);

impl Page {
    /// Id and version of the planned design. `None` for the content of a run. Tracks.
    fn version(self) -> Option<(String, u32)> {
        self.source.with(|source| match &source?.origin {
            Origin::Design { id, version, .. } => Some((id.clone(), *version)),
            Origin::Run { .. } => None,
        })
    }
}

/// The planned version, in a few words.
#[component]
pub(super) fn VersionLine(
    /// The page's state.
    page: Page,
) -> impl IntoView {
    move || {
        page.version().map(|(_, version)| {
            view! {
                <p
                    class="meta" data-testid="planned-version"
                    title="The address of this page opens this plan. It contains no hidden and no long parameter values."
                >
                    {format!("Design v{version}")}
                </p>
            }
        })
    }
}

/// The newest version with a link to its plan, if another one is planned.
#[component]
pub(super) fn NewerVersionNote(
    /// The page's state.
    page: Page,
) -> impl IntoView {
    let design = Memo::new(move |_| page.version().map(|(id, _)| id));
    let newest = Load::new(move || {
        let design = design.get();
        async move { newest_of(design).await }
    });
    Effect::new(move |_| {
        if design.with(Option::is_none) {
            return;
        }
        let look = move || {
            if browser::is_visible() {
                newest.reload();
            }
        };
        let tick = set_interval_with_handle(look, REFRESH);
        let shown = window_event_listener(leptos::ev::visibilitychange, move |_| look());
        on_cleanup(move || {
            shown.remove();
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
    move || {
        let (_, planned) = page.version()?;
        let newest = newest.get().flatten()?;
        (newest.version > planned).then(|| note(page, planned, newest))
    }
}

async fn newest_of(design: Option<String>) -> Answer<Option<DesignVersionSummary>> {
    let Some(id) = design else {
        return Ok(None);
    };
    let versions = client::design_versions(&id).await?;
    Ok(versions.into_iter().next())
}

fn note(page: Page, planned: u32, newest: DesignVersionSummary) -> impl IntoView {
    let DesignVersionSummary {
        version,
        saved,
        author,
        ..
    } = newest;
    // Parameters can be entered after the note has appeared.
    let href = move || {
        page.plan.track();
        untrack(|| page.address(Some(version))).unwrap_or_default()
    };
    view! {
        <div class="plan-obstacle" role="note">
            <Icon name="history" />
            <div>
                <p>
                    <strong>{format!("Version {version} was saved by {author} ")}<Ago time=saved />". "</strong>
                    {format!("This page plans version {planned}. ")}
                    <a class="link" href=href>{format!("Plan version {version}")}</a>
                </p>
            </div>
        </div>
    }
}

//! The design of a deployment or run: whether it exists, its newest version, and the link to the deployed one.

use leptos::prelude::*;

use crate::{
    client::{self, Answer},
    links::DesignLink,
    load::Load,
};

/// The state of a design that a page links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnownDesign {
    /// Numbers of its stored versions, newest first.
    Stored(Vec<u32>),
    /// The design was deleted.
    Deleted,
}

impl KnownDesign {
    /// True if the design has a newer version than this one. A text that was no version counts as older.
    pub fn is_newer_than(&self, version: Option<u32>) -> bool {
        match self {
            KnownDesign::Stored(versions) => versions.first().copied() > version,
            KnownDesign::Deleted => false,
        }
    }
}

/// Reads what is known about the design of an id, which can change.
pub fn known_design(
    id: impl Fn() -> Option<String> + Send + Sync + 'static,
) -> Load<Option<KnownDesign>> {
    let id = Memo::new(move |_| id());
    Load::new(move || {
        let id = id.get();
        async move { fetch(id).await }
    })
}

async fn fetch(id: Option<String>) -> Answer<Option<KnownDesign>> {
    let Some(id) = id else {
        return Ok(None);
    };
    match client::design_versions(&id).await {
        Ok(versions) => {
            let versions = versions.into_iter().map(|one| one.version);
            Ok(Some(KnownDesign::Stored(versions.collect())))
        }
        Err(problem) if problem.code == "not-found" => Ok(Some(KnownDesign::Deleted)),
        Err(problem) => Err(problem),
    }
}

/// Meaning of the link to a version, and its address. `None` if there is nothing to open.
fn target(
    id: &str,
    version: Option<u32>,
    known: Option<&KnownDesign>,
) -> (Option<String>, Option<String>) {
    let link = DesignLink {
        design: id,
        ..DesignLink::default()
    };
    let older = match (known, version) {
        (Some(KnownDesign::Deleted), _) => {
            return (None, Some("The design was deleted.".to_owned()));
        }
        (Some(KnownDesign::Stored(versions)), Some(version))
            if versions.first().is_some_and(|newest| *newest > version) =>
        {
            Some((version, versions.contains(&version)))
        }
        _ => None,
    };
    match older {
        None => (Some(link.editor()), None),
        Some((version, true)) => {
            let link = DesignLink {
                version: Some(version),
                ..link
            };
            let title = format!("Opens the newest version, compared with version {version}.");
            (Some(link.editor()), Some(title))
        }
        Some((version, false)) => {
            let title = format!("Version {version} is no longer stored. Opens the newest.");
            (Some(link.editor()), Some(title))
        }
    }
}

/// The design's version as a link, or as text if the design was deleted.
#[component]
pub fn DesignVersionLink(
    /// Id of the design.
    id: String,
    /// The deployed version. `None` if the deployed text was none.
    version: Option<u32>,
    /// The state of the design.
    known: Load<Option<KnownDesign>>,
) -> impl IntoView {
    let text = version.map_or_else(
        || String::from("edited design"),
        |version| format!("design v{version}"),
    );
    move || {
        let (href, title) =
            known.with(|known| target(&id, version, known.and_then(Option::as_ref)));
        match href {
            Some(href) => {
                view! { <a class="link" href=href title=title>{text.clone()}</a> }.into_any()
            }
            None => view! { <span title=title>{text.clone()}" (deleted)"</span> }.into_any(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_leads_to_itself_or_says_where_it_leads() {
        let stored = KnownDesign::Stored(vec![7, 6, 3]);
        let of = |version| target("d", Some(version), Some(&stored));
        assert_eq!(of(7), (Some("/designs/d".to_owned()), None));
        assert_eq!(of(3).0.as_deref(), Some("/designs/d?version=3"));
        let (gone, title) = of(4);
        assert_eq!(gone.as_deref(), Some("/designs/d"));
        assert!(title.unwrap().contains("no longer stored"));
        assert_eq!(target("d", Some(7), Some(&KnownDesign::Deleted)).0, None);
        assert_eq!(target("d", Some(7), None).0.as_deref(), Some("/designs/d"));
    }

    #[test]
    fn an_update_is_offered_for_a_newer_version() {
        let stored = KnownDesign::Stored(vec![7, 6]);
        assert!(stored.is_newer_than(Some(6)) && stored.is_newer_than(None));
        assert!(!stored.is_newer_than(Some(7)));
        assert!(!KnownDesign::Deleted.is_newer_than(Some(6)));
    }
}

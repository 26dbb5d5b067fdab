//! Colours of what is not drawn by elements of the page, and so is not reached by its style: the picture, and images.

use std::collections::BTreeMap;

use leptos::{html, prelude::*};

use crate::browser;

/// The colours, by the name of their custom property. The page's style decides their values.
const INKS: [&str; 19] = [
    "ground",
    "surface-raised",
    "border-strong",
    "text",
    "text-quiet",
    "text-faint",
    "accent",
    "on-accent",
    "danger",
    "compute",
    "network",
    "security",
    "storage",
    "software",
    "orchestration",
    "state-running",
    "state-retrying",
    "state-succeeded",
    "state-failed",
];

/// Values of the colours.
#[derive(Clone, Default, PartialEq)]
pub struct Inks(BTreeMap<&'static str, String>);

impl Inks {
    /// The current values, from elements that have these colours, in the order of [`INKS`].
    fn of(probes: &web_sys::Element) -> Self {
        let Some(window) = browser::window() else {
            return Self::default();
        };
        let children = probes.children();
        let value = |at: usize| {
            let probe = children.item(u32::try_from(at).ok()?)?;
            let style = window.get_computed_style(&probe).ok()??;
            style.get_property_value("color").ok()
        };
        let inks = INKS.iter().enumerate();
        Self(
            inks.filter_map(|(at, ink)| Some((*ink, value(at)?)))
                .collect(),
        )
    }

    /// The value of a colour. `None` until the colours are read.
    pub fn known(&self, ink: &str) -> Option<&str> {
        self.0.get(ink).map(String::as_str)
    }

    /// The value of a colour, or gray.
    pub fn get(&self, ink: &str) -> &str {
        self.known(ink).unwrap_or("gray")
    }
}

/// Elements from which the colours are read, at once and when the theme changes.
#[component]
pub fn InkProbes(
    /// The colours.
    inks: RwSignal<Inks>,
) -> impl IntoView {
    let probes = NodeRef::<html::Div>::new();
    let read = move || {
        let now = probes.get_untracked().map(|probes| Inks::of(&probes));
        if let Some(now) = now
            && inks.try_with_untracked(|before| *before != now) == Some(true)
        {
            inks.set(now);
        }
    };
    Effect::new(move |_| {
        if probes.get().is_some() {
            read();
        }
    });
    view! {
        // Their colours change with the theme, by a transition.
        <div class="ink-probes" aria-hidden="true" node_ref=probes on:transitionend=move |_| read()>
            {INKS.map(|ink| view! { <i style=format!("color: var(--{ink})")></i> })}
        </div>
    }
}

//! Colours of the picture.

use std::collections::BTreeMap;

use crate::browser;

/// Colours of the picture, by the name of their custom property. The page's style decides their values.
pub const INKS: [&str; 17] = [
    "surface-raised",
    "border-strong",
    "text",
    "text-quiet",
    "text-faint",
    "accent",
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
#[derive(Clone, Default)]
pub struct Inks(BTreeMap<&'static str, String>);

impl Inks {
    /// The current values, from elements that have these colours, in the order of [`INKS`].
    pub fn of(probes: &web_sys::Element) -> Self {
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

    /// The value of a colour.
    pub fn get(&self, ink: &str) -> &str {
        self.0.get(ink).map_or("gray", String::as_str)
    }
}

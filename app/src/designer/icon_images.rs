//! Images of icons.
//!
//! An inline SVG has a coordinate system, so the browser handles each as a layer of its own whenever anything on the page
//! moves. With a hundred of them, this is the largest part of a step of a drag. An image is a part of what it is in. The
//! page's style does not reach into it, so it has its colour.

use std::sync::Arc;

use leptos::{prelude::*, task::spawn_local};

use super::inks::Inks;
use crate::{
    browser,
    ui::{Icon, sprite},
};

/// Colours and drawings of the images.
#[derive(Clone, Copy)]
pub struct IconImages {
    /// The colours of the theme.
    pub inks: RwSignal<Inks>,
    /// Text of the sprite. `None` until it is loaded, empty if it cannot be.
    sprite: RwSignal<Option<Arc<str>>>,
}

impl IconImages {
    /// Icons without images. In the browser, the sprite is being loaded.
    pub fn new() -> Self {
        let icons = Self {
            inks: RwSignal::default(),
            sprite: RwSignal::new(None),
        };
        Effect::new(move |_| {
            spawn_local(async move {
                let text = sprite::text().await.unwrap_or_default();
                icons.sprite.try_set(Some(text.into()));
            });
        });
        icons
    }

    /// An icon in one of the colours, as SVG. `None` until both are known, or if there is no sprite.
    fn svg(self, name: &str, ink: &str) -> Option<String> {
        self.inks.with(|inks| {
            let colour = inks.known(ink)?;
            self.sprite
                .with(|text| sprite::svg(text.as_deref()?, name, colour))
        })
    }
}

/// An icon of the sprite in one of the colours. Without a sprite, it is inline. Its place is empty while the sprite loads:
/// inline icons would be drawn for a moment only, and for a hundred nodes they take a tenth of a second.
#[component]
pub fn IconImage(
    /// The images.
    icons: IconImages,
    /// A name in `style/icons.txt`.
    name: &'static str,
    /// The name of the colour.
    #[prop(into)]
    ink: Signal<&'static str>,
) -> impl IntoView {
    move || match icons.svg(name, ink.get()) {
        Some(svg) => view! { <Image svg /> }.into_any(),
        None if icons.sprite.with(Option::is_none) => {
            view! { <span class="icon-image"></span> }.into_any()
        }
        None => view! { <Icon name /> }.into_any(),
    }
}

/// An SVG as an image, in the size of an icon.
#[component]
pub fn Image(
    /// The SVG.
    svg: String,
) -> impl IntoView {
    view! {
        <img class="icon-image" alt="" draggable="false" src=browser::svg_address(&svg) />
    }
}

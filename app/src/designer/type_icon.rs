//! Icons of resource types.

use leptos::prelude::*;
use types::Category;

use super::{
    icon_images::{IconImage, Image},
    icons::{hue, icon_name},
    stage::Stage,
};

/// Icon of a type in its hue. Catalogue items have their own icons.
#[component]
pub fn TypeIcon(
    /// The resource type. Empty for the Internet.
    #[prop(into)]
    resource_type: String,
    /// The category, which decides the hue.
    category: Category,
    /// Access to the icons of catalogue items.
    stage: Stage,
) -> impl IntoView {
    let name = icon_name(&resource_type, category);
    let ink = if resource_type.is_empty() {
        "ground"
    } else {
        hue(category)
    };
    let own = Memo::new(move |_| {
        stage.types.with(|types| {
            let item = types.get(&resource_type)?.component.as_ref()?;
            (!item.icon.is_empty()).then(|| item.icon.clone())
        })
    });
    view! {
        <span class="chip-icon" data-category=hue(category) aria-hidden="true">
            {move || match own.get() {
                Some(svg) => view! { <Image svg /> }.into_any(),
                None => view! { <IconImage icons=stage.icons name ink=Signal::stored(ink) /> }.into_any(),
            }}
        </span>
    }
}

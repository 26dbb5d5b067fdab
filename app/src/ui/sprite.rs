//! The sprite as text, for icons that are images.

use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use super::icon::address;
use crate::browser;

/// Text of the sprite. `None` if it cannot be loaded.
pub async fn text() -> Option<String> {
    let request = browser::window()?.fetch_with_str(&address());
    let response: Response = JsFuture::from(request).await.ok()?.dyn_into().ok()?;
    let text = response.ok().then(|| response.text().ok()).flatten()?;
    JsFuture::from(text).await.ok()?.as_string()
}

/// One icon of the sprite in a colour, as an SVG of its own.
pub fn svg(sprite: &str, name: &str, colour: &str) -> Option<String> {
    let start = format!("<symbol id=\"{name}\"");
    let (_, rest) = sprite.split_once(&start)?;
    let (symbol, _) = rest.split_once("</symbol>")?;
    let symbol = symbol.replace("currentColor", colour);
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{symbol}</svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_icon_is_cut_out_of_the_sprite_and_coloured() {
        let sprite = concat!(
            r#"<svg xmlns="http://www.w3.org/2000/svg">"#,
            r#"<symbol id="server-off" viewBox="0 0 24 24" stroke="currentColor"><path d="M1 1" /></symbol>"#,
            r#"<symbol id="server" viewBox="0 0 24 24" stroke="currentColor"><path d="M2 2" /></symbol></svg>"#,
        );
        let svg = svg(sprite, "server", "oklch(0.5 0.1 250)").unwrap();
        assert_eq!(
            svg,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" stroke="oklch(0.5 0.1 250)"><path d="M2 2" /></svg>"#
        );
        assert_eq!(super::svg(sprite, "router", "red"), None);
    }
}

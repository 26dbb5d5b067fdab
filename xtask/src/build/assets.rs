//! Fonts and icons from npm packages with exact versions (`style/package.json`), served by our own server.
//!
//! Fonts: the latin subset of the upright variable fonts, `fonts/inter.woff2` and `fonts/jetbrains-mono.woff2`. Icons:
//! those listed in `style/icons.txt`, one per line, as symbols of one sprite: `<use href="/pkg/icons.svg?v=…#server">`
//! (see `app/src/ui/icon.rs`). Each symbol sets stroke and size; the colour is `currentColor`.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{files::write_if_changed, npm};
use crate::paths;

/// Package and base file name of each font.
const FONTS: [(&str, &str); 2] = [
    ("@fontsource-variable/inter", "inter"),
    ("@fontsource-variable/jetbrains-mono", "jetbrains-mono"),
];

/// Copies the fonts and writes the sprite.
pub fn build() -> Result<()> {
    let modules = npm::install(&paths::root().join("style"))?;
    for (package, stem) in FONTS {
        let from = modules
            .join(package)
            .join("files")
            .join(format!("{stem}-latin-wght-normal.woff2"));
        let font = std::fs::read(&from)
            .with_context(|| format!("cannot read the font {}", from.display()))?;
        write_if_changed(
            &paths::pkg().join("fonts").join(format!("{stem}.woff2")),
            &font,
        )?;
    }
    write_if_changed(
        &paths::pkg().join("icons.svg"),
        sprite(&modules)?.as_bytes(),
    )
}

fn sprite(modules: &Path) -> Result<String> {
    let list = paths::root().join("style/icons.txt");
    let names = std::fs::read_to_string(&list)
        .with_context(|| format!("cannot read {}", list.display()))?;
    let mut out = String::from("<svg xmlns=\"http://www.w3.org/2000/svg\">\n");
    for name in names
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
    {
        if name.is_empty() {
            continue;
        }
        let file = modules
            .join("lucide-static/icons")
            .join(format!("{name}.svg"));
        let Ok(svg) = std::fs::read_to_string(&file) else {
            bail!("style/icons.txt names `{name}`, and lucide-static has no such icon");
        };
        out.push_str(
            &symbol(name, &svg).with_context(|| format!("{} is not an icon", file.display()))?,
        );
    }
    out.push_str("</svg>\n");
    Ok(out)
}

/// The content of an icon as a symbol. `None` if there is no `<svg>`. The symbol does not clip its drawing, which stays within
/// its square: a clip of each icon would slow down the canvas.
fn symbol(name: &str, svg: &str) -> Option<String> {
    let open = svg.find("<svg")?;
    let start = open + svg[open..].find('>')? + 1;
    let end = svg.rfind("</svg>")?;
    let drawing = svg[start..end]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    Some(format!(
        "<symbol id=\"{name}\" viewBox=\"0 0 24 24\" overflow=\"visible\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\" \
         stroke-linecap=\"round\" stroke-linejoin=\"round\">{drawing}</symbol>\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_keeps_the_drawing_and_nothing_else() {
        let svg = "<!-- c -->\n<svg\n  width=\"24\"\n>\n  <path\n    d=\"M1 1\" />\n</svg>\n";
        let symbol = symbol("dot", svg).expect("there is a drawing");
        assert!(symbol.starts_with("<symbol id=\"dot\""), "{symbol}");
        assert!(symbol.contains(" overflow=\"visible\""), "{symbol}");
        assert!(
            symbol.ends_with("><path d=\"M1 1\" /></symbol>\n"),
            "{symbol}"
        );
    }

    #[test]
    fn a_file_that_is_not_an_svg_is_refused() {
        assert_eq!(symbol("dot", "404: not found"), None);
    }
}

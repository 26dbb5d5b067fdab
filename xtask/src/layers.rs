//! `cargo xtask layers`: every crate's modules in layers.
//!
//! A module is in the layer above the highest one that it imports from. So a reader starts in layer 1, and a change in a
//! layer concerns only the layers above it. Modules with children have layers of their own, below those of the crate.

use anyhow::{Result, bail};

use crate::modules::{self, Modules, Siblings};

/// Options of `layers`.
#[derive(clap::Args)]
pub struct Options {
    /// Crates to show, such as `engine`. The default is all.
    crates: Vec<String>,
}

/// Prints the layers, the highest first.
pub fn run(options: &Options) -> Result<()> {
    let mut shown = 0;
    for source in modules::sources()? {
        let name = modules::name(&source);
        let short = name.rsplit('/').next().unwrap_or_default();
        if !options.crates.is_empty() && !options.crates.iter().any(|wanted| wanted == short) {
            continue;
        }
        shown += 1;
        println!("{name}");
        for (path, siblings) in Modules::of_crate(&source)?.levels() {
            print!("{}", level(&path.join("::"), &layers(&siblings)));
        }
    }
    if shown == 0 {
        bail!(
            "no crate of the workspace is called {}",
            options.crates.join(" or ")
        );
    }
    Ok(())
}

/// The layers of sibling modules, the lowest first. Modules in a circle, and all above them, are the last layer.
fn layers(siblings: &Siblings) -> Vec<Vec<&str>> {
    let mut rest: Vec<&str> = siblings.keys().map(String::as_str).collect();
    let mut layers = Vec::new();
    while !rest.is_empty() {
        let waits = |module: &str| {
            siblings[module]
                .iter()
                .any(|import| rest.contains(&import.as_str()))
        };
        let (above, layer): (Vec<&str>, Vec<&str>) =
            rest.iter().copied().partition(|module| waits(module));
        if layer.is_empty() {
            layers.push(above);
            break;
        }
        layers.push(layer);
        rest = above;
    }
    layers
}

/// The text of one level. `path` is empty for the crate's root.
fn level(path: &str, layers: &[Vec<&str>]) -> String {
    let (indent, title) = match path {
        "" => ("  ", String::new()),
        path => ("    ", format!("  {path}\n")),
    };
    let lines = layers.iter().enumerate().rev();
    let lines = lines.map(|(below, layer)| format!("{indent}{} {}\n", below + 1, layer.join(", ")));
    title + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn siblings(uses: &[(&str, &[&str])]) -> Siblings {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        uses.iter()
            .map(|(name, imports)| ((*name).to_owned(), owned(imports)))
            .collect()
    }

    #[test]
    fn a_module_is_above_the_highest_one_that_it_imports() {
        let siblings = siblings(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"]), ("d", &["a"])]);
        assert_eq!(layers(&siblings), [vec!["a"], vec!["b", "d"], vec!["c"]]);
    }

    #[test]
    fn modules_in_a_circle_are_the_last_layer() {
        let siblings = siblings(&[("a", &[]), ("b", &["c"]), ("c", &["b"]), ("d", &["b"])]);
        assert_eq!(layers(&siblings), [vec!["a"], vec!["b", "c", "d"]]);
    }

    #[test]
    fn the_highest_layer_is_printed_first() {
        let text = level("", &[vec!["a"], vec!["b", "d"]]) + &level("b", &[vec!["x"]]);
        assert_eq!(text, "  2 b, d\n  1 a\n  b\n    1 x\n");
    }
}

//! Merge of this page's design with one that another user has saved in the meantime.
//!
//! The template is merged by entries (see [`hot::document::merge`]), files as a whole, positions by node. If both moved a
//! node, it stays where it is on this page.

use std::collections::{BTreeMap, BTreeSet};

use api::{Design, DesignRequest, DesignVersion, Layout, NodeCorner, NodePosition, TemplateFiles};
use hot::document::{self, Conflict, Document, Side, either};

/// Sides chosen by the user, by the path of the conflict. [`Side::One`] is this page.
pub(super) type Choices = BTreeMap<Vec<String>, Side>;

/// The function [`merge`], from the piece of the program that it is in (see [`super::later`]).
pub(super) type MergeFn =
    fn(Option<&DesignVersion>, &DesignRequest, &Design, &Choices) -> (DesignRequest, Vec<Conflict>);

/// Merges the page's content with the stored design. `base` is the version that the page's content comes from; without it,
/// nothing counts as removed. Conflicts without a choice are decided for this page.
pub(super) fn merge(
    base: Option<&DesignVersion>,
    mine: &DesignRequest,
    theirs: &Design,
    choices: &Choices,
) -> (DesignRequest, Vec<Conflict>) {
    let choose = |path: &[String]| choices.get(path).copied().unwrap_or(Side::One);
    let old = base.map(|base| Document::parse(&*base.template));
    let [one, other] = [&mine.template, &theirs.template].map(|text| Document::parse(&**text));
    let mut merged = document::merge(old.as_ref(), &one, &other, &choose);
    let beside = files(
        base.map(|base| &base.beside),
        (&mine.beside, &theirs.beside),
        &choose,
        &mut merged.conflicts,
    );
    let none = Layout::default();
    let layout = layout(
        base.map_or(&none, |base| &base.layout),
        &mine.layout,
        &theirs.layout,
    );
    let request = DesignRequest {
        name: mine.name.clone(),
        template: merged.text,
        beside,
        layout,
        base_version: Some(theirs.version),
    };
    (request, merged.conflicts)
}

fn files(
    base: Option<&TemplateFiles>,
    (one, other): (&TemplateFiles, &TemplateFiles),
    choose: &dyn Fn(&[String]) -> Side,
    conflicts: &mut Vec<Conflict>,
) -> TemplateFiles {
    let texts = |files: &TemplateFiles| files.files.clone().unwrap_or_default();
    let names = |files: &TemplateFiles| files.environments.clone().unwrap_or_default();
    let (old, left, right) = (
        base.map(texts).unwrap_or_default(),
        texts(one),
        texts(other),
    );
    let mut pick =
        |path: &[&str], old: Option<&String>, one: Option<&String>, other: Option<&String>| {
            // Without a common version, what one side alone has is kept.
            let agreed = match (base, one, other) {
                (None, Some(_), None) => Some(one),
                (None, None, _) => Some(other),
                (None, ..) if one != other => None,
                _ => either(old, one, other),
            };
            if let Some(agreed) = agreed {
                return agreed.cloned();
            }
            let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
            let side = choose(&path);
            conflicts.push(Conflict {
                path,
                one: one.cloned(),
                other: other.cloned(),
            });
            match side {
                Side::One => one.cloned(),
                Side::Other => other.cloned(),
            }
        };
    let paths: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let files = paths.into_iter().filter_map(|path| {
        let text = pick(
            &["files", path],
            old.get(path),
            left.get(path),
            right.get(path),
        )?;
        Some((path.clone(), text))
    });
    let files = files.collect();
    let listed = |names: Vec<String>| names.join("\n");
    let environments = pick(
        &["environments"],
        Some(&listed(base.map(names).unwrap_or_default())),
        Some(&listed(names(one))),
        Some(&listed(names(other))),
    );
    let environments = environments.unwrap_or_default();
    TemplateFiles {
        files: Some(files),
        environments: Some(environments.lines().map(str::to_owned).collect()),
    }
}

fn layout(base: &Layout, one: &Layout, other: &Layout) -> Layout {
    let names: BTreeSet<&String> = one.nodes.keys().chain(other.nodes.keys()).collect();
    let place = |name: &String| {
        let at = |layout: &Layout| layout.nodes.get(name).copied();
        let (old, one, other) = (at(base), at(one), at(other));
        let place = match (old, one, other) {
            (Some(old), Some(one), Some(other))
                if one.folded.is_some() || other.folded.is_some() =>
            {
                Some(folded(old, one, other))
            }
            _ => either(old, one, other).unwrap_or(one),
        };
        place.map(|place| (name.clone(), place))
    };
    Layout {
        nodes: names.into_iter().filter_map(place).collect(),
    }
}

/// The place of a network that is folded on one of the sides.
///
/// The places of its contents are relative to its origin: its corner, or the corner before it was folded. So the origin is
/// merged as these places are, apart from the position of the folded network.
fn folded(old: NodePosition, one: NodePosition, other: NodePosition) -> NodePosition {
    let corner = |place: NodePosition| NodeCorner {
        x: place.x,
        y: place.y,
    };
    let origin = |place: NodePosition| place.folded.unwrap_or(corner(place));
    let origin = either(origin(old), origin(one), origin(other)).unwrap_or(origin(one));
    let corner = either(corner(old), corner(one), corner(other)).unwrap_or(corner(one));
    let folds = |place: NodePosition| place.folded.is_some();
    let is_folded = either(folds(old), folds(one), folds(other)).unwrap_or(folds(one));
    let at = if is_folded { corner } else { origin };
    NodePosition {
        x: at.x,
        y: at.y,
        folded: is_folded.then_some(origin),
        ..either(old, one, other).unwrap_or(one)
    }
}

#[cfg(test)]
mod tests {
    use api::DesignVersionSummary;

    use super::*;

    fn beside(files: &[(&str, &str)]) -> TemplateFiles {
        let files = files.iter();
        TemplateFiles {
            files: Some(
                files
                    .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                    .collect(),
            ),
            environments: Some(Vec::new()),
        }
    }

    fn at(places: &[(&str, f64)]) -> Layout {
        let place = |x: f64| NodePosition {
            x,
            ..NodePosition::default()
        };
        let nodes = places.iter();
        Layout {
            nodes: nodes
                .map(|(name, x)| ((*name).to_owned(), place(*x)))
                .collect(),
        }
    }

    fn base() -> DesignVersion {
        DesignVersion {
            summary: DesignVersionSummary {
                version: 4,
                saved: String::new(),
                author: "ada".to_owned(),
                label: None,
            },
            template: "resources:\n  a: {type: A}\n".to_owned(),
            beside: beside(&[("x", "1"), ("y", "1")]),
            layout: at(&[("a", 1.0), ("b", 1.0)]),
        }
    }

    fn mine() -> DesignRequest {
        DesignRequest {
            name: "shop".to_owned(),
            template: "resources:\n  a: {type: A}\n  b: {type: B}\n".to_owned(),
            beside: beside(&[("x", "2"), ("y", "1")]),
            layout: at(&[("a", 2.0), ("b", 1.0)]),
            base_version: Some(4),
        }
    }

    fn theirs() -> Design {
        Design {
            id: String::new(),
            name: "shop".to_owned(),
            template: "resources:\n  a: {type: Z}\n".to_owned(),
            beside: beside(&[("x", "1"), ("y", "1"), ("z", "1")]),
            layout: at(&[("a", 1.0), ("b", 3.0)]),
            version: 5,
            created: String::new(),
            updated: String::new(),
            author: "bob".to_owned(),
        }
    }

    #[test]
    fn changes_of_different_parts_are_all_there() {
        let (merged, conflicts) = merge(Some(&base()), &mine(), &theirs(), &Choices::new());
        assert_eq!(conflicts, []);
        assert_eq!(
            merged.template,
            "resources:\n  a: {type: Z}\n  b: {type: B}\n"
        );
        assert_eq!(merged.beside, beside(&[("x", "2"), ("y", "1"), ("z", "1")]));
        assert_eq!(merged.layout, at(&[("a", 2.0), ("b", 3.0)]));
        assert_eq!(merged.base_version, Some(5));
    }

    #[test]
    fn contents_of_a_network_that_one_folds_and_the_other_moves_stay_inside_it() {
        let place = |x: f64, folded: Option<f64>| NodePosition {
            x,
            folded: folded.map(|x| NodeCorner { x, y: 0.0 }),
            ..NodePosition::default()
        };
        let nodes = |network: NodePosition, server: f64| {
            let server = place(server, None);
            let nodes = [
                ("network".to_owned(), network),
                ("server".to_owned(), server),
            ];
            Layout {
                nodes: nodes.into(),
            }
        };
        let base = nodes(place(100.0, None), 116.0);
        let folds = nodes(place(100.0, Some(100.0)), 116.0);
        let moves = nodes(place(900.0, None), 916.0);
        let both = nodes(place(900.0, Some(900.0)), 916.0);
        assert_eq!(layout(&base, &folds, &moves), both);
        assert_eq!(layout(&base, &moves, &folds), both);

        let base = nodes(place(500.0, Some(100.0)), 116.0);
        let moves = nodes(place(700.0, Some(100.0)), 116.0);
        let unfolds = nodes(place(500.0, None), 516.0);
        assert_eq!(layout(&base, &moves, &unfolds), unfolds);
        assert_eq!(layout(&base, &unfolds, &moves), unfolds);
    }

    #[test]
    fn a_file_that_both_changed_is_a_conflict() {
        let mut theirs = theirs();
        theirs.beside = beside(&[("x", "3")]);
        let path = vec!["files".to_owned(), "x".to_owned()];
        for (side, text) in [(Side::One, "2"), (Side::Other, "3")] {
            let choices = Choices::from([(path.clone(), side)]);
            let (merged, conflicts) = merge(Some(&base()), &mine(), &theirs, &choices);
            assert_eq!(conflicts.len(), 1);
            assert_eq!(conflicts[0].path, path);
            assert_eq!(merged.beside, beside(&[("x", text)]));
        }
    }

    #[test]
    fn without_the_common_version_nothing_is_removed() {
        let mut theirs = theirs();
        theirs.template = "resources:\n  c: {type: C}\n".to_owned();
        let (merged, conflicts) = merge(None, &mine(), &theirs, &Choices::new());
        let paths: Vec<_> = conflicts.iter().map(|one| one.path.join("/")).collect();
        assert_eq!(paths, ["files/x"]);
        assert_eq!(
            merged.template,
            "resources:\n  a: {type: A}\n  b: {type: B}\n  c: {type: C}\n"
        );
    }
}

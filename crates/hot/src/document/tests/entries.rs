//! Renamed parameters and conditions with their uses, and items that change places.

use super::*;
use crate::document::Section;

const SITE: &str = "\
heat_template_version: 2021-04-16
parameter_groups:
  - parameters: [size, image]
parameters:
  size: {type: string, default: size}   # how large
  image: {type: string}
conditions:
  big: {equals: [{get_param: size}, large]}
  spare: {and: [big, {not: big}]}
resources:
  web:
    type: OS::Nova::Server
    condition: big
    properties:
      flavor: {get_param: size}
      image: {if: [big, {get_param: image}, {get_param: [size, 0]}]}
      metadata: {size: big}
outputs:
  size: {condition: {not: big}, value: {get_param: size}}
";

fn rename(section: Section, from: &str, to: &str) -> Edit {
    Edit::RenameEntry {
        section,
        from: from.into(),
        to: to.into(),
    }
}

#[test]
fn a_parameter_is_renamed_with_all_its_uses() {
    let after = SITE
        .replace("get_param: size", "get_param: flavor")
        .replace("get_param: [size", "get_param: [flavor")
        .replace("[size, image]", "[flavor, image]")
        .replace("  size: {type", "  flavor: {type");
    check_edit(SITE, &rename(Section::Parameters, "size", "flavor"), &after);
}

#[test]
fn a_condition_is_renamed_with_all_its_uses() {
    let after = SITE
        .replace("  big:", "  large_one:")
        .replace("[big, {not: big}]", "[large_one, {not: large_one}]")
        .replace("condition: big", "condition: large_one")
        .replace("{if: [big", "{if: [large_one")
        .replace("condition: {not: big}", "condition: {not: large_one}");
    check_edit(
        SITE,
        &rename(Section::Conditions, "big", "large_one"),
        &after,
    );
}

#[test]
fn a_name_in_use_is_refused() {
    let document = Document::parse(SITE);
    let taken = document.edit(&rename(Section::Parameters, "size", "image"));
    assert_eq!(taken.err(), Some(EditError::NameTaken("image".into())));
    let bad = document.edit(&rename(Section::Outputs, "size", "a b"));
    assert_eq!(bad.err(), Some(EditError::BadName("a b".into())));
}

#[test]
fn uses_are_told_by_their_paths() {
    let document = Document::parse(SITE);
    let uses = |section, name| -> Vec<String> {
        let uses = document.uses(section, name).into_iter();
        uses.map(|path| path.join(".")).collect()
    };
    assert_eq!(
        uses(Section::Parameters, "image"),
        [
            "parameter_groups.0.parameters.1",
            "resources.web.properties.image.if.1"
        ]
    );
    assert_eq!(
        uses(Section::Conditions, "big"),
        [
            "conditions.spare",
            "conditions.spare",
            "resources.web.condition",
            "resources.web.properties.image",
            "outputs.size.condition"
        ]
    );
}

#[test]
fn items_change_places_with_their_comments() {
    let before = "\
resources:
  wall:
    properties:
      rules:
        # from anywhere
        - protocol: tcp   # the web
          port_range_min: 80  # plain
        - {protocol: icmp}
        - protocol: udp
";
    let after = "\
resources:
  wall:
    properties:
      rules:
        # from anywhere
        - {protocol: icmp}
        - protocol: tcp   # the web
          port_range_min: 80  # plain
        - protocol: udp
";
    let swap = |items| Edit::SwapItems {
        path: path("resources.wall.properties.rules"),
        items,
    };
    check_edit(before, &swap((0, 1)), after);
    check_edit(after, &swap((1, 0)), before);
    check_edit(
        "a: [1, 2, 3] # few",
        &Edit::SwapItems {
            path: path("a"),
            items: (0, 2),
        },
        "a: [3, 2, 1] # few",
    );
}

//! Properties that hold for every text and every edit.

use super::{resources::MENTIONS, *};

fn word() -> impl Strategy<Value = String> {
    "[a-d]{1,2}"
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[ -~]{1,10}".prop_map(Value::from),
        "[a-z#: ]{1,5}\n[a-z ]{1,5}\n?".prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Value::Array),
            prop::collection::btree_map(word(), inner, 1..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A document with comments and blank lines, and some values in braces.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec((tree(), 0..4u8), 1..4).prop_map(|sections| {
        let mut text = String::from("# head\n");
        for (index, (value, style)) in sections.iter().enumerate() {
            if style & 1 == 1 {
                text.push_str(&format!(
                    "k{index}: {} # flow\n",
                    crate::document::write::flow(value)
                ));
            } else {
                text.push_str(&format!(
                    "{}\n",
                    crate::document::write::entry(
                        &format!("k{index}"),
                        value,
                        0,
                        2 + usize::from(*style)
                    )
                ));
            }
            if style & 2 == 2 {
                text.push_str("\n# between\n");
            }
        }
        text
    })
}

/// All paths of a value.
fn paths(value: &Value, path: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    if !path.is_empty() {
        out.push(path.clone());
    }
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => return,
    };
    for (key, value) in children {
        path.push(key);
        paths(value, path, out);
        path.pop();
    }
}

#[test]
fn a_last_word_that_is_a_dash_is_quoted_in_brackets() {
    let document = Document::parse("k: [a]\n");
    let edited = document.edit(&set("k", json!(["A -", "- b"]))).unwrap();
    assert_eq!(edited.text(), "k: [\"A -\", \"- b\"]\n");
    assert_eq!(edited.value(&["k"]), Some(json!(["A -", "- b"])));
}

proptest! {
    #[test]
    fn a_set_value_is_read_back_and_nothing_else_changes(text in text(), pick in any::<prop::sample::Index>(), value in tree()) {
        let document = Document::parse(text.as_str());
        let mut all = Vec::new();
        paths(&document.root().unwrap().to_json(), &mut Vec::new(), &mut all);
        let path = pick.get(&all).clone();
        let edited = document.edit(&Edit::Set { path: path.clone(), value: value.clone() });
        let edited = match edited { Ok(edited) => edited, Err(error) => return Err(TestCaseError::fail(format!("{error}\n{path:?} = {value}\n{text}"))) };
        // Other sections are unchanged byte for byte.
        for section in document.root().unwrap().entries().unwrap().iter().filter(|section| section.key != path[0]) {
            let lines = section.key_span.start..section.value.span.end;
            prop_assert!(edited.text().contains(&text[lines]), "{}\n---\n{}", text, edited.text());
        }
        prop_assert_eq!(text.matches("# head").count(), edited.text().matches("# head").count());
        prop_assert_eq!(text.matches("# between").count(), edited.text().matches("# between").count());
    }

    #[test]
    fn set_then_remove_restores_the_text(text in text(), pick in any::<prop::sample::Index>(), value in tree()) {
        let document = Document::parse(text.as_str());
        let mut all = Vec::new();
        paths(&document.root().unwrap().to_json(), &mut Vec::new(), &mut all);
        let maps: Vec<_> = all.into_iter().filter(|path| {
            let segments: Vec<&str> = path.iter().map(String::as_str).collect();
            matches!(document.value(&segments), Some(Value::Object(_)))
        }).collect();
        if maps.is_empty() { return Ok(()); }
        let mut path = pick.get(&maps).clone();
        path.push("zz".to_owned());
        let there = document.edit(&Edit::Set { path: path.clone(), value }).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let back = there.edit(&Edit::Remove { path }).map_err(|error| TestCaseError::fail(format!("{error}\n{}", there.text())))?;
        prop_assert_eq!(back.text(), &text, "{}", there.text());
    }

    #[test]
    fn a_parsed_text_is_printed_byte_for_byte(text in "\\PC{0,80}") {
        let document = Document::parse(text.as_str());
        prop_assert_eq!(document.text(), text.as_str());
    }

    #[test]
    fn add_then_remove_restores_the_text(properties in tree(), spaced in any::<bool>()) {
        let text = if spaced { WEB.to_owned() } else { MENTIONS.to_owned() };
        let properties = json!({"p": properties});
        let there = Document::parse(text.as_str())
            .edit(&add("new", "OS::Heat::Value", properties.clone()))
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(there.value(&["resources", "new", "properties"]), Some(properties));
        let back = there
            .edit(&remove_resource("new"))
            .map_err(|error| TestCaseError::fail(format!("{error}\n{}", there.text())))?;
        prop_assert_eq!(back.text(), text);
    }

    #[test]
    fn rename_and_back_restores_the_text(name in "[a-z_][a-z0-9_.-]{0,8}") {
        for text in [WEB, MENTIONS] {
            let document = Document::parse(text);
            let to = Edit::RenameResource { from: "web".into(), to: name.clone() };
            let Ok(renamed) = document.edit(&to) else { continue };
            let back = renamed
                .edit(&Edit::RenameResource { from: name.clone(), to: "web".into() })
                .map_err(|error| TestCaseError::fail(format!("{error}\n{}", renamed.text())))?;
            prop_assert_eq!(back.text(), text);
        }
    }

    #[test]
    fn items_that_change_places_twice_restore_the_text(text in text(), pick in any::<prop::sample::Index>(), items in any::<[prop::sample::Index; 2]>()) {
        let document = Document::parse(text.as_str());
        let mut all = Vec::new();
        paths(&document.root().unwrap().to_json(), &mut Vec::new(), &mut all);
        let lists: Vec<_> = all.into_iter().filter_map(|path| {
            let segments: Vec<&str> = path.iter().map(String::as_str).collect();
            match document.value(&segments) {
                Some(Value::Array(items)) => Some((path, items.len())),
                _ => None,
            }
        }).collect();
        if lists.is_empty() { return Ok(()); }
        let (path, length) = pick.get(&lists).clone();
        let edit = Edit::SwapItems { path, items: (items[0].index(length), items[1].index(length)) };
        // A few forms of block scalars cannot be exchanged. They are refused, not damaged.
        let Ok(there) = document.edit(&edit) else { return Ok(()) };
        let back = there.edit(&edit).map_err(|error| TestCaseError::fail(format!("{error}\n{}", there.text())))?;
        prop_assert_eq!(back.text(), &text, "{}", there.text());
    }

    #[test]
    fn no_text_and_no_edit_makes_the_document_panic(text in "[a-c:\\-\\[\\]{}&*|>'\"#, \n]{0,50}", key in "[a-c0]") {
        let document = Document::parse(text);
        for edit in [set(&key, json!({"x": ["y"]})), remove(&key), add("n", "t", json!({})), Edit::RenameResource { from: "a".into(), to: "b".into() }] {
            let _ = document.edit(&edit);
        }
        let _ = document.position("a.b");
    }
}

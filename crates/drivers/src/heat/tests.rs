use serde_json::{Map, Value, json};

use super::*;

fn ready(of: &dyn Local, properties: &Value) -> Result<Ready, String> {
    let properties: Map<String, Value> = properties.as_object().cloned().unwrap_or_default();
    of.ready(&properties).map_err(|error| error.to_string())
}

fn text(of: &dyn Local, properties: &Value) -> String {
    let ready = ready(of, properties).unwrap();
    assert_eq!(ready.attributes["config"], ready.reference);
    ready.reference.as_str().unwrap().to_owned()
}

#[test]
fn a_value_takes_the_type_that_it_is_given() {
    let value =
        |properties: Value| ready(&value::Value, &properties).unwrap().attributes["value"].clone();
    assert_eq!(value(json!({"value": {"a": 1}})), json!({"a": 1}));
    assert_eq!(value(json!({"value": "80", "type": "number"})), 80);
    assert_eq!(
        value(json!({"value": "a,b", "type": "comma_delimited_list"})),
        json!(["a", "b"])
    );
    assert_eq!(value(json!({"value": "on", "type": "boolean"})), true);
}

#[test]
fn a_random_string_has_what_is_asked_for() {
    let make = |properties: Value| -> Result<String, String> {
        let ready = ready(&random_string::RandomString, &properties)?;
        assert_eq!(ready.reference, ready.attributes["value"]);
        Ok(ready.reference.as_str().unwrap().to_owned())
    };
    let plain = make(json!({})).unwrap();
    assert_eq!(plain.len(), 32);
    assert!(plain.chars().all(|c| c.is_ascii_alphanumeric()));
    assert_ne!(plain, make(json!({})).unwrap());
    let mixed = make(
        json!({"length": 8, "character_classes": [{"class": "digits", "min": 3}],
        "character_sequences": [{"sequence": "!?", "min": 5}]}),
    )
    .unwrap();
    assert_eq!(mixed.chars().filter(char::is_ascii_digit).count(), 3);
    assert_eq!(mixed.chars().filter(|c| "!?".contains(*c)).count(), 5);
    let hexadecimal = make(json!({"length": 200, "sequence": "hexdigits"})).unwrap();
    assert!(hexadecimal.chars().all(|c| "0123456789ABCDEF".contains(c)));
    assert_eq!(
        make(json!({"length": 2, "character_classes": [{"class": "digits", "min": 3}]})),
        Err(
            "property `length`: it is less than the classes and sequences need at least".to_owned()
        )
    );
    assert_eq!(
        make(json!({"length": 0})),
        Err("property `length`: it must be from 1 to 512".to_owned())
    );
}

#[test]
fn configs_are_texts_that_a_server_can_take() {
    let cloud = text(
        &cloud_config::CloudConfig,
        &json!({"cloud_config": {"packages": ["curl"]}}),
    );
    let (first, rest) = cloud.split_once('\n').unwrap();
    assert_eq!(first, "#cloud-config");
    assert_eq!(
        serde_json::from_str::<Value>(rest).unwrap(),
        json!({"packages": ["curl"]})
    );
    assert_eq!(
        text(
            &software_config::SoftwareConfig,
            &json!({"config": "#!/bin/sh\n", "group": "script"})
        ),
        "#!/bin/sh\n"
    );
    let structured = ready(
        &software_config::SoftwareConfig,
        &json!({"config": {"a": {"get": 1}}}),
    )
    .unwrap();
    assert_eq!(structured.attributes["config"], json!({"a": {"get": 1}}));
    assert_eq!(structured.reference, "{\"a\":{\"get\":1}}");
}

#[test]
fn several_configs_go_as_one_message() {
    let message = text(
        &multipart_mime::MultipartMime,
        &json!({"parts": [
            {"config": "#!/bin/sh\necho one\n", "filename": "x-shellscript.sh\"\n"},
            {"config": "#cloud-config\n{}\n", "subtype": "cloud-config"},
            {"config": "Content-Type: multipart/mixed; boundary=\"x\"\n\n--x--\n", "type": "multipart"},
        ]}),
    );
    insta::assert_snapshot!(message, @r#"
    Content-Type: multipart/mixed; boundary="051b1bfc861a217bd6bc621d"
    MIME-Version: 1.0

    --051b1bfc861a217bd6bc621d
    Content-Type: text/x-shellscript; charset="utf-8"
    MIME-Version: 1.0
    Content-Transfer-Encoding: 7bit
    Content-Disposition: attachment; filename="x-shellscript.sh"

    #!/bin/sh
    echo one

    --051b1bfc861a217bd6bc621d
    Content-Type: text/cloud-config; charset="utf-8"
    MIME-Version: 1.0
    Content-Transfer-Encoding: 7bit

    #cloud-config
    {}

    --051b1bfc861a217bd6bc621d
    Content-Type: multipart/mixed; boundary="x"

    --x--

    --051b1bfc861a217bd6bc621d--
    "#);
}

fn waits_for(of: &dyn Local, properties: &Value, action: &str) -> Result<u64, String> {
    of.waits_seconds(Properties::of(properties.as_object().unwrap()), action)
        .map_err(|error| error.to_string())
}

#[test]
fn what_is_for_trying_does_what_it_is_told() {
    let test = test_resource::TestResource;
    assert_eq!(
        ready(&test, &json!({"value": "x"})).unwrap().attributes["output"],
        "x"
    );
    assert_eq!(
        ready(&test, &json!({"fail": true})).unwrap_err(),
        "property `fail`: it is set, so this resource cannot be created"
    );
    let waits = |of: &dyn Local, properties: &Value| waits_for(of, properties, CREATE);
    assert_eq!(waits(&test, &json!({"wait_secs": 3})), Ok(3));
    let each = json!({"wait_secs": 3, "action_wait_secs": {"update": 4}});
    assert_eq!(
        [CREATE, UPDATE, DELETE].map(|action| waits_for(&test, &each, action)),
        [Ok(3), Ok(4), Ok(3)]
    );
    assert_eq!(
        waits(
            &test,
            &json!({"wait_secs": 3, "action_wait_secs": {"create": 1}})
        ),
        Ok(1)
    );
    assert_eq!(waits(&delay::Delay, &json!({"min_wait": 2})), Ok(2));
    let jittered = waits(
        &delay::Delay,
        &json!({"min_wait": "10", "max_jitter": 2, "jitter_multiplier": 5}),
    )
    .unwrap();
    assert!((10..=20).contains(&jittered));
    assert_eq!(
        waits(
            &delay::Delay,
            &json!({"min_wait": 5, "actions": ["DELETE"]})
        ),
        Ok(0)
    );
    assert_eq!(
        waits_for(
            &delay::Delay,
            &json!({"min_wait": 5, "actions": ["DELETE"]}),
            DELETE
        ),
        Ok(5)
    );
    assert_eq!(
        waits_for(&delay::Delay, &json!({"min_wait": 5}), DELETE),
        Ok(0)
    );
    assert!(
        waits(&delay::Delay, &json!({"min_wait": 5000}))
            .unwrap_err()
            .contains("540 seconds")
    );
}

#[test]
fn a_parent_gives_what_the_planner_made_of_it() {
    let given = json!({"refs": ["a"], "OS::stack_id": "id"});
    let ready = ready(&parent::Parent, &given).unwrap();
    assert_eq!(ready.reference, "id");
    assert_eq!(json!(ready.attributes), given);
}

#[test]
fn a_group_lists_the_members_that_were_removed() {
    let of = |given: Value| {
        let ready = ready(&parent::Group, &given).unwrap();
        ready.attributes["removed_rsrc_list"].clone()
    };
    assert_eq!(of(json!({})), json!([]));
    assert_eq!(of(json!({"removed_rsrc_list": ["1"]})), json!(["1"]));
}

#[test]
fn each_part_of_a_message_says_what_it_is() {
    for (part, kind, file) in [
        (json!({"config": "a"}), "text/plain", None),
        (json!({"config": "a", "subtype": ""}), "text/plain", None),
        (
            json!({"config": "a", "subtype": "x-shellscript"}),
            "text/x-shellscript",
            None,
        ),
        (
            json!({"config": "a", "filename": "part-handler.py"}),
            "text/part-handler",
            Some("part-handler.py"),
        ),
        (
            json!({"config": "a", "filename": "run.sh", "subtype": "x-shellscript", "type": "text"}),
            "text/x-shellscript",
            Some("run.sh"),
        ),
        (json!({"config": null}), "text/plain", None),
        (json!({}), "text/plain", None),
    ] {
        let message = text(&multipart_mime::MultipartMime, &json!({"parts": [part]}));
        let expected = format!("Content-Type: {kind}; charset=\"utf-8\"\n");
        assert!(message.contains(&expected), "{part}: {message}");
        let named = file.map(|file| format!("filename=\"{file}\""));
        assert_eq!(message.contains("filename="), named.is_some(), "{message}");
        assert!(
            named.is_none_or(|named| message.contains(&named)),
            "{message}"
        );
    }
    // A message without parts is valid, and equal parts give an equal message, so repeated runs cause no update.
    let empty = text(&multipart_mime::MultipartMime, &json!({}));
    assert!(
        empty.starts_with("Content-Type: multipart/mixed"),
        "{empty}"
    );
    let twice = || {
        text(
            &multipart_mime::MultipartMime,
            &json!({"parts": [{"config": "a"}]}),
        )
    };
    assert_eq!(twice(), twice());
}

#[test]
fn a_delay_lies_within_its_bounds() {
    for (properties, action, least, most) in [
        (json!({}), CREATE, 0, 0),
        (json!({"min_wait": 3}), CREATE, 3, 3),
        (json!({"min_wait": "3"}), CREATE, 3, 3),
        (json!({"min_wait": -3}), CREATE, 0, 0),
        (json!({"min_wait": 3, "max_jitter": 2}), CREATE, 3, 5),
        (
            json!({"min_wait": 3, "max_jitter": 2, "jitter_multiplier": 10}),
            CREATE,
            3,
            23,
        ),
        (
            json!({"max_jitter": 2, "jitter_multiplier": 0}),
            CREATE,
            0,
            0,
        ),
        (json!({"min_wait": 3}), DELETE, 0, 0),
        (
            json!({"min_wait": 3, "actions": ["CREATE", "DELETE"]}),
            DELETE,
            3,
            3,
        ),
        (json!({"min_wait": 3, "actions": ["SUSPEND"]}), CREATE, 0, 0),
        (json!({"min_wait": 3, "actions": []}), CREATE, 0, 0),
    ] {
        for _ in 0..20 {
            let waits = waits_for(&delay::Delay, &properties, action).unwrap();
            assert!((least..=most).contains(&waits), "{properties}: {waits}");
        }
    }
    for wrong in [json!({"min_wait": "soon"}), json!({"max_jitter": [1]})] {
        let refused = waits_for(&delay::Delay, &wrong, CREATE).unwrap_err();
        assert!(refused.contains("a number of seconds"), "{refused}");
    }
}

//! The example of `docs/items.md`, as an author types it.

use super::*;

const PAGE: &str = include_str!("../../../../docs/items.md");

/// Writes the files of the page into a folder of items.
fn write_example(folder: &std::path::Path) {
    for section in PAGE.split("\n### `").skip(1) {
        let (path, rest) = section.split_once('`').unwrap();
        let text = rest.split("```yaml\n").nth(1).unwrap();
        let file = folder.join("tinyproxy").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text.split("```").next().unwrap()).unwrap();
    }
}

/// The example, or the item in the folder that `cargo xtask item test` names.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn an_item_of_an_author_passes_its_test() {
    if let Some(folder) = std::env::var_os("STACKLOOM_ITEM") {
        return items::test_item(folder.as_ref()).await;
    }
    let folder = tempfile::tempdir().unwrap();
    write_example(folder.path());
    items::test_item(&folder.path().join("tinyproxy")).await;
}

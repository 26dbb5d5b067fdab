use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use tar::{Builder, Header};

use super::*;

const MANIFEST: &[u8] = b"name: hello";

/// An entry whose path is written into the header unchecked, as by an attacker.
fn entry(path: &str, kind: EntryType, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o777);
    header.set_size(content.len() as u64);
    if matches!(kind, EntryType::Symlink | EntryType::Link) {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(path: &str, content: &[u8]) -> Vec<u8> {
    entry(path, EntryType::Regular, content)
}

fn zipped(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for part in parts {
        encoder.write_all(part).unwrap();
    }
    encoder.write_all(&[0; 1024]).unwrap();
    encoder.finish().unwrap()
}

fn taken(parts: &[Vec<u8>]) -> Result<Vec<String>, String> {
    let limits = Limits {
        bytes: 10_000,
        entries: 20,
        ..Limits::default()
    };
    listed(unpack(&zipped(parts), &limits))
}

fn listed(result: Result<Files, Vec<Diagnostic>>) -> Result<Vec<String>, String> {
    let all = |problems: Vec<Diagnostic>| {
        let messages: Vec<String> = problems.into_iter().map(|one| one.message).collect();
        messages.join("; ")
    };
    result.map(|files| files.into_keys().collect()).map_err(all)
}

#[test]
fn an_archive_has_the_item_at_its_root_or_in_one_folder() {
    let inside = ["item.yml", "tasks/main.yml"];
    let whole = [file("./item.yml", MANIFEST), file("./tasks/main.yml", b"")];
    assert_eq!(taken(&whole).unwrap(), inside);
    let folder = [
        entry("pax_global_header", EntryType::XGlobalHeader, b"comment"),
        entry("hello/", EntryType::Directory, b""),
        file("hello/item.yml", MANIFEST),
        file("._hello", b"of a file manager"),
        file("hello/.DS_Store", b"of another"),
        file("hello/tasks/main.yml", b""),
    ];
    assert_eq!(taken(&folder).unwrap(), inside);
}

#[test]
fn archives_with_long_names_are_read() {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let long = format!("templates/{}.j2", "x".repeat(120));
    for path in ["item.yml", &long] {
        let mut header = Header::new_gnu();
        header.set_size(MANIFEST.len() as u64);
        builder.append_data(&mut header, path, MANIFEST).unwrap();
    }
    let archive = builder.into_inner().unwrap().finish().unwrap();
    let files = listed(unpack(&archive, &Limits::default())).unwrap();
    assert_eq!(files, ["item.yml", &long]);
}

#[test]
fn paths_out_of_the_folder_and_special_files_are_refused() {
    let item = || file("item.yml", MANIFEST);
    for (hostile, why) in [
        (file("../evil", b"x"), "`..` leads out"),
        (file("a/../../evil", b"x"), "`..` leads out"),
        (file("/etc/cron.d/evil", b"x"), "absolute paths"),
        (file("a\\..\\evil", b"x"), "cannot be part of a name"),
        (file("C:evil", b"x"), "cannot be part of a name"),
        (file("a\nb", b"x"), "cannot be part of a name"),
        (
            file("a/b/c/d/e/f/g/h/i/j", b"x"),
            "more than 8 folders deep",
        ),
        (
            entry("link", EntryType::Symlink, b""),
            "links are not accepted",
        ),
        (
            entry("link", EntryType::Link, b""),
            "links are not accepted",
        ),
        (
            entry("pipe", EntryType::Fifo, b""),
            "only files and folders",
        ),
        (
            entry("disk", EntryType::Block, b""),
            "only files and folders",
        ),
        (entry("tty", EntryType::Char, b""), "only files and folders"),
        (file("item.yml", MANIFEST), "it is in the archive twice"),
        (file("item.yml/x", b"x"), "a file and a folder"),
    ] {
        let message = taken(&[item(), hostile]).unwrap_err();
        assert!(message.contains(why), "{why}: {message}");
    }
    let two = [file("a/item.yml", MANIFEST), file("b/item.yml", MANIFEST)];
    assert!(taken(&two).unwrap_err().contains("neither an `item.yml`"));
    assert!(taken(&[]).unwrap_err().contains("neither an `item.yml`"));
    let bare = [file("hello/tasks/main.yml", b"")];
    assert_eq!(taken(&bare).unwrap(), ["tasks/main.yml"]);
}

#[test]
fn an_archive_cannot_become_large() {
    let zeros = vec![0; 10_001];
    let message = taken(&[file("item.yml", MANIFEST), file("zeros", &zeros)]).unwrap_err();
    assert!(message.contains("more than 9 KiB together"), "{message}");
    let many: Vec<Vec<u8>> = (0..21).map(|n| file(&format!("f{n}"), b"")).collect();
    assert!(taken(&many).unwrap_err().contains("more than 20 files"));
    // 200 MB of zeros with the header of one short file, and a name of 200 MB.
    for kind in [EntryType::Regular, EntryType::GNULongName] {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(200 << 20);
        header.set_cksum();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(header.as_bytes()).unwrap();
        for _ in 0..200 {
            encoder.write_all(&vec![b'x'; 1 << 20]).unwrap();
        }
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 2 << 20);
        let message = listed(unpack(&bomb, &Limits::default())).unwrap_err();
        assert!(message.contains("more than 4096 KiB together"), "{message}");
    }
}

#[test]
fn an_archive_with_a_git_repository_is_refused_with_the_way_to_pack() {
    let clone = [
        file("hello/item.yml", MANIFEST),
        file("hello/.git/config", b"[remote]"),
    ];
    assert!(taken(&clone).unwrap_err().contains("git archive"));
    let objects = (0..20).map(|number| file(&format!("hello/.git/objects/{number}"), b"x"));
    let item = [file("hello/item.yml", MANIFEST)];
    let message = taken(&objects.chain(item).collect::<Vec<_>>()).unwrap_err();
    assert!(message.contains("git archive"), "{message}");
    assert!(message.contains("more than 20 files"), "{message}");
}

#[test]
fn a_file_that_is_not_an_archive_is_refused() {
    let whole = zipped(&[file("item.yml", &[b'x'; 4000])]);
    for broken in [b"PK".as_slice(), b"", &whole[..whole.len() / 2]] {
        let message = listed(unpack(broken, &Limits::default())).unwrap_err();
        assert!(
            message.contains("not a complete tar.gz archive"),
            "{message}"
        );
    }
    let text = zipped(&[b"name: hello\n".repeat(100)]);
    assert!(unpack(&text, &Limits::default()).is_err());
}

/// A file in a zip archive.
struct Zipped<'t> {
    path: &'t str,
    content: &'t [u8],
    flags: u16,
    method: u16,
    mode: u32,
}

fn zip_file<'t>(path: &'t str, content: &'t [u8]) -> Zipped<'t> {
    Zipped {
        path,
        content,
        flags: 0,
        method: 8,
        mode: 0o100_644,
    }
}

fn zip(files: &[Zipped]) -> Vec<u8> {
    let (mut archive, mut list): (Vec<u8>, Vec<u8>) = Default::default();
    for file in files {
        let mut crc = flate2::Crc::new();
        crc.update(file.content);
        let packed = if file.method == 8 {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(file.content).unwrap();
            encoder.finish().unwrap()
        } else {
            file.content.to_vec()
        };
        let offset = archive.len() as u32;
        let mut common: Vec<u8> = Vec::new();
        for field in [20_u16, file.flags, file.method, 0, 0] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc.sum(), packed.len() as u32, file.content.len() as u32] {
            common.extend(field.to_le_bytes());
        }
        common.extend((file.path.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(file.path.as_bytes());
        archive.extend(packed);
        list.extend(b"PK\x01\x02\x14\x03");
        list.extend(common);
        list.extend([0; 6]);
        for field in [file.mode << 16, offset] {
            list.extend(field.to_le_bytes());
        }
        list.extend(file.path.as_bytes());
    }
    let (at, bytes, count) = (archive.len() as u32, list.len() as u32, files.len() as u16);
    archive.extend(list);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([bytes.to_le_bytes(), at.to_le_bytes()].concat());
    archive.extend([0, 0]);
    archive
}

#[test]
fn a_zip_is_unpacked_under_the_same_rules() {
    let stored = Zipped {
        method: 0,
        ..zip_file("hello/tasks/main.yml", b"[]")
    };
    let item = || zip_file("hello/item.yml", MANIFEST);
    let good = zip(&[zip_file("hello/", b""), item(), stored]);
    let files = unpack(&good, &Limits::default()).unwrap();
    assert_eq!(files["item.yml"], MANIFEST);
    assert_eq!(files["tasks/main.yml"], b"[]");

    let zeros = vec![0; ITEM_BYTES_MAX + 1];
    let file = |path| zip_file(path, b"x");
    for (hostile, why) in [
        (file("../evil"), "`..` leads out"),
        (file("/etc/cron.d/evil"), "absolute paths"),
        (file("a\\b"), "cannot be part of a name"),
        (item(), "it is in the archive twice"),
        (
            zip_file("hello/zeros", &zeros),
            "more than 4096 KiB together",
        ),
        (
            Zipped {
                mode: 0o120_777,
                ..file("hello/link")
            },
            "links are not accepted",
        ),
        (
            Zipped {
                flags: 1,
                ..file("hello/secret")
            },
            "it is encrypted",
        ),
        (
            Zipped {
                method: 14,
                ..file("hello/lzma")
            },
            "unusual way",
        ),
    ] {
        let archive = zip(&[item(), hostile]);
        let message = listed(unpack(&archive, &Limits::default())).unwrap_err();
        assert!(message.contains(why), "{why}: {message}");
    }

    // Cut anywhere, or with a changed byte, it is refused or has the same files.
    for cut in 0..good.len() {
        assert!(unpack(&good[..cut], &Limits::default()).is_err(), "{cut}");
    }
    for at in 0..good.len() {
        let mut broken = good.clone();
        broken[at] ^= 0xff;
        if let Ok(files) = unpack(&broken, &Limits::default()) {
            assert!(files.contains_key("item.yml"), "{at}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any bytes result in files with plain paths within the limits, or in problems.
    #[test]
    fn no_bytes_make_unpacking_panic(parts in prop::collection::vec((".{0,99}", 0u8..128, prop::collection::vec(any::<u8>(), 0..700)), 0..8), cut in 0usize..4096, flip in any::<(u16, u8)>()) {
        let mut parts: Vec<Vec<u8>> = parts
            .iter()
            .map(|(path, kind, content)| {
                let end = path.floor_char_boundary(99);
                entry(&path[..end], EntryType::new(*kind), content)
            })
            .collect();
        parts.push(file("item.yml", MANIFEST));
        let (at, bits) = (usize::from(flip.0), flip.1);
        if let Some(byte) = parts[0].get_mut(at % 1024) {
            *byte ^= bits;
        }
        let mut archive = zipped(&parts);
        archive.truncate(archive.len().saturating_sub(cut / 16));
        match unpack(&archive, &Limits::default()) {
            Ok(files) => {
                prop_assert!(files.contains_key("item.yml"));
                prop_assert!(files.keys().all(|path| !path.starts_with('/') && path.split('/').all(|name| !matches!(name, "" | "." | ".."))));
            }
            Err(problems) => prop_assert!(!problems.is_empty() && problems.len() <= PROBLEMS_MAX + 1),
        }
    }
}

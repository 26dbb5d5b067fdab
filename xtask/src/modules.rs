//! The modules of the workspace's crates, and the modules that each of them uses.
//!
//! The reader follows the paths of a source file that begin with `crate`, `self` or `super`, through re-exports. Tests
//! are ignored. `cargo-modules` does this too, but takes minutes to build.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::paths;

/// The `src` folders of the workspace's crates.
pub fn sources() -> Result<Vec<PathBuf>> {
    let root = paths::root();
    let mut folders = Vec::new();
    for parent in [root.clone(), root.join("crates")] {
        for entry in std::fs::read_dir(&parent)? {
            let source = entry?.path().join("src");
            if source.is_dir() {
                folders.push(source);
            }
        }
    }
    folders.sort();
    Ok(folders)
}

/// A crate's name in messages: its folder below the workspace's root.
pub fn name(source: &Path) -> String {
    let folder = source
        .strip_prefix(paths::root())
        .unwrap_or(source)
        .parent();
    folder.map_or_else(String::new, |folder| folder.display().to_string())
}

/// Names of the sibling modules that a module uses, itself or through its children. By the module's name.
pub type Siblings = BTreeMap<String, BTreeSet<String>>;

/// A path from the crate's root: `["engine", "recover"]`.
pub type ModulePath = Vec<String>;

/// The modules of a crate.
#[derive(Default)]
pub struct Modules(BTreeMap<ModulePath, Module>);

/// The parts of a module that determine its dependencies.
#[derive(Default)]
struct Module {
    /// Names of defined items, including child modules.
    items: BTreeSet<String>,
    /// Names imported by `use`, with their paths.
    imports: BTreeMap<String, ModulePath>,
    /// Paths of glob imports.
    globs: Vec<ModulePath>,
    /// All used paths, from the crate's root.
    mentions: BTreeSet<ModulePath>,
    /// Child modules in files of their own.
    children: Vec<String>,
}

impl Modules {
    /// Reads the crate with this `src` folder.
    pub fn of_crate(source: &Path) -> Result<Self> {
        let mut modules = Self::default();
        for root in ["lib.rs", "main.rs"] {
            if source.join(root).exists() {
                modules.read(source, root, ModulePath::new())?;
            }
        }
        Ok(modules)
    }

    /// The modules of each level: the children of the crate's root, and of each module with children. Ordered by path.
    pub fn levels(&self) -> BTreeMap<ModulePath, Siblings> {
        let mut levels: BTreeMap<ModulePath, Siblings> = BTreeMap::new();
        for path in self.0.keys() {
            if let Some((name, parent)) = path.split_last() {
                let level = levels.entry(parent.to_vec()).or_default();
                level.entry(name.clone()).or_default();
            }
        }
        for (from, module) in &self.0 {
            for mention in &module.mentions {
                let to = self.resolve(mention, 0);
                let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
                    let level = levels.entry(from[..shared].to_vec()).or_default();
                    level.entry(one.clone()).or_default().insert(other.clone());
                }
            }
        }
        levels
    }

    fn read(&mut self, folder: &Path, file: &str, path: ModulePath) -> Result<()> {
        let file = folder.join(file);
        let text = std::fs::read_to_string(&file)?;
        let tokens: TokenStream = text
            .parse()
            .map_err(|error| anyhow::anyhow!("{error}"))
            .with_context(|| format!("{} is no Rust", file.display()))?;
        let mut module = Module::default();
        scan(&trees(tokens), &path, &mut module, Scope::Module);
        let children = module.children.clone();
        self.0.insert(path.clone(), module);
        for child in children {
            let mut inner = path.clone();
            inner.push(child.clone());
            let beside = file
                .file_stem()
                .filter(|stem| !["lib", "main", "mod"].iter().any(|root| stem == root))
                .map(|stem| folder.join(stem));
            let folder = beside.as_deref().unwrap_or(folder);
            let own = folder.join(&child);
            if own.join("mod.rs").exists() {
                self.read(&own, "mod.rs", inner)?;
            } else {
                self.read(folder, &format!("{child}.rs"), inner)?;
            }
        }
        Ok(())
    }

    /// The module that defines the item of a path.
    fn resolve(&self, path: &[String], depth: usize) -> ModulePath {
        let mut at = ModulePath::new();
        for (index, segment) in path.iter().enumerate() {
            let mut inner = at.clone();
            inner.push(segment.clone());
            if self.0.contains_key(&inner) {
                at = inner;
                continue;
            }
            let Some(module) = self.0.get(&at) else { break };
            if module.items.contains(segment) || depth > 8 {
                break;
            }
            let rest = &path[index + 1..];
            if let Some(target) = module.imports.get(segment) {
                return self.resolve(&[target, rest].concat(), depth + 1);
            }
            for glob in &module.globs {
                let source = self.resolve(glob, depth + 1);
                let defines = |module: &Module| module.items.contains(segment);
                if source != at && self.0.get(&source).is_some_and(defines) {
                    return source;
                }
            }
            break;
        }
        at
    }
}

fn trees(tokens: TokenStream) -> Vec<TokenTree> {
    tokens.into_iter().collect()
}

/// The position of tokens. Only items at the top level of a module define names.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Module,
    Inner,
}

const ITEMS: [&str; 8] = [
    "struct", "enum", "fn", "const", "static", "trait", "type", "union",
];

/// Reads the tokens of the module at `path`.
fn scan(tokens: &[TokenTree], path: &[String], module: &mut Module, scope: Scope) {
    let mut at = 0;
    while at < tokens.len() {
        if let Some(behind) = after_test(tokens, at) {
            at = behind;
            continue;
        }
        match &tokens[at] {
            TokenTree::Group(group) => {
                scan(&trees(group.stream()), path, module, Scope::Inner);
            }
            TokenTree::Ident(word) => {
                let word = word.to_string();
                let next = tokens.get(at + 1).map(ToString::to_string);
                if word == "use" {
                    let end = at + end_of_statement(&tokens[at..]);
                    for (name, target) in use_tree(&tokens[at + 1..end], path) {
                        module.mentions.insert(target.clone());
                        match name.as_str() {
                            "*" => module.globs.push(target),
                            _ => {
                                module.imports.insert(name, target);
                            }
                        }
                    }
                    at = end;
                    continue;
                }
                if scope == Scope::Module && word == "mod" {
                    let name = next.clone().unwrap_or_default();
                    if tokens.get(at + 2).is_some_and(|end| end.to_string() == ";") {
                        module.children.push(name.clone());
                    }
                    module.items.insert(name);
                }
                if scope == Scope::Module && ITEMS.contains(&word.as_str()) {
                    module.items.extend(next);
                }
                let is_start = !at
                    .checked_sub(1)
                    .is_some_and(|before| matches!(tokens[before].to_string().as_str(), ":" | "$"));
                if is_start && ["crate", "super", "self"].contains(&word.as_str()) {
                    let segments = plain_path(&tokens[at..]);
                    if segments.len() > 1 {
                        module.mentions.extend(absolute(&segments, path));
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The index after a test-only item, if one begins here.
fn after_test(tokens: &[TokenTree], at: usize) -> Option<usize> {
    let is_hash = |at: usize| tokens.get(at).is_some_and(|token| token.to_string() == "#");
    let attribute = |at: usize| match tokens.get(at + 1) {
        Some(TokenTree::Group(group)) if is_hash(at) && group.delimiter() == Delimiter::Bracket => {
            Some(group.stream().to_string().replace(' ', ""))
        }
        _ => None,
    };
    if !attribute(at)?.starts_with("cfg(test") {
        return None;
    }
    let mut end = at + 2;
    while attribute(end).is_some() {
        end += 2;
    }
    Some(end + end_of_statement(&tokens[end..]) + 1)
}

/// The index of the first `;` or block.
fn end_of_statement(tokens: &[TokenTree]) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Punct(mark) => mark.as_char() == ';',
        _ => false,
    };
    let is_use = tokens
        .iter()
        .take_while(|token| !ends(token))
        .any(|token| token.to_string() == "use");
    let block = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_use,
        _ => false,
    };
    tokens
        .iter()
        .position(|token| ends(token) || block(token))
        .unwrap_or(tokens.len().saturating_sub(1))
}

/// The segments of the path at the start of `tokens`.
fn plain_path(tokens: &[TokenTree]) -> Vec<String> {
    let mut segments = Vec::new();
    let mut at = 0;
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        segments.push(word.to_string());
        let colon = |at: usize| tokens.get(at).is_some_and(|token| token.to_string() == ":");
        if !(colon(at + 1) && colon(at + 2)) {
            break;
        }
        at += 3;
    }
    segments
}

/// The path from the crate's root. `None` if `super` leaves the crate.
fn absolute(segments: &[String], module: &[String]) -> Option<ModulePath> {
    let mut base = module.to_vec();
    let mut rest = segments;
    match rest.first().map(String::as_str) {
        Some("crate") => {
            base.clear();
            rest = &rest[1..];
        }
        Some("self") => rest = &rest[1..],
        _ => {}
    }
    while rest.first().is_some_and(|word| word == "super") {
        base.pop()?;
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// The names imported by `use`, and their paths. Paths into other crates look like paths of child modules, and resolve
/// to nothing.
fn use_tree(tokens: &[TokenTree], module: &[String]) -> Vec<(String, ModulePath)> {
    fn walk(tokens: &[TokenTree], before: &[String], out: &mut Vec<(String, Vec<String>)>) {
        let parts = tokens.split(|token| token.to_string() == ",");
        for part in parts.filter(|part| !part.is_empty()) {
            let mut path = before.to_vec();
            let mut name = None;
            let mut words = part.iter().peekable();
            while let Some(token) = words.next() {
                match token {
                    TokenTree::Ident(word) if word == "as" => {
                        name = words.next().map(ToString::to_string);
                    }
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    TokenTree::Group(group) => {
                        walk(&trees(group.stream()), &path, out);
                        name = None;
                        path.clear();
                    }
                    TokenTree::Punct(mark) if mark.as_char() == '*' => name = Some("*".into()),
                    _ => {}
                }
            }
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            if let Some(last) = path.last().cloned() {
                out.push((name.unwrap_or(last), path));
            }
        }
    }
    let mut found = Vec::new();
    walk(tokens, &[], &mut found);
    found
        .into_iter()
        .filter_map(|(name, path)| Some((name, absolute(&path, module)?)))
        .collect()
}

//! The place of a caret in a template: the keys around it, and the word that is being typed.
//!
//! The text at a caret is seldom valid YAML, so this reads lines by their indent and the flow style of one line by its
//! brackets. It knows block maps, block lists, block scalars, comments, and flow style within one line.

/// The place of a caret.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Spot {
    /// Keys and indices from the root to the map, list or value at the caret.
    pub path: Vec<String>,
    /// Kind of the place.
    pub at: At,
    /// Start of the word in the text, in bytes.
    pub from: usize,
    /// The word from its start to the caret.
    pub word: String,
    /// Keys of the same map, without the one at the caret.
    pub siblings: Vec<String>,
    /// Earlier items of the same list.
    pub before: Vec<String>,
    /// The type of the resource around the caret, as written.
    pub resource_type: Option<String>,
    /// Indent of the line's content, in columns.
    pub column: usize,
    /// True if a bracket is open on the line.
    pub is_flow: bool,
    /// True if the word begins with a quote, which is not part of it.
    pub is_quoted: bool,
}

/// Kind of a place for a caret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum At {
    /// A key of the map at the path.
    #[default]
    Key,
    /// The value at the path.
    Value,
    /// An item of a list, which the path leads to: a value, or the first key of a map.
    Item,
}

/// One line of block style.
#[derive(Debug)]
struct Line<'t> {
    /// Columns of the dashes before the content.
    dashes: Vec<usize>,
    column: usize,
    key: Option<&'t str>,
    /// The text after the key, or all of the content.
    rest: &'t str,
}

impl<'t> Line<'t> {
    /// `None` for empty lines and comments.
    fn read(text: &'t str) -> Option<Line<'t>> {
        let line = Line::any(text);
        (!line.rest.is_empty() || line.key.is_some() || !line.dashes.is_empty())
            .then_some(line)
            .filter(|line| !line.rest.starts_with('#') || line.key.is_some())
    }

    fn any(text: &'t str) -> Line<'t> {
        let mut column = text.len() - text.trim_start_matches(' ').len();
        let mut dashes = Vec::new();
        while text[column..].starts_with("- ") || &text[column..] == "-" {
            dashes.push(column);
            let rest = text.get(column + 1..).unwrap_or_default();
            column += 1 + rest.len() - rest.trim_start_matches(' ').len();
        }
        let content = &text[column..];
        let colon = colon_of(content);
        Line {
            dashes,
            column,
            key: colon.map(|at| unquoted(content[..at].trim_end())),
            rest: colon.map_or(content, |at| content[at + 1..].trim_start_matches(' ')),
        }
    }

    /// Column of the outermost part of the line.
    fn start(&self) -> usize {
        self.dashes.first().copied().unwrap_or(self.column)
    }
}

/// The colon after a block key.
fn colon_of(content: &str) -> Option<usize> {
    let quote = content.chars().next().filter(|c| matches!(c, '"' | '\''));
    let skipped = match quote {
        Some(quote) => content[1..].find(quote)? + 2,
        None if content.starts_with(['{', '[', '#', '&', '*', '|', '>']) => return None,
        None => 0,
    };
    let bytes = content.as_bytes();
    (skipped..bytes.len())
        .take_while(|at| bytes[*at] != b'#' || *at == 0 || bytes[at - 1] != b' ')
        .find(|at| bytes[*at] == b':' && matches!(bytes.get(at + 1), None | Some(b' ')))
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

/// Value of a line, without a comment.
fn scalar(rest: &str) -> &str {
    unquoted(rest.split(" #").next().unwrap_or_default().trim())
}

/// The place at a byte offset. `None` in comments, block scalars, and after a complete value.
pub(super) fn spot(text: &str, offset: usize) -> Option<Spot> {
    let head = text.get(..offset)?;
    let start = head.rfind('\n').map_or(0, |at| at + 1);
    let typed = &head[start..];
    let lines: Vec<&str> = text.split('\n').collect();
    let here = head.bytes().filter(|byte| *byte == b'\n').count();

    let line = Line::any(typed);
    if line.key.is_none() && line.rest.starts_with('#') {
        return None;
    }
    let around = Around::of(&lines, here, &line)?;
    let mut spot = Spot {
        path: around.path,
        before: around.before,
        resource_type: around.resource_type,
        column: line.column,
        ..Spot::default()
    };
    spot.at = if line.dashes.is_empty() {
        At::Key
    } else {
        At::Item
    };
    if let Some(key) = line.key {
        // Only a space after the colon makes it a key.
        if typed.ends_with(':') && line.rest.is_empty() {
            return None;
        }
        spot.path.push(key.to_owned());
        spot.at = At::Value;
        spot.before.clear();
    }
    let value_at = offset - line.rest.len();
    let flow = Flow::read(line.rest)?;
    spot.is_flow = !flow.open.is_empty();
    for frame in &flow.open {
        if let [section, _] = &*spot.path
            && section == "resources"
            && let Some((_, value)) = frame.entries.iter().find(|(key, _)| key == "type")
        {
            spot.resource_type = Some(value.clone());
        }
        spot.siblings.clear();
        spot.before.clear();
        match (frame.is_map, &frame.key) {
            (true, Some(key)) => {
                spot.path.push(key.clone());
                spot.at = At::Value;
            }
            (true, None) => {
                spot.siblings = frame.entries.iter().map(|(key, _)| key.clone()).collect();
                spot.at = At::Key;
            }
            (false, _) => {
                spot.path.push(frame.items.len().to_string());
                spot.before = frame.items.clone();
                spot.at = At::Item;
            }
        }
    }
    if !spot.is_flow && spot.at == At::Key {
        spot.siblings = siblings(&lines, here, line.column);
    }
    spot.from = value_at + flow.from;
    spot.word = head[spot.from..].to_owned();
    spot.is_quoted = flow.is_quoted;
    Some(spot)
}

/// Surroundings of a line.
struct Around {
    path: Vec<String>,
    before: Vec<String>,
    resource_type: Option<String>,
}

impl Around {
    /// Goes up from a line. `None` if the line is in a block scalar.
    fn of(lines: &[&str], here: usize, line: &Line<'_>) -> Option<Around> {
        let mut up = Climb {
            path: Vec::new(),
            keys: Vec::new(),
            dashes: line.dashes.clone(),
            items: Vec::new(),
            before: None,
        };
        let mut limit = line.column;
        for index in (0..here).rev() {
            if limit == 0 && up.dashes.is_empty() {
                break;
            }
            let Some(upper) = Line::read(lines[index]) else {
                continue;
            };
            let is_item = !upper.dashes.is_empty();
            let bound = up.dashes.first().map_or(limit, |dash| dash + 1);
            if is_item && up.dashes.first() == Some(&upper.start()) {
                up.items.push(scalar(upper.rest).to_owned());
            } else if let Some(key) = upper.key.filter(|_| upper.column < bound) {
                if upper.rest.starts_with(['|', '>']) {
                    return None;
                }
                up.leave_list();
                up.path.push(key.to_owned());
                up.keys.push(index);
                limit = upper.column;
                up.dashes = upper.dashes;
            } else if is_item && upper.start() < bound {
                // The line is a later key of this item.
                up.leave_list();
                up.dashes = upper.dashes;
                up.dashes.retain(|dash| *dash < bound);
            }
        }
        up.leave_list();
        up.path.reverse();
        let resource = match &*up.keys {
            [.., resource, _] if up.path[0] == "resources" => Some(*resource),
            _ => None,
        };
        Some(Around {
            resource_type: resource.and_then(|index| value_below(lines, index, "type")),
            path: up.path,
            before: up.before.unwrap_or_default(),
        })
    }
}

/// The way up from a line.
struct Climb {
    /// Innermost first.
    path: Vec<String>,
    /// Lines of the keys of the path.
    keys: Vec<usize>,
    /// Dashes of the items that the line is in and whose list is still open, outermost first.
    dashes: Vec<usize>,
    /// Earlier items of the outermost of these lists, last first.
    items: Vec<String>,
    /// Items before the first line.
    before: Option<Vec<String>>,
}

impl Climb {
    fn leave_list(&mut self) {
        let items: Vec<String> = self.items.drain(..).rev().collect();
        while self.dashes.pop().is_some() {
            // The inner lists of `- - item` begin on that line.
            let index = if self.dashes.is_empty() {
                items.len()
            } else {
                0
            };
            self.path.push(index.to_string());
        }
        self.before.get_or_insert(items);
    }
}

/// Scalar under a key of the block map below the line at `index`.
fn value_below(lines: &[&str], index: usize, key: &str) -> Option<String> {
    let column = Line::any(lines[index]).column;
    let below = lines[index + 1..]
        .iter()
        .filter_map(|line| Line::read(line));
    let mut inside = below.take_while(|line| line.column > column).peekable();
    let first = inside.peek()?.column;
    let found = inside.find(|line| line.column == first && line.key == Some(key))?;
    Some(scalar(found.rest).to_owned()).filter(|value| !value.is_empty())
}

/// Keys of the block map that the line at `here` belongs to.
fn siblings(lines: &[&str], here: usize, column: usize) -> Vec<String> {
    let same = |line: &Line<'_>| {
        line.key
            .filter(|_| line.column == column)
            .map(str::to_owned)
    };
    let mut found = Vec::new();
    for text in lines[..here].iter().rev() {
        let Some(line) = Line::read(text) else {
            continue;
        };
        if line.column < column {
            break;
        }
        found.extend(same(&line));
        // The first key of a list item.
        if line.column == column && !line.dashes.is_empty() {
            break;
        }
    }
    for line in lines[here + 1..].iter().filter_map(|text| Line::read(text)) {
        if line.start() < column {
            break;
        }
        found.extend(same(&line));
    }
    found
}

/// Open brackets before a caret.
#[derive(Debug, Default)]
struct Flow {
    open: Vec<Frame>,
    /// Start of the word at the caret.
    from: usize,
    is_quoted: bool,
}

/// An open bracket.
#[derive(Debug, Default)]
struct Frame {
    is_map: bool,
    /// Key of the entry at the caret.
    key: Option<String>,
    /// Complete entries of a map.
    entries: Vec<(String, String)>,
    /// Complete items of a list.
    items: Vec<String>,
}

impl Flow {
    /// Reads a value up to the caret. `None` in a comment, and after a complete value.
    fn read(text: &str) -> Option<Flow> {
        let mut flow = Flow::default();
        let mut quote = None;
        let mut is_complete = false;
        let bytes = text.as_bytes();
        for (at, c) in text.char_indices() {
            let word = text[flow.from..at].trim();
            match c {
                c if quote == Some(c) => {
                    quote = None;
                    is_complete = true;
                }
                _ if quote.is_some() => {}
                '"' | '\'' if word.is_empty() => {
                    quote = Some(c);
                    flow.from = at;
                }
                '#' if at == 0 || bytes[at - 1] == b' ' => return None,
                '{' | '[' if word.is_empty() => {
                    let is_map = c == '{';
                    flow.open.push(Frame {
                        is_map,
                        ..Frame::default()
                    });
                    flow.from = at + 1;
                }
                ':' if matches!(bytes.get(at + 1), None | Some(b' ')) => {
                    if let Some(frame) = flow.open.last_mut().filter(|frame| frame.is_map) {
                        frame.key = Some(unquoted(word).to_owned());
                        flow.from = at + 1;
                        is_complete = false;
                    }
                }
                ',' => {
                    if let Some(frame) = flow.open.last_mut() {
                        frame.end(word);
                        flow.from = at + 1;
                        is_complete = false;
                    }
                }
                '}' | ']' if flow.open.pop().is_some() => {
                    flow.from = at + 1;
                    is_complete = true;
                }
                _ => {}
            }
        }
        if is_complete {
            return None;
        }
        let word = &text[flow.from..];
        flow.from += word.len() - word.trim_start().len();
        if quote.is_some() {
            flow.is_quoted = true;
            flow.from += 1;
        }
        Some(flow)
    }
}

impl Frame {
    fn end(&mut self, word: &str) {
        let word = unquoted(word).to_owned();
        match self.key.take() {
            Some(key) => self.entries.push((key, word)),
            None if self.is_map => {}
            None => self.items.push(word),
        }
    }
}

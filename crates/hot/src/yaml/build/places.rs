//! Positions that the parser does not report: it reports empty nodes at the next token, and ends block scalars there.

use super::{Builder, Frame, Style, skip_blank};

impl Builder<'_> {
    pub(super) fn in_flow(&self) -> bool {
        matches!(
            self.frames.last(),
            Some(
                Frame::Map {
                    style: Style::Flow | Style::FlowPair,
                    ..
                } | Frame::List {
                    style: Style::Flow,
                    ..
                }
            )
        )
    }

    pub(super) fn collection_style(&self, content: usize, open: u8) -> Style {
        if self.text.as_bytes().get(content) == Some(&open) {
            Style::Flow
        } else if self.in_flow() {
            Style::FlowPair
        } else {
            Style::Block
        }
    }

    /// Start of the value after the last key or dash.
    pub(super) fn value_start(&self) -> usize {
        let from = match self.frames.last() {
            Some(Frame::List {
                style: Style::Block,
                ..
            }) => self.dash() + 1,
            _ => self.cursor,
        };
        skip_blank(self.text, from)
    }

    pub(super) fn empty_start(&self) -> usize {
        match self.frames.last() {
            Some(Frame::List {
                style: Style::Block,
                ..
            }) => (self.dash() + 1).min(self.text.len()),
            _ => self.cursor,
        }
    }

    /// Position of the next item's dash.
    pub(super) fn dash(&self) -> usize {
        skip_blank(self.text, self.cursor).min(self.text.len())
    }

    /// Position after anchors and tags.
    pub(super) fn after_properties(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(at), Some(b'&' | b'!')) {
            while bytes
                .get(at)
                .is_some_and(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'{' | b'['))
            {
                at += 1;
            }
            at = skip_blank(self.text, at);
        }
        at
    }

    /// End of a block scalar's last line. The parser reports the next token instead.
    pub(super) fn block_scalar_end(&self, start: usize, end: usize) -> usize {
        let header_end = self.text[start..]
            .find('\n')
            .map_or(self.text.len(), |at| start + at);
        let keep = self.text[start..header_end.max(start)]
            .split('#')
            .next()
            .is_some_and(|header| header.contains('+'));
        let body = self.text.get(start..end.max(start)).unwrap_or("");
        let trimmed = if keep {
            let body = body.trim_end_matches([' ', '\t']);
            body.strip_suffix('\n').unwrap_or(body)
        } else {
            body.trim_end()
        };
        let header = self.text[start..header_end].trim_end().len();
        start + trimmed.len().max(header)
    }
}

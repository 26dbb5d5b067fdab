//! Segments: consecutive lines of one step in one row. Pure.
//!
//! A body is a JSON array a line: number, time, line. The first lines after a commit are stored as they are, as a small part.
//! When the parts since the last full segment are enough together, they become one compressed segment. So each line is written
//! twice at most, and a reader of a few lines inflates a few segments.
//!
//! The first byte tells the coding: `[` begins JSON, anything else a zlib stream. Of 49,000 bytes of a package manager's lines
//! zlib leaves 4,200, zstd 3,500 and lz4 6,500; zlib is in the program anyway, without C.

use std::io::{Read as _, Write as _};

use api::{Event, EventBody, LogLine};
use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};

use super::quota::cost;

/// Length of a full segment's JSON in bytes: the window of deflate. A longer one compresses no better.
const TEXT_BYTES: usize = 32 * 1024;
/// Maximum number of parts before they become a segment, so that readers meet few rows.
const PARTS: usize = 64;
/// Numbers between a segment's first and last line. Readers of a range look this far back for segments that reach into it.
pub(super) const SPAN: u64 = 10_000;

/// Lines on their way into a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub first: u64,
    pub last: u64,
    /// Size of the lines in quotas, in bytes.
    pub bytes: u64,
    json: Vec<u8>,
}

/// The parts of a step since its last full segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    stored: Segment,
    parts: usize,
}

/// A change of a step's rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A part is stored as it is.
    Part(Segment),
    /// A full segment is stored, compressed.
    Full(Segment),
    /// A full segment takes the place of the step's rows from this number on.
    Merge(u64, Segment),
}

impl Segment {
    fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    fn push(&mut self, seq: u64, time: &str, line: &LogLine) {
        if self.is_empty() {
            self.first = seq;
        }
        self.last = seq;
        self.bytes += cost(line);
        serde_json::to_writer(&mut self.json, &(seq, time, line)).expect("a line is JSON");
        self.json.push(b'\n');
    }

    fn extend(&mut self, more: &Segment) {
        if self.is_empty() {
            self.first = more.first;
        }
        self.last = self.last.max(more.last);
        self.bytes += more.bytes;
        self.json.extend_from_slice(&more.json);
    }

    /// The body of a part: the JSON itself.
    pub fn plain(&self) -> Vec<u8> {
        self.json.clone()
    }

    /// The body of a full segment.
    pub fn packed(&self) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        let packed = encoder
            .write_all(&self.json)
            .and_then(|()| encoder.finish())
            .expect("memory takes all writes");
        if packed.len() < self.json.len() {
            packed
        } else {
            self.plain()
        }
    }
}

impl Tail {
    /// Adds lines, in order. Returns the changes of the step's rows, in order.
    pub fn add<'a>(
        &mut self,
        time: &str,
        lines: impl IntoIterator<Item = (u64, &'a LogLine)>,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut fresh = Segment::default();
        for (seq, line) in lines {
            let json = self.stored.json.len() + fresh.json.len();
            let first = match (self.parts, fresh.is_empty()) {
                (0, true) => seq,
                (0, false) => fresh.first,
                _ => self.stored.first,
            };
            if json >= TEXT_BYTES || seq - first >= SPAN {
                changes.extend(self.fill(&fresh));
                fresh = Segment::default();
            }
            fresh.push(seq, time, line);
        }
        if self.parts + 1 >= PARTS {
            changes.extend(self.fill(&fresh));
        } else if !fresh.is_empty() {
            self.stored.extend(&fresh);
            self.parts += 1;
            changes.push(Change::Part(fresh));
        }
        changes
    }

    /// Makes one segment of all parts: no more lines are expected.
    pub fn close(&mut self) -> Option<Change> {
        self.fill(&Segment::default())
    }

    fn fill(&mut self, fresh: &Segment) -> Option<Change> {
        let Tail { mut stored, parts } = std::mem::take(self);
        stored.extend(fresh);
        match parts {
            _ if stored.is_empty() => None,
            0 => Some(Change::Full(stored)),
            _ => Some(Change::Merge(stored.first, stored)),
        }
    }
}

/// The lines of a body.
///
/// # Errors
/// If it is damaged.
pub(super) fn lines_of(body: &[u8]) -> Result<Vec<Event>, std::io::Error> {
    let mut inflated = Vec::new();
    let json = if body.first() == Some(&b'[') {
        body
    } else {
        ZlibDecoder::new(body).read_to_end(&mut inflated)?;
        &inflated
    };
    let lines = serde_json::Deserializer::from_slice(json).into_iter::<(u64, String, LogLine)>();
    let event = |(seq, time, line)| Event {
        seq,
        time,
        body: EventBody::Log(line),
    };
    lines.map(|line| Ok(line.map(event)?)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use api::{LogLevel, LogStream};

    use super::*;

    fn line(text: &str) -> LogLine {
        LogLine {
            step: "web:software".into(),
            host: Some("web".into()),
            play: None,
            task: Some("Install nginx".into()),
            stream: LogStream::Stdout,
            level: LogLevel::Info,
            text: text.into(),
            position: None,
        }
    }

    /// The rows of a step: first number to body.
    #[derive(Default)]
    struct Rows(BTreeMap<u64, (Segment, Vec<u8>)>);

    impl Rows {
        fn apply(&mut self, changes: impl IntoIterator<Item = Change>) {
            for change in changes {
                let (segment, body) = match change {
                    Change::Part(segment) => (segment.clone(), segment.plain()),
                    Change::Full(segment) => (segment.clone(), segment.packed()),
                    Change::Merge(from, segment) => {
                        self.0.split_off(&from);
                        (segment.clone(), segment.packed())
                    }
                };
                self.0.insert(segment.first, (segment, body));
            }
        }

        fn numbers(&self) -> Vec<u64> {
            let bodies = self.0.values().map(|(_, body)| lines_of(body).unwrap());
            bodies.flatten().map(|event| event.seq).collect()
        }
    }

    #[test]
    fn a_line_comes_back_with_all_its_fields() {
        let text = "\u{1b}[31mnö\r\n";
        let mut segment = Segment::default();
        segment.push(7, "2026-01-01T00:00:00.000Z", &line(text));
        let expected = Event {
            seq: 7,
            time: "2026-01-01T00:00:00.000Z".into(),
            body: EventBody::Log(line(text)),
        };
        assert_eq!(
            lines_of(&segment.plain()).unwrap(),
            std::slice::from_ref(&expected)
        );
        assert_eq!(lines_of(&segment.packed()).unwrap(), [expected]);
        assert!(lines_of(b"x\x9cnonsense").is_err());
    }

    #[test]
    fn lines_that_trickle_in_become_few_segments() {
        let (mut tail, mut rows) = (Tail::default(), Rows::default());
        for seq in 1..=1000 {
            let line = line("a line of usual length, as a package manager prints it");
            rows.apply(tail.add("t", [(seq, &line)]));
            assert!(rows.0.len() <= PARTS + 1000 / PARTS + 1);
        }
        rows.apply(tail.close());
        assert_eq!(rows.numbers(), (1..=1000).collect::<Vec<_>>());
        assert!(rows.0.len() <= 1000 / PARTS + 1, "{}", rows.0.len());
        assert_eq!(tail.close(), None);
    }

    #[test]
    fn a_flood_is_cut_into_segments_of_limited_length() {
        let (mut tail, mut rows) = (Tail::default(), Rows::default());
        let long = line(&"x".repeat(16 * 1024));
        rows.apply(tail.add("t", (1..=100).map(|seq| (seq, &long))));
        rows.apply(tail.close());
        assert_eq!(rows.numbers(), (1..=100).collect::<Vec<_>>());
        let longest = rows.0.values().map(|(segment, _)| segment.json.len());
        assert!(longest.max() < Some(TEXT_BYTES + 17 * 1024));
        let bytes: u64 = rows.0.values().map(|(segment, _)| segment.bytes).sum();
        assert_eq!(bytes, 100 * cost(&long));
    }

    #[test]
    fn no_segment_spans_more_numbers_than_a_reader_looks_back() {
        let (mut tail, mut rows) = (Tail::default(), Rows::default());
        let line = line("tick");
        for seq in (1..40_000).step_by(700) {
            rows.apply(tail.add("t", [(seq, &line), (seq + 300, &line)]));
        }
        rows.apply(tail.close());
        for (segment, _) in rows.0.values() {
            assert!(segment.last - segment.first < SPAN, "{segment:?}");
        }
        assert_eq!(rows.numbers().len(), 116);
    }

    #[test]
    fn a_full_segment_takes_a_tenth_of_the_text() {
        let mut segment = Segment::default();
        for seq in 0..200 {
            let text = format!(
                "Get:{seq} http://apt.an.example/debian bookworm/main amd64 libfoo{seq} amd64 1.{seq}-2 [{} kB]",
                seq * 37 % 991
            );
            segment.push(seq, "2026-01-01T00:00:00.000Z", &line(&text));
        }
        assert!(segment.packed().len() * 10 < segment.json.len());
    }
}

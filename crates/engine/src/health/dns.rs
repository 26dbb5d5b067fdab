//! The query of a DNS check, and its answer. Pure.
//!
//! A message over TCP begins with its length, because SSH carries no UDP. Source: RFC 1035, section 4.

use types::catalog::RecordType;

/// Number of the query. Its connection has no other.
const ID: u16 = 1;
/// Length of the header of a message, in bytes.
const HEADER: usize = 12;
/// The flag of queries that wish an answer from other servers, too.
const RECURSION_DESIRED: u16 = 0x0100;
/// The flag of answers.
const IS_ANSWER: u16 = 0x8000;
/// Class of the internet.
const INTERNET: u16 = 1;
/// Maximum length of a part of a name, in bytes.
const LABEL_BYTES_MAX: usize = 63;
/// Maximum length of a name, in bytes.
const NAME_BYTES_MAX: usize = 253;

/// The query with its length. An error is for users.
pub(super) fn query(name: &str, record: RecordType) -> Result<Vec<u8>, String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let labels: Vec<&str> = name.split('.').collect();
    let fits = |label: &&str| (1..=LABEL_BYTES_MAX).contains(&label.len());
    if name.len() > NAME_BYTES_MAX || !labels.iter().all(fits) {
        return Err(format!("`{name}` is no domain name"));
    }
    let mut message = Vec::new();
    for number in [ID, RECURSION_DESIRED, 1, 0, 0, 0] {
        message.extend_from_slice(&number.to_be_bytes());
    }
    for label in labels {
        message.extend(u8::try_from(label.len()));
        message.extend_from_slice(label.as_bytes());
    }
    message.push(0);
    message.extend_from_slice(&record.number().to_be_bytes());
    message.extend_from_slice(&INTERNET.to_be_bytes());
    let length = u16::try_from(message.len()).map_err(|error| error.to_string())?;
    Ok([&length.to_be_bytes(), &message[..]].concat())
}

/// Judges an answer without its length: it must contain a record of the type. An error is for users.
pub(super) fn judge(answer: &[u8], name: &str, record: RecordType) -> Result<(), String> {
    let not_dns = || "the answer is not DNS".to_owned();
    let mut reader = Reader(answer);
    let header = reader.header().ok_or_else(not_dns)?;
    if header.id != ID || header.flags & IS_ANSWER == 0 {
        return Err(not_dns());
    }
    match header.flags & 0xf {
        0 => {}
        code => return Err(format!("`{name}`: {}", meaning(code))),
    }
    for _ in 0..header.questions {
        reader.question().ok_or_else(not_dns)?;
    }
    for _ in 0..header.answers {
        if reader.record().ok_or_else(not_dns)? == record.number() {
            return Ok(());
        }
    }
    Err(format!("`{name}` has no record of type {record}"))
}

/// Meaning of an answer's code.
fn meaning(code: u16) -> String {
    match code {
        1 => "the query was not understood (FORMERR)".to_owned(),
        2 => "the DNS server failed (SERVFAIL)".to_owned(),
        3 => "there is no such name (NXDOMAIN)".to_owned(),
        5 => "the DNS server refused the query (REFUSED)".to_owned(),
        code => format!("the DNS server answered with code {code}"),
    }
}

struct Header {
    id: u16,
    flags: u16,
    questions: u16,
    answers: u16,
}

/// The rest of a message. Its functions return `None` if it is too short.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.bytes(2)?.try_into().ok()?))
    }

    fn header(&mut self) -> Option<Header> {
        let mut numbers = Reader(self.bytes(HEADER)?);
        Some(Header {
            id: numbers.number()?,
            flags: numbers.number()?,
            questions: numbers.number()?,
            answers: numbers.number()?,
        })
    }

    /// Skips a name: labels, and at the end nothing or a pointer to the rest of it.
    fn name(&mut self) -> Option<()> {
        loop {
            match self.bytes(1)? {
                [0] => return Some(()),
                [length] if length & 0xc0 == 0xc0 => return self.bytes(1).map(drop),
                [length] => self.bytes(usize::from(*length)).map(drop)?,
                _ => return None,
            }
        }
    }

    fn question(&mut self) -> Option<()> {
        self.name()?;
        self.bytes(4).map(drop)
    }

    /// The type of a record.
    fn record(&mut self) -> Option<u16> {
        self.name()?;
        let number = self.number()?;
        // Its class, and how long it may be kept.
        self.bytes(6)?;
        let length = self.number()?;
        self.bytes(usize::from(length))?;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The answer to a query: its question, and records with a pointer to its name.
    fn answer(query: &[u8], code: u8, records: &[(RecordType, &[u8])]) -> Vec<u8> {
        let mut message = query[2..].to_vec();
        message[2] |= 0x80;
        message[3] |= code;
        message[7] = u8::try_from(records.len()).unwrap();
        for (record, data) in records {
            message.extend([0xc0, 12]);
            message.extend(record.number().to_be_bytes());
            message.extend([0, 1, 0, 0, 0, 10]);
            message.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
            message.extend_from_slice(data);
        }
        message
    }

    #[test]
    fn a_query_is_a_message_of_rfc_1035_with_its_length() {
        let query = query("a.bc.", RecordType::Srv).unwrap();
        let header = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let question = [1, b'a', 2, b'b', b'c', 0, 0, 33, 0, 1];
        assert_eq!(query, [&[0, 22][..], &header, &question].concat());
    }

    #[test]
    fn a_name_that_dns_cannot_have_is_refused() {
        for name in ["", ".", "a..b", &"a".repeat(64), &"ab.".repeat(90)] {
            assert!(query(name, RecordType::A).is_err(), "{name}");
        }
    }

    #[test]
    fn an_answer_with_a_record_of_the_type_is_healthy() {
        let asked = query("web.internal", RecordType::A).unwrap();
        let judged = |answer: &[u8]| judge(answer, "web.internal", RecordType::A);
        let alias: (RecordType, &[u8]) = (RecordType::Cname, &[1, b'x', 0xc0, 12][..]);
        let address: (RecordType, &[u8]) = (RecordType::A, &[10, 0, 0, 1][..]);
        assert_eq!(judged(&answer(&asked, 0, &[alias, address])), Ok(()));
        let none = judged(&answer(&asked, 0, &[alias])).unwrap_err();
        assert_eq!(none, "`web.internal` has no record of type A");
        let unknown = judged(&answer(&asked, 3, &[])).unwrap_err();
        assert_eq!(unknown, "`web.internal`: there is no such name (NXDOMAIN)");
        assert!(judged(&asked[2..]).unwrap_err().contains("not DNS"));
        assert!(
            judged(b"HTTP/1.0 400 Bad Request\r\n")
                .unwrap_err()
                .contains("not DNS")
        );
    }

    proptest! {
        #[test]
        fn any_answer_is_judged(answer in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = judge(&answer, "web", RecordType::A);
        }

        #[test]
        fn an_answer_that_is_cut_is_not_healthy(length in 0usize..45) {
            let asked = query("web.internal", RecordType::A).unwrap();
            let whole = answer(&asked, 0, &[(RecordType::A, &[10, 0, 0, 1][..])]);
            prop_assert_eq!(whole.len(), 46);
            prop_assert!(judge(&whole[..length], "web.internal", RecordType::A).is_err());
        }
    }
}

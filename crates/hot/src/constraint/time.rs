//! Times in templates.

/// Seconds since 1970 in UTC of an ISO 8601 time such as `2030-01-31T12:00:00+01:00`. As in Heat, a date alone means
/// its first second, and a time without a zone is UTC. `None` for a text in another form.
pub fn seconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let number = |text: &str| {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse::<i64>().ok()
        } else {
            None
        }
    };
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = match (parts.next()?, parts.next(), parts.next()) {
        (short, None, None) if short.len() == 8 && short.is_ascii() => (
            number(&short[..4])?,
            number(&short[4..6])?,
            number(&short[6..])?,
        ),
        (year, month, day) => {
            let or_first = |part: Option<&str>| part.map_or(Some(1), number);
            (number(year)?, or_first(month)?, or_first(day)?)
        }
    };
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone_at);
    let clock = clock.split(['.', ',']).next().unwrap_or_default().trim();
    let hms = |text: &str| -> Option<i64> {
        let colons: String = text.chars().filter(|c| *c != ':').collect();
        let digits = if text.contains(':') {
            text.split(':').map(|part| format!("{part:0>2}")).collect()
        } else {
            colons
        };
        let pair = |at: usize| match digits.get(at..at + 2) {
            Some(pair) => number(pair),
            None => Some(0),
        };
        Some(pair(0)? * 3600 + pair(2)? * 60 + pair(4)?)
    };
    let offset = match zone.chars().next() {
        Some('+') => hms(&zone[1..])?,
        Some('-') => -hms(&zone[1..])?,
        _ => 0,
    };
    Some(days(year, month, day) * 86_400 + hms(clock)? - offset)
}

/// Days since 1970-01-01 in the Gregorian calendar. Years begin in March here, so that the leap day is the last day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_forms() {
        for (text, expected) in [
            ("1970-01-01", 0),
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:30:15Z", 951_827_415),
            ("20000229T123015Z", 951_827_415),
            ("2000-02-29 14:30:15.5+02:00", 951_827_415),
            ("2000-02-29T07:00:15-0530", 951_827_415),
            ("2026-11", 1_793_491_200),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        assert_eq!(seconds("tomorrow"), None);
    }
}

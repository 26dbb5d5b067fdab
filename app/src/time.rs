//! Times in a readable form: `2 min ago`, `1:05`, `14:03:27`.
//!
//! The API's times are RFC 3339 in UTC, with digits at fixed positions, so parsing them needs no library.

use leptos::prelude::*;

use crate::browser;

/// Current time. In the browser it is updated once a second. `None` until the page is mounted.
#[derive(Clone, Copy)]
pub struct Clock(RwSignal<Option<f64>>);

/// Provides the clock, for [`crate::App`].
pub fn provide_clock() {
    let now = RwSignal::new(None);
    provide_context(Clock(now));
    Effect::new(move |_| {
        now.set(Some(browser::now_ms()));
        let tick = set_interval_with_handle(
            move || {
                now.try_set(Some(browser::now_ms()));
            },
            std::time::Duration::from_secs(1),
        );
        on_cleanup(move || {
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
}

/// The clock of this page.
pub fn use_clock() -> Clock {
    expect_context()
}

impl Clock {
    /// Milliseconds since 1970. Tracks, so its readers are updated each second.
    pub fn now(self) -> Option<f64> {
        self.0.try_get().flatten()
    }
}

/// Converts RFC 3339 to milliseconds since 1970. `None` for other formats.
pub fn parse(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    if bytes.len() < 20
        || bytes[4] != b'-'
        || bytes[7] != b'-'
        || bytes[13] != b':'
        || bytes[16] != b':'
    {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let days = days_from_civil(number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let seconds = days * 86_400 + number(11, 13)? * 3_600 + number(14, 16)? * 60 + number(17, 19)?;
    let rest = text.get(19..)?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone_at);
    let fraction = if fraction.is_empty() {
        0.0
    } else {
        format!("0{fraction}").parse::<f64>().ok()?
    };
    let offset = match zone.as_bytes()[0] {
        b'Z' | b'z' => 0,
        sign => {
            let minutes =
                zone.get(1..3)?.parse::<i64>().ok()? * 60 + zone.get(4..6)?.parse::<i64>().ok()?;
            if sign == b'-' { -minutes } else { minutes }
        }
    };
    Some((seconds - offset * 60) as f64 * 1000.0 + (fraction * 1000.0).round())
}

/// Days since 1970-01-01 in the Gregorian calendar. Years start in March, so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Text of a duration in its shortest clear form: `40 ms`, `0.4 s`, `12 s`, `3:07`, `1:02:33`.
pub fn duration(milliseconds: f64) -> String {
    let milliseconds = milliseconds.max(0.0);
    let seconds = (milliseconds / 1000.0).floor() as i64;
    match seconds {
        0 if milliseconds > 0.0 && milliseconds < 100.0 => format!("{} ms", milliseconds.ceil()),
        0..10 => format!("{:.1} s", (milliseconds / 100.0).floor() / 10.0),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!(
            "{}:{:02}:{:02}",
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60
        ),
    }
}

/// Duration between start and end, or until now if the end is missing.
pub fn span(started: Option<&str>, ended: Option<&str>, now: Option<f64>) -> Option<String> {
    let from = parse(started?)?;
    let to = match ended {
        Some(ended) => parse(ended)?,
        None => now?,
    };
    Some(duration(to - from))
}

/// Text of an estimated rest: `less than a minute left`, `about 3 min left`, `about 2 h left`.
pub fn rest(milliseconds: f64) -> String {
    let minutes = (milliseconds / 60_000.0).round() as i64;
    match minutes {
        _ if milliseconds <= 0.0 => String::from("longer than usual"),
        0 => String::from("less than a minute left"),
        1..90 => format!("about {minutes} min left"),
        _ => format!("about {} h left", (minutes + 30) / 60),
    }
}

/// Text of an estimated rest that rests on a guess for some steps: never more exact than a minute.
pub fn rough_rest(milliseconds: f64) -> String {
    if milliseconds < 60_000.0 {
        String::from("about a minute left")
    } else {
        rest(milliseconds)
    }
}

/// Age of a time: `just now`, `5 min ago`, `3 h ago`, `2 days ago`, otherwise the date.
pub fn ago(time: &str, now: Option<f64>) -> String {
    let (Some(then), Some(now)) = (parse(time), now) else {
        return day(time).to_owned();
    };
    let seconds = ((now - then) / 1000.0).max(0.0) as i64;
    match seconds {
        0..45 => String::from("just now"),
        45..3_570 => format!("{} min ago", (seconds + 30) / 60),
        3_570..84_600 => format!("{} h ago", (seconds + 1_800) / 3_600),
        84_600..561_600 => {
            let days = (seconds + 43_200) / 86_400;
            if days == 1 {
                String::from("yesterday")
            } else {
                format!("{days} days ago")
            }
        }
        _ => day(time).to_owned(),
    }
}

/// Date of an RFC 3339 time.
pub fn day(time: &str) -> &str {
    time.get(..10).unwrap_or(time)
}

/// Time of day in the browser's zone, `14:03:27`. `offset_minutes` is the result of JavaScript's `getTimezoneOffset`.
pub fn time_of_day(milliseconds: f64, offset_minutes: f64) -> String {
    let seconds = (milliseconds / 1000.0 - offset_minutes * 60.0).rem_euclid(86_400.0) as i64;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// An RFC 3339 time as time of day in the browser's zone, with the date unless it is within a day. Only in the browser.
pub fn moment(time: &str) -> String {
    let Some(at_ms) = parse(time) else {
        return time.to_owned();
    };
    let clock = time_of_day(at_ms, js_sys::Date::new_0().get_timezone_offset());
    if (at_ms - browser::now_ms()).abs() < 86_400_000.0 {
        clock
    } else {
        format!("{} {clock}", day(time))
    }
}

/// The age of a time, with the exact time on hover.
#[component]
pub fn Ago(
    /// The time, in RFC 3339.
    #[prop(into)]
    time: String,
) -> impl IntoView {
    let clock = use_clock();
    let (machine, title) = (time.clone(), time.clone());
    view! { <time datetime=machine title=title>{move || ago(&time, clock.now())}</time> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3339_is_read() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(parse("2024-02-29T12:00:00.250Z"), Some(1_709_208_000_250.0));
        assert_eq!(
            parse("2024-02-29T14:00:00+02:00"),
            Some(1_709_208_000_000.0)
        );
        assert_eq!(parse("2000-03-01T00:00:00Z"), Some(951_868_800_000.0));
        for nonsense in [
            "",
            "yesterday",
            "2024-02-29",
            "2024-02-29T12:00:00",
            "äöüäöüäöüäöüäöü",
        ] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn durations_are_short() {
        assert_eq!(duration(40.2), "41 ms");
        assert_eq!(duration(420.0), "0.4 s");
        assert_eq!(duration(12_900.0), "12 s");
        assert_eq!(duration(187_000.0), "3:07");
        assert_eq!(duration(3_753_000.0), "1:02:33");
        assert_eq!(duration(-5.0), "0.0 s");
    }

    #[test]
    fn estimates_are_rough() {
        assert_eq!(rest(0.0), "longer than usual");
        assert_eq!(rest(20_000.0), "less than a minute left");
        assert_eq!(rest(200_000.0), "about 3 min left");
        assert_eq!(rest(7_000_000.0), "about 2 h left");
        assert_eq!(rough_rest(20_000.0), "about a minute left");
        assert_eq!(rough_rest(200_000.0), "about 3 min left");
    }

    #[test]
    fn ages_are_words() {
        let then = "2024-02-29T12:00:00Z";
        let at = |seconds: f64| ago(then, parse(then).map(|then| then + seconds * 1000.0));
        assert_eq!(at(3.0), "just now");
        assert_eq!(at(300.0), "5 min ago");
        assert_eq!(at(10_800.0), "3 h ago");
        assert_eq!(at(90_000.0), "yesterday");
        assert_eq!(at(9e6), "2024-02-29");
        assert_eq!(ago(then, None), "2024-02-29");
    }

    #[test]
    fn the_zone_moves_the_time_of_day() {
        assert_eq!(time_of_day(0.0, -60.0), "01:00:00");
        assert_eq!(time_of_day(0.0, 60.0), "23:00:00");
    }
}

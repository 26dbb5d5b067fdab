//! Versions of HOT. A template can use the features of its version.
//!
//! Heat names versions by date; newer ones also have the code name of their release. Source: the list of template
//! versions in Heat's HOT specification.

use std::fmt;

/// Version of HOT. Older versions are less than newer ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// The first version, and the only one with CloudFormation functions.
    V2013_05_23,
    /// Juno.
    V2014_10_16,
    /// Kilo: `repeat`, `digest`.
    V2015_04_30,
    /// Liberty: `str_split`, more of `list_join` and `str_replace`.
    V2015_10_15,
    /// Mitaka: `map_merge`.
    V2016_04_08,
    /// Newton: conditions, `yaql`, `map_replace`, `external_id`.
    V2016_10_14,
    /// Ocata: `filter`, `str_replace_strict`, `modulo`.
    V2017_02_24,
    /// Pike: `make_url`, `list_concat`, `contains`.
    V2017_09_01,
    /// Queens: tags of parameters.
    V2018_03_02,
    /// Rocky.
    V2018_08_31,
    /// Wallaby: `if` with two arguments. The newest version.
    #[default]
    V2021_04_16,
}

use Version::*;

/// Versions with their dates, and their code names if they have one.
const NAMES: [(Version, &str, &str); 11] = [
    (V2013_05_23, "2013-05-23", ""),
    (V2014_10_16, "2014-10-16", ""),
    (V2015_04_30, "2015-04-30", ""),
    (V2015_10_15, "2015-10-15", ""),
    (V2016_04_08, "2016-04-08", ""),
    (V2016_10_14, "2016-10-14", "newton"),
    (V2017_02_24, "2017-02-24", "ocata"),
    (V2017_09_01, "2017-09-01", "pike"),
    (V2018_03_02, "2018-03-02", "queens"),
    (V2018_08_31, "2018-08-31", "rocky"),
    (V2021_04_16, "2021-04-16", "wallaby"),
];

impl Version {
    /// Version of a date or code name.
    pub fn of(text: &str) -> Option<Version> {
        NAMES
            .iter()
            .find(|(_, date, code)| text == *date || (!code.is_empty() && text == *code))
            .map(|(version, _, _)| *version)
    }

    /// Date in the specification.
    pub fn date(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// All words that identify a version, oldest first.
    pub fn words() -> impl Iterator<Item = &'static str> {
        NAMES
            .iter()
            .flat_map(|(_, date, code)| [*date, *code])
            .filter(|word| !word.is_empty())
    }

    /// Previous version.
    pub fn before(self) -> Option<Version> {
        (self as usize).checked_sub(1).map(|index| NAMES[index].0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.date())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_known_by_date_and_code_name() {
        assert_eq!(Version::of("2016-10-14"), Some(V2016_10_14));
        assert_eq!(Version::of("newton"), Some(V2016_10_14));
        assert_eq!(Version::of("2016-10-15"), None);
        assert_eq!(Version::of(""), None);
        for (index, (version, date, _)) in NAMES.iter().enumerate() {
            assert_eq!(*version as usize, index);
            assert_eq!(version.date(), *date);
        }
        assert_eq!(V2014_10_16.before(), Some(V2013_05_23));
        assert_eq!(V2013_05_23.before(), None);
        assert_eq!(Version::words().count(), 17);
    }
}

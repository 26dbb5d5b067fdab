//! The scale of a timeline: times to positions, with long idle gaps folded. Pure.

/// A gap longer than this part of the busy time is folded, so that a night between failure and resume does not squeeze the
/// steps.
const FOLD_FROM: f64 = 0.25;
/// Shorter gaps are never folded, in milliseconds.
const FOLD_FROM_MS: f64 = 10_000.0;
/// Width of a folded gap, as part of the busy time.
const FOLDED: f64 = 0.04;

/// A scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Start, end and first position of each stretch without a folded gap, in order.
    stretches: Vec<Stretch>,
    /// Length of the whole scale, in milliseconds of the drawing.
    length: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    from: f64,
    to: f64,
    at: f64,
}

/// A folded gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// Middle of the gap, in percent of the scale.
    pub at: f64,
    /// Duration of the gap, in milliseconds.
    pub took: f64,
}

impl Scale {
    /// The scale for bars with these starts and ends, in milliseconds.
    pub fn of(bars: impl IntoIterator<Item = (f64, f64)>) -> Scale {
        let mut bars: Vec<(f64, f64)> = bars.into_iter().collect();
        bars.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut busy: Vec<(f64, f64)> = Vec::new();
        for (from, to) in bars {
            match busy.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => busy.push((from, to)),
            }
        }
        let whole: f64 = busy.iter().map(|(from, to)| to - from).sum();
        let longest = (whole * FOLD_FROM).max(FOLD_FROM_MS);
        let mut stretches: Vec<Stretch> = Vec::new();
        for (from, to) in busy {
            match stretches.last_mut() {
                Some(last) if from - last.to <= longest => last.to = to,
                Some(last) => {
                    let at = last.at + (last.to - last.from) + whole * FOLDED;
                    stretches.push(Stretch { from, to, at });
                }
                None => stretches.push(Stretch { from, to, at: 0.0 }),
            }
        }
        let length = stretches.last().map_or(0.0, |it| it.at + it.to - it.from);
        Scale {
            stretches,
            length: length.max(1.0),
        }
    }

    /// Position of a time, in percent.
    pub fn place(&self, time: f64) -> f64 {
        let after = self.stretches.partition_point(|it| it.from <= time);
        let position = match self.stretches[..after].last() {
            Some(it) => it.at + (time - it.from).min(it.to - it.from),
            None => 0.0,
        };
        position / self.length * 100.0
    }

    /// The folded gaps.
    pub fn gaps(&self) -> Vec<Gap> {
        let pairs = self.stretches.windows(2);
        pairs
            .map(|pair| Gap {
                at: (pair[0].at + pair[0].to - pair[0].from + pair[1].at) / 2.0 / self.length
                    * 100.0,
                took: pair[1].from - pair[0].to,
            })
            .collect()
    }

    /// Ticks at round times since the start, as positions in percent and milliseconds: about eight in all.
    pub fn ticks(&self) -> Vec<(f64, f64)> {
        let seconds = [
            0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0,
            600.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0,
        ];
        let step_ms = seconds
            .into_iter()
            .map(|it| it * 1000.0)
            .find(|step| self.length / step <= 8.0)
            .unwrap_or_else(|| (self.length / 8.0 / 86_400_000.0).ceil() * 86_400_000.0);
        let start = self.stretches.first().map_or(0.0, |it| it.from);
        let mut ticks = Vec::new();
        for stretch in &self.stretches {
            let mut tick = ((stretch.from - start) / step_ms).ceil().max(1.0) * step_ms;
            while start + tick <= stretch.to {
                // The last one would stand beyond the edge.
                let place = self.place(start + tick);
                if place <= 97.0 {
                    ticks.push((place, tick));
                }
                tick += step_ms;
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn times(scale: &Scale) -> Vec<f64> {
        scale.ticks().into_iter().map(|(_, time)| time).collect()
    }

    #[test]
    fn ticks_are_at_round_times_and_few() {
        assert_eq!(
            times(&Scale::of([(0.0, 6_500.0)])),
            [1_000.0, 2_000.0, 3_000.0, 4_000.0, 5_000.0, 6_000.0]
        );
        assert_eq!(
            times(&Scale::of([(0.0, 90_000.0)])),
            [15_000.0, 30_000.0, 45_000.0, 60_000.0, 75_000.0]
        );
        assert!(Scale::of([(0.0, 1e12)]).ticks().len() <= 8);
    }

    #[test]
    fn a_night_between_failure_and_resume_is_folded() {
        let hour = 3_600_000.0;
        let scale = Scale::of([(0.0, 60_000.0), (8.0 * hour, 8.0 * hour + 40_000.0)]);
        let gaps = scale.gaps();
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0].took, 8.0 * hour - 60_000.0);
        // The first minute takes three fifths of the busy time.
        assert!((55.0..61.0).contains(&scale.place(60_000.0)));
        assert_eq!(scale.place(8.0 * hour + 40_000.0), 100.0);
        assert!(scale.ticks().len() <= 10);
    }

    #[test]
    fn short_gaps_stay() {
        let scale = Scale::of([(0.0, 60_000.0), (65_000.0, 100_000.0)]);
        assert_eq!(scale.gaps(), []);
        assert_eq!(scale.place(65_000.0), 65.0);
    }

    proptest! {
        #[test]
        fn positions_keep_the_order_of_times(bars in prop::collection::vec((0_u32..5_000_000, 0_u32..90_000), 1..12)) {
            let bars: Vec<(f64, f64)> = bars.into_iter().map(|(from, took)| (f64::from(from), f64::from(from + took))).collect();
            let scale = Scale::of(bars.clone());
            let mut times: Vec<f64> = bars.iter().flat_map(|(from, to)| [*from, *to]).collect();
            times.sort_by(f64::total_cmp);
            let places: Vec<f64> = times.iter().map(|time| scale.place(*time)).collect();
            prop_assert!(places.is_sorted());
            prop_assert!(places.iter().all(|place| (0.0..=100.000_001).contains(place)));
        }
    }
}

//! Laws of routes, on random drawings.

use proptest::prelude::*;

use super::*;
use crate::routing::obstacles::crosses;

fn rect(x: f64, y: f64, width: f64, height: f64) -> Rect {
    Rect {
        x,
        y,
        width,
        height,
    }
}

fn card(x: f64, y: f64) -> Shape {
    Shape {
        rect: rect(x, y, 216.0, 88.0),
        parent: None,
        is_row: false,
    }
}

fn link(from: usize, to: usize) -> Link {
    Link {
        from,
        to,
        is_cable: false,
        label_width: 0.0,
    }
}

#[test]
fn the_distance_from_a_line_is_that_of_its_nearest_part() {
    let points = [(0.0, 0.0), (100.0, 0.0), (100.0, 50.0)];
    let line = Line::through(points.map(|(x, y)| CanvasPoint::new(x, y)).to_vec());
    let distance = |x: f64, y: f64| line.distance(CanvasPoint::new(x, y));
    assert_eq!(distance(40.0, -7.0), 7.0);
    assert_eq!(distance(96.0, 30.0), 4.0);
    assert_eq!(distance(100.0, 60.0), 10.0);
    assert_eq!(
        Line::default().distance(CanvasPoint::default()),
        f64::INFINITY
    );
}

fn crossed(line: &Line, rect: Rect) -> bool {
    line.points
        .windows(2)
        .any(|pair| crosses(pair[0], pair[1], rect))
}

#[test]
fn neighbours_are_joined_by_a_straight_line() {
    let router = Router::new(vec![card(0.0, 0.0), card(400.0, 0.0)]);
    let lines = router.lines(&[link(0, 1), link(1, 0)]);
    assert_eq!(lines[0].points.len(), 2, "{:?}", lines[0]);
    assert_eq!(lines[0].points[0].y, lines[0].points[1].y);
    assert_ne!(
        lines[0].points[0].y, lines[1].points[0].y,
        "two lines of a side keep a gap"
    );
}

#[test]
fn a_line_goes_around_the_card_in_between() {
    let router = Router::new(vec![card(0.0, 0.0), card(300.0, 0.0), card(600.0, 0.0)]);
    let line = &router.lines(&[link(0, 2)])[0];
    assert!(!crossed(line, card(300.0, 0.0).rect), "{line:?}");
    assert_eq!(line.start(), CanvasPoint::new(216.0, 44.0));
    assert_eq!(line.end(), CanvasPoint::new(600.0, 44.0));
}

#[test]
fn rows_of_one_card_are_joined_outside_of_it() {
    let row = |y: f64| Shape {
        rect: rect(8.0, y, 200.0, 32.0),
        parent: Some(0),
        is_row: true,
    };
    let router = Router::new(vec![
        Shape {
            rect: rect(0.0, 0.0, 216.0, 200.0),
            ..card(0.0, 0.0)
        },
        row(56.0),
        row(92.0),
        row(128.0),
    ]);
    let line = &router.lines(&[link(1, 3)])[0];
    assert!(!crossed(line, row(92.0).rect), "{line:?}");
}

#[test]
fn lines_on_the_same_way_use_lanes_of_their_own() {
    let cards = vec![
        card(0.0, 0.0),
        card(0.0, 104.0),
        card(500.0, 300.0),
        card(500.0, 404.0),
    ];
    let router = Router::new(cards);
    let lines = router.lines(&[link(0, 2), link(1, 3)]);
    let middle = |line: &Line| line.points[1].x;
    assert_ne!(middle(&lines[0]), middle(&lines[1]), "{lines:?}");
}

#[test]
fn labels_do_not_cover_each_other() {
    let router = Router::new(vec![card(0.0, 0.0), card(500.0, 0.0)]);
    let labelled = |from, to| Link {
        label_width: 60.0,
        ..link(from, to)
    };
    let lines = router.lines(&[labelled(0, 1), labelled(1, 0), labelled(0, 1)]);
    let places: Vec<Rect> = lines
        .iter()
        .filter_map(|line| line.label)
        .map(|at| rect(at.x - 30.0, at.y - 8.0, 60.0, 16.0))
        .collect();
    assert_eq!(places.len(), 3);
    for (index, place) in places.iter().enumerate() {
        assert!(
            places[index + 1..]
                .iter()
                .all(|other| !other.overlaps(*place))
        );
    }
}

#[test]
fn a_drawn_line_ends_at_the_pointer() {
    let router = Router::new(vec![card(0.0, 0.0), card(300.0, 0.0)]);
    let to = CanvasPoint::new(700.0, 50.0);
    let line = router.loose(0, to);
    assert_eq!(line.end(), to);
    assert!(!crossed(&line, card(300.0, 0.0).rect), "{line:?}");
}

#[test]
fn every_line_of_a_large_drawing_is_routed() {
    let shapes: Vec<Shape> = (0..400)
        .map(|index| card(f64::from(index % 20) * 232.0, f64::from(index / 20) * 104.0))
        .collect();
    let links: Vec<Link> = (0..400)
        .map(|index| link(index, (index * 7 + 3) % 400))
        .collect();
    let lines = Router::new(shapes).lines(&links);
    assert!(lines.iter().all(|line| line.points.len() >= 2));
}

/// Cards and frames with cards and rows, at random positions.
fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let place = || (0_i32..1200, 0_i32..1200, 40_i32..300, 30_i32..120);
    let frame = (place(), prop::collection::vec(place(), 0..4), 0_usize..3);
    (
        prop::collection::vec(place(), 1..8),
        prop::collection::vec(frame, 0..4),
    )
        .prop_map(|(cards, frames)| {
            let at = |(x, y, width, height): (i32, i32, i32, i32)| {
                rect(x.into(), y.into(), width.into(), height.into())
            };
            let plain = |rect, parent| Shape {
                rect,
                parent,
                is_row: false,
            };
            let mut shapes: Vec<Shape> = cards
                .into_iter()
                .map(|card| plain(at(card), None))
                .collect();
            for (corner, inside, rows) in frames {
                let index = shapes.len();
                let corner = at(corner);
                let children: Vec<Rect> = inside
                    .into_iter()
                    .map(|child| {
                        let child = at(child);
                        rect(
                            corner.x + 20.0 + (child.x / 3.0).round(),
                            corner.y + 50.0 + (child.y / 3.0).round(),
                            child.width,
                            child.height + 40.0 * rows as f64,
                        )
                    })
                    .collect();
                let around = Rect::around(children.iter().copied().chain([corner]))
                    .unwrap_or(corner)
                    .grown(16.0);
                shapes.push(plain(around, None));
                for child in children {
                    let card = shapes.len();
                    shapes.push(plain(child, Some(index)));
                    for row in 0..rows {
                        shapes.push(Shape {
                            rect: rect(
                                child.x + 8.0,
                                child.y + 20.0 + 36.0 * row as f64,
                                child.width - 16.0,
                                32.0,
                            ),
                            parent: Some(card),
                            is_row: true,
                        });
                    }
                }
            }
            shapes
        })
}

fn is_inside(shapes: &[Shape], inner: usize, outer: usize) -> bool {
    std::iter::successors(shapes[inner].parent, |at| shapes[*at].parent).any(|at| at == outer)
}

proptest! {
    #[test]
    fn lines_cross_only_their_ends_and_what_is_around_or_overlaps(
        shapes in shapes(),
        pairs in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..12),
    ) {
        let links: Vec<Link> = pairs
            .iter()
            .map(|(from, to)| link(from.index(shapes.len()), to.index(shapes.len())))
            .filter(|link| {
                link.from != link.to
                    && !is_inside(&shapes, link.from, link.to)
                    && !is_inside(&shapes, link.to, link.from)
            })
            .collect();
        let overlaps = |index: usize| {
            (0..shapes.len()).any(|other| {
                other != index
                    && !is_inside(&shapes, index, other)
                    && !is_inside(&shapes, other, index)
                    && shapes[index].rect.overlaps(shapes[other].rect)
            })
        };
        let overlapping: Vec<bool> = (0..shapes.len()).map(overlaps).collect();
        let router = Router::new(shapes.clone());
        for (link, line) in links.iter().zip(router.lines(&links)) {
            prop_assert!(line.points.windows(2).all(|pair| pair[0].x == pair[1].x || pair[0].y == pair[1].y));
            for (index, shape) in shapes.iter().enumerate() {
                let is_allowed = [link.from, link.to].iter().any(|&end| {
                    end == index || is_inside(&shapes, end, index) || is_inside(&shapes, index, end)
                });
                let is_overlapping = overlapping[index]
                    || (0..shapes.len()).any(|outer| overlapping[outer] && is_inside(&shapes, index, outer));
                if !is_allowed && !is_overlapping {
                    prop_assert!(!crossed(&line, shape.rect), "{link:?} crosses {index} {shape:?}: {line:?}");
                }
            }
        }
    }
}

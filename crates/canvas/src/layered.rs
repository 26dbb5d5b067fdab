//! Layered drawing of a directed graph, as a pure function.
//!
//! The usual four phases (after Sugiyama):
//!
//! 1. Remove edges that follow from other edges (transitive reduction).
//! 2. Place each node in the column after its last predecessor.
//! 3. Order each column by the middle of its neighbours, in forward and backward sweeps.
//! 4. Move each node as close to its neighbours' height as the gaps allow.
//!
//! An edge over several columns gets a bend in each column, so it runs around nodes. Nodes of the side lane are drawn
//! below the rest, in the column that their order requires.

/// The lane of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The main lane.
    Main,
    /// The lane below, for steps that open, close or clean up.
    Side,
}

/// Sizes in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Width of a node.
    pub width: f64,
    /// Height of a node.
    pub height: f64,
    /// Gap between columns.
    pub column_gap: f64,
    /// Gap between the nodes of a column.
    pub row_gap: f64,
}

/// A line between two nodes, by their indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The node at the start.
    pub from: usize,
    /// The node at the end.
    pub to: usize,
    /// Points from the right side of one node to the left side of the other.
    pub points: Vec<(f64, f64)>,
}

/// Positions of all nodes and edges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Left top corner of each node, by its index.
    pub nodes: Vec<(f64, f64)>,
    /// The drawn edges.
    pub edges: Vec<Line>,
    /// Width of the whole drawing.
    pub width: f64,
    /// Height of the whole drawing.
    pub height: f64,
    /// Top of the side lane, if there is one.
    pub side_lane: Option<f64>,
}

/// Draws `lanes.len()` nodes with edges `(from, to)`. Edges of a cycle, from a node to itself, or to an unknown node
/// are left out.
pub fn draw(lanes: &[Lane], edges: &[(usize, usize)], sizes: Sizes) -> Drawing {
    let count = lanes.len();
    if count == 0 {
        return Drawing::default();
    }
    let order = topological(count, edges);
    let mut place = vec![usize::MAX; count];
    for (index, &node) in order.iter().enumerate() {
        place[node] = index;
    }
    let forward: Vec<(usize, usize)> = edges
        .iter()
        .copied()
        .filter(|&(from, to)| from < count && to < count && place[from] < place[to])
        .collect();
    let direct = reduced(count, &order, &forward);
    let layers = columns(count, &order, &direct);

    let mut grid = Grid::new(lanes, &layers, &direct);
    grid.reduce_crossings();
    grid.settle(sizes);
    grid.drawing(lanes, &layers, &direct, sizes)
}

/// All nodes, each after its predecessors. Nodes of a cycle come last, by index.
fn topological(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut waits = vec![0; count];
    let mut next = vec![Vec::new(); count];
    for &(from, to) in edges {
        if from < count && to < count && from != to {
            waits[to] += 1;
            next[from].push(to);
        }
    }
    let mut order: Vec<usize> = (0..count).filter(|&node| waits[node] == 0).collect();
    let mut at = 0;
    while let Some(&node) = order.get(at) {
        at += 1;
        for &follower in &next[node] {
            waits[follower] -= 1;
            if waits[follower] == 0 {
                order.push(follower);
            }
        }
    }
    order.extend((0..count).filter(|&node| waits[node] > 0));
    order
}

/// The edges without those that follow from other edges.
fn reduced(count: usize, order: &[usize], edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let words = count.div_ceil(64);
    let mut next = vec![Vec::new(); count];
    for &(from, to) in edges {
        if !next[from].contains(&to) {
            next[from].push(to);
        }
    }
    // Nodes reachable from each node, including itself, as bits. Filled from the end.
    let mut reach = vec![0_u64; count * words];
    let mut direct = Vec::new();
    for &node in order.iter().rev() {
        // An edge to a direct successor is redundant if the node is also reachable through another successor.
        for &to in &next[node] {
            let by_another = next[node]
                .iter()
                .any(|&other| other != to && reach[other * words + to / 64] >> (to % 64) & 1 == 1);
            if !by_another {
                direct.push((node, to));
            }
        }
        for &to in &next[node] {
            for word in 0..words {
                let bits = reach[to * words + word];
                reach[node * words + word] |= bits;
            }
        }
        reach[node * words + node / 64] |= 1 << (node % 64);
    }
    direct.sort_unstable();
    direct
}

fn columns(count: usize, order: &[usize], edges: &[(usize, usize)]) -> Vec<usize> {
    let mut before = vec![Vec::new(); count];
    for &(from, to) in edges {
        before[to].push(from);
    }
    let mut layers = vec![0; count];
    for &node in order {
        layers[node] = before[node]
            .iter()
            .map(|&other| layers[other] + 1)
            .max()
            .unwrap_or(0);
    }
    layers
}

/// The nodes of the main lane and the bends of long edges, in columns.
struct Grid {
    /// Items of each column, from top to bottom.
    columns: Vec<Vec<usize>>,
    left: Vec<Vec<usize>>,
    right: Vec<Vec<usize>>,
    /// Items from this index on are bends.
    nodes: usize,
    /// The bends of each edge.
    bends: Vec<Vec<usize>>,
    /// Middle of each item.
    heights: Vec<f64>,
}

impl Grid {
    fn new(lanes: &[Lane], layers: &[usize], edges: &[(usize, usize)]) -> Grid {
        let nodes = lanes.len();
        let mut grid = Grid {
            columns: vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)],
            left: vec![Vec::new(); nodes],
            right: vec![Vec::new(); nodes],
            nodes,
            bends: Vec::new(),
            heights: Vec::new(),
        };
        for node in (0..nodes).filter(|&node| lanes[node] == Lane::Main) {
            grid.columns[layers[node]].push(node);
        }
        for &(from, to) in edges {
            let mut bends = Vec::new();
            if lanes[from] == Lane::Main && lanes[to] == Lane::Main {
                let mut last = from;
                for column in layers[from] + 1..layers[to] {
                    let bend = grid.left.len();
                    grid.left.push(Vec::new());
                    grid.right.push(Vec::new());
                    grid.columns[column].push(bend);
                    grid.join(last, bend);
                    bends.push(bend);
                    last = bend;
                }
                grid.join(last, to);
            }
            grid.bends.push(bends);
        }
        grid.heights = vec![0.0; grid.left.len()];
        grid
    }

    fn join(&mut self, left: usize, right: usize) {
        self.right[left].push(right);
        self.left[right].push(left);
    }

    /// Orders every column by the middle of its neighbours on one side, then on the other, in several sweeps.
    fn reduce_crossings(&mut self) {
        for column in 0..self.columns.len() {
            self.number(column);
        }
        let last = self.columns.len();
        for _ in 0..8 {
            for column in 1..last {
                self.sort_column(column, Side::Left);
            }
            for column in (0..last.saturating_sub(1)).rev() {
                self.sort_column(column, Side::Right);
            }
        }
    }

    fn sort_column(&mut self, column: usize, side: Side) {
        let mut items = std::mem::take(&mut self.columns[column]);
        let keys: Vec<(usize, f64)> = items
            .iter()
            .map(|&item| (item, self.middle(item, side).unwrap_or(self.heights[item])))
            .collect();
        let mut keyed = keys;
        keyed.sort_by(|one, other| one.1.total_cmp(&other.1));
        items.clear();
        items.extend(keyed.into_iter().map(|(item, _)| item));
        self.columns[column] = items;
        self.number(column);
    }

    /// While columns are ordered, an item's height is its position in the column, from 0 to 1.
    fn number(&mut self, column: usize) {
        let count = self.columns[column].len() as f64;
        for (place, &item) in self.columns[column].iter().enumerate() {
            self.heights[item] = (place as f64 + 0.5) / count;
        }
    }

    fn middle(&self, item: usize, side: Side) -> Option<f64> {
        let others = match side {
            Side::Left => &self.left[item],
            Side::Right => &self.right[item],
        };
        let sum: f64 = others.iter().map(|&other| self.heights[other]).sum();
        (!others.is_empty()).then(|| sum / others.len() as f64)
    }

    fn size(&self, item: usize, sizes: Sizes) -> f64 {
        if item < self.nodes {
            sizes.height + sizes.row_gap
        } else {
            sizes.row_gap
        }
    }

    /// Converts positions to pixels: stacks every column, then moves each item towards its neighbours.
    fn settle(&mut self, sizes: Sizes) {
        for column in 0..self.columns.len() {
            let total: f64 = self.columns[column]
                .iter()
                .map(|&item| self.size(item, sizes))
                .sum();
            let mut at = -total / 2.0;
            for index in 0..self.columns[column].len() {
                let item = self.columns[column][index];
                let size = self.size(item, sizes);
                self.heights[item] = at + size / 2.0;
                at += size;
            }
        }
        for round in 0..12 {
            let side = if round % 2 == 0 {
                Side::Left
            } else {
                Side::Right
            };
            let last = self.columns.len();
            for step in 0..last {
                let column = if round % 2 == 0 {
                    step
                } else {
                    last - 1 - step
                };
                self.align_column(column, side, sizes);
            }
        }
    }

    /// Least squares with a fixed order: groups of touching items move together.
    fn align_column(&mut self, column: usize, side: Side, sizes: Sizes) {
        let items = self.columns[column].clone();
        let mut pools: Vec<(f64, usize)> = Vec::new();
        let mut offsets = Vec::with_capacity(items.len());
        let mut offset = 0.0;
        for (index, &item) in items.iter().enumerate() {
            if index > 0 {
                offset += (self.size(items[index - 1], sizes) + self.size(item, sizes)) / 2.0;
            }
            offsets.push(offset);
            let wish = self.middle(item, side).unwrap_or(self.heights[item]) - offset;
            pools.push((wish, 1));
            while pools.len() > 1 && pools[pools.len() - 2].0 > pools[pools.len() - 1].0 {
                let (Some((low, few)), Some((high, many))) = (pools.pop(), pools.pop()) else {
                    break;
                };
                pools.push((
                    (low * few as f64 + high * many as f64) / (few + many) as f64,
                    few + many,
                ));
            }
        }
        let mut index = 0;
        for (base, many) in pools {
            for _ in 0..many {
                self.heights[items[index]] = base + offsets[index];
                index += 1;
            }
        }
    }

    fn drawing(
        &self,
        lanes: &[Lane],
        layers: &[usize],
        edges: &[(usize, usize)],
        sizes: Sizes,
    ) -> Drawing {
        let mains = || self.columns.iter().flatten();
        let top = mains()
            .map(|&item| self.heights[item] - self.size(item, sizes) / 2.0)
            .fold(f64::INFINITY, f64::min);
        let low = mains()
            .map(|&item| self.heights[item] + self.size(item, sizes) / 2.0)
            .fold(f64::NEG_INFINITY, f64::max);
        let (top, low) = if top.is_finite() {
            (top, low)
        } else {
            (0.0, 0.0)
        };
        let left = |column: usize| column as f64 * (sizes.width + sizes.column_gap);

        let has_side = lanes.contains(&Lane::Side);
        let side_top = (low - top) + sizes.row_gap;
        let mut in_column = vec![0_usize; self.columns.len()];
        let nodes: Vec<(f64, f64)> = (0..self.nodes)
            .map(|node| match lanes[node] {
                Lane::Main => (
                    left(layers[node]),
                    self.heights[node] - sizes.height / 2.0 - top,
                ),
                Lane::Side => {
                    let row = &mut in_column[layers[node]];
                    let y = side_top + sizes.row_gap + *row as f64 * (sizes.height + sizes.row_gap);
                    *row += 1;
                    (left(layers[node]), y)
                }
            })
            .collect();
        let rows = in_column.into_iter().max().unwrap_or(0) as f64;

        let edges = edges
            .iter()
            .zip(&self.bends)
            .map(|(&(from, to), bends)| {
                let middle = sizes.height / 2.0;
                let mut points = vec![(nodes[from].0 + sizes.width, nodes[from].1 + middle)];
                for (step, &bend) in bends.iter().enumerate() {
                    let x = left(layers[from] + 1 + step);
                    let y = self.heights[bend] - top;
                    points.extend([(x, y), (x + sizes.width, y)]);
                }
                points.push((nodes[to].0, nodes[to].1 + middle));
                Line { from, to, points }
            })
            .collect();
        Drawing {
            nodes,
            edges,
            width: left(self.columns.len()) - sizes.column_gap,
            height: if has_side {
                side_top + sizes.row_gap + rows * (sizes.height + sizes.row_gap)
            } else {
                low - top
            },
            side_lane: has_side.then_some(side_top),
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// A smooth line through points. It is horizontal at each point, so that it leaves and enters nodes straight.
pub fn path(points: &[(f64, f64)]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for (index, &(x, y)) in points.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = match index.checked_sub(1).map(|before| points[before]) {
            None => write!(text, "M{x:.1} {y:.1}"),
            Some((_, last_y)) if (last_y - y).abs() < 0.5 => write!(text, "L{x:.1} {y:.1}"),
            Some((last_x, last_y)) => {
                let half = (x + last_x) / 2.0;
                write!(
                    text,
                    "C{half:.1} {last_y:.1} {half:.1} {y:.1} {x:.1} {y:.1}"
                )
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes {
        width: 100.0,
        height: 40.0,
        column_gap: 50.0,
        row_gap: 10.0,
    };

    fn main_lane(count: usize) -> Vec<Lane> {
        vec![Lane::Main; count]
    }

    #[test]
    fn a_chain_is_drawn_on_one_line() {
        let drawing = draw(&main_lane(3), &[(0, 1), (1, 2)], SIZES);
        assert_eq!(
            drawing.nodes.iter().map(|node| node.0).collect::<Vec<_>>(),
            [0.0, 150.0, 300.0]
        );
        assert!(
            drawing
                .nodes
                .iter()
                .all(|node| (node.1 - drawing.nodes[0].1).abs() < 0.5)
        );
        assert_eq!(drawing.width, 400.0);
    }

    #[test]
    fn branches_are_drawn_side_by_side() {
        let drawing = draw(&main_lane(4), &[(0, 1), (0, 2), (1, 3), (2, 3)], SIZES);
        assert_eq!(drawing.nodes[1].0, drawing.nodes[2].0);
        assert!((drawing.nodes[1].1 - drawing.nodes[2].1).abs() >= 50.0 - 1e-6);
        assert!((drawing.nodes[0].1 - drawing.nodes[3].1).abs() < 0.5);
    }

    #[test]
    fn an_edge_that_follows_from_others_is_not_drawn() {
        let drawing = draw(&main_lane(3), &[(0, 1), (1, 2), (0, 2)], SIZES);
        assert_eq!(
            drawing
                .edges
                .iter()
                .map(|edge| (edge.from, edge.to))
                .collect::<Vec<_>>(),
            [(0, 1), (1, 2)]
        );
    }

    #[test]
    fn a_long_edge_goes_around_the_nodes_between() {
        // 0 -> 1 -> 2 and 3 -> 2: the edge of 3 passes the column of 1.
        let drawing = draw(&main_lane(4), &[(0, 1), (1, 2), (3, 2)], SIZES);
        let long = drawing
            .edges
            .iter()
            .find(|edge| edge.from == 3)
            .expect("it is drawn");
        assert_eq!(long.points.len(), 4);
        let (top, low) = (drawing.nodes[1].1, drawing.nodes[1].1 + SIZES.height);
        assert!(
            long.points[1].1 <= top || long.points[1].1 >= low,
            "{drawing:?}"
        );
    }

    #[test]
    fn the_side_lane_is_below() {
        let lanes = [Lane::Main, Lane::Side, Lane::Main];
        let drawing = draw(&lanes, &[(0, 1), (1, 2)], SIZES);
        assert!(drawing.nodes[1].1 > drawing.nodes[0].1 + SIZES.height);
        assert!(drawing.nodes[1].1 > drawing.side_lane.expect("there is one"));
        assert!(drawing.height >= drawing.nodes[1].1 + SIZES.height);
    }

    #[test]
    fn an_invalid_graph_is_drawn() {
        assert_eq!(draw(&[], &[], SIZES), Drawing::default());
        let cycle = draw(
            &main_lane(3),
            &[(0, 1), (1, 2), (2, 0), (1, 1), (7, 9)],
            SIZES,
        );
        assert_eq!(cycle.nodes.len(), 3);
    }

    #[test]
    fn nodes_of_a_column_never_touch() {
        // A deterministic tangle of 120 nodes.
        let mut seed = 7_u32;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        let edges: Vec<(usize, usize)> = (1..120)
            .flat_map(|node| [(random(node), node), (random(node), node)])
            .collect();
        let drawing = draw(&main_lane(120), &edges, SIZES);
        for (index, one) in drawing.nodes.iter().enumerate() {
            for other in &drawing.nodes[index + 1..] {
                assert!(one.0 != other.0 || (one.1 - other.1).abs() >= SIZES.height - 1e-6);
            }
        }
    }
}

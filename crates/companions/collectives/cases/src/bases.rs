//! The documents that the cases start from, all of them accepted without a warning but the published algorithm on rings.

use crate::algorithms::{
    Blocks, broadcast, hierarchical, in_rank_order, mixed_casts, over_ranks, pieces_in_flight, published,
    ring_blocks, ring_template, star, straddling, wide_line,
};
use crate::build::{Made, Shape};

/// Devices of all kinds, with extents of 1 and 2, primes, and more than one row.
fn shapes() -> Vec<Shape> {
    let mut shapes: Vec<Shape> = (1..=17).map(Shape::ring).collect();
    for (w, h) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (1, 5), (5, 1), (3, 3), (2, 4), (4, 3), (7, 2)] {
        shapes.push(Shape::torus(w, h));
        shapes.push(Shape::mesh(w, h));
    }
    shapes
}

/// Some of them with cubes.
fn with_cubes() -> Vec<Shape> {
    vec![
        Shape::ring(1).cubes(2, 3),
        Shape::ring(1).cubes(4, 4),
        Shape::ring(2).cubes(4, 4),
        Shape::ring(3).cubes(2, 3),
        Shape::ring(5).cubes(3, 2),
        Shape::ring(17).cubes(1, 2),
        Shape::torus(2, 2).cubes(2, 3),
        Shape::torus(3, 3).cubes(2, 2),
        Shape::torus(1, 4).cubes(4, 4),
        Shape::mesh(2, 2).cubes(2, 3),
        Shape::mesh(3, 1).cubes(4, 4),
        Shape::mesh(2, 3).cubes(1, 5),
        Shape::mesh(3, 3).cubes(3, 1),
    ]
}

/// Sums with equal bits on every shape.
pub fn hierarchical_all() -> Vec<Made> {
    let shapes: Vec<Shape> = shapes().into_iter().chain(with_cubes()).collect();
    let one = |(number, shape): (usize, &Shape)| {
        let n_elem = [1, 3, 2, 5][number % 4];
        hierarchical(&shape.clone().capacity(1 + number % 4), n_elem, "identical")
    };
    shapes.iter().enumerate().map(one).collect()
}

/// The published algorithm where its bits are equal: meshes, and rings of two.
pub fn published_equal() -> Vec<Made> {
    let mut shapes = vec![Shape::ring(2), Shape::torus(2, 2), Shape::ring(2).cubes(4, 4)];
    for (w, h) in [(1, 3), (2, 2), (3, 3), (4, 2)] {
        shapes.push(Shape::mesh(w, h));
    }
    shapes.push(Shape::mesh(2, 2).cubes(2, 3));
    shapes.iter().map(|shape| published(shape, 3)).collect()
}

/// The published algorithm where each device has its own order of additions, each with a sum in one order on the same devices.
pub fn published_apart() -> Vec<(Made, Made)> {
    let mut shapes: Vec<Shape> = [3, 4, 5, 7, 8, 13].map(Shape::ring).to_vec();
    shapes.extend([Shape::torus(3, 1), Shape::torus(1, 4), Shape::torus(3, 3), Shape::torus(2, 3)]);
    shapes.extend([Shape::ring(3).cubes(2, 3), Shape::torus(3, 2).cubes(2, 2)]);
    shapes.iter().map(|shape| (published(shape, 2), hierarchical(shape, 2, "per_element"))).collect()
}

/// Sums where another cube than the middle one is connected to other devices.
pub fn linked() -> Vec<Made> {
    let shapes = [
        Shape::ring(3).cubes(2, 3).linked(0, 0),
        Shape::ring(2).cubes(4, 4).linked(3, 0),
        Shape::torus(2, 2).cubes(3, 2).linked(0, 2),
        Shape::mesh(1, 3).cubes(2, 2).linked(0, 1),
        Shape::mesh(2, 2).cubes(1, 3).linked(2, 0),
    ];
    shapes.iter().map(|shape| hierarchical(shape, 2, "identical")).collect()
}

/// Sums in binary32, of many numbers.
pub fn wide() -> Vec<Made> {
    [(5, 16), (7, 16), (8, 12), (12, 12), (17, 8)].map(|(ranks, n_elem)| wide_line(ranks, n_elem)).into()
}

/// Every accepted document that something is planted in.
pub fn all() -> Vec<Made> {
    let mut all = hierarchical_all();
    all.extend(published_equal());
    all.extend(published_apart().into_iter().map(|(_, base)| base));
    for (ranks, n_elem, capacity) in [(2, 2, 1), (3, 2, 2), (4, 3, 3), (5, 1, 4), (7, 2, 6), (9, 1, 8)] {
        all.push(in_rank_order(ranks, n_elem, capacity));
    }
    for what in [Blocks::AllReduce, Blocks::ReduceScatter, Blocks::AllGather] {
        for (ranks, n_elem) in [(1, 3), (2, 5), (3, 2), (3, 7), (4, 4), (5, 13), (7, 5), (8, 8), (9, 4)] {
            all.push(ring_blocks(what, ranks, n_elem));
        }
    }
    for (ranks, n_elem) in [(2, 2), (3, 3), (4, 8), (5, 10), (8, 8), (13, 13), (17, 17)] {
        all.push(ring_template(ranks, n_elem));
    }
    let roots = [
        (Shape::ring(1), 0),
        (Shape::ring(2), 1),
        (Shape::ring(5), 2),
        (Shape::ring(11), 0),
        (Shape::torus(3, 2), 4),
        (Shape::torus(1, 3), 1),
        (Shape::mesh(3, 3), 4),
        (Shape::mesh(4, 1), 3),
        (Shape::mesh(2, 2).cubes(2, 3), 3),
        (Shape::ring(3).cubes(4, 4), 1),
    ];
    all.extend(
        roots.iter().enumerate().map(|(number, (shape, root))| broadcast(shape, 1 + number % 3, *root)),
    );
    for (ranks, pieces) in [(2, 2), (2, 3), (3, 2), (4, 2), (5, 3), (7, 2), (3, 4), (2, 5), (8, 2)] {
        all.push(pieces_in_flight(ranks, pieces));
    }
    all.extend([2, 3, 4, 6, 9].map(|ranks| wide_line(ranks, 2)));
    all.extend([1, 2, 3, 4, 6].map(mixed_casts));
    all.extend([1, 2, 5].map(over_ranks));
    all.extend([2, 3, 5, 8].map(|ranks| star(ranks, 2)));
    all.extend([2, 3, 6].map(straddling));
    all
}

/// An accepted document by the beginning of its name.
pub fn named(name: &str) -> Option<Made> {
    all().into_iter().find(|made| made.name.starts_with(name))
}

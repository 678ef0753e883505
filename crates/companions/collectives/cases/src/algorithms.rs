//! The algorithms that the cases start from.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::build::{Build, Made, Shape, algorithm, block};
use crate::expr::{Expr, add, leaf};

/// The sum over all elements, with the same bits everywhere: lines are reduced to a middle and spread from there, first rows and
/// then columns of cubes, then rows and columns of devices, and back.
pub fn hierarchical(shape: &Shape, n_elem: usize, bits: &str) -> Made {
    let mut build = Build::new(shape, n_elem);
    build.gather_cubes();
    for rows in [true, false] {
        let (lines, names) = build.lines(rows);
        for line in lines {
            // In a ring, rank 0 is in the middle, and the link at the far side is not used.
            let middle = if shape.kind == "mesh_2d_no_wrap" { line.len() / 2 } else { (line.len() - 1) / 2 };
            let mut line = line;
            if shape.kind != "mesh_2d_no_wrap" {
                line.rotate_right(middle);
            }
            build.gather(&line, middle, names);
            build.spread(&line, middle, names);
        }
    }
    build.spread_cubes();
    let mut collective = json!({"kind": "all_reduce"});
    if bits != "identical" {
        collective["bits"] = json!(bits);
    }
    let name =
        format!("hierarchical-{}-n{n_elem}{}", shape.slug(), if bits == "identical" { "" } else { "-any" });
    build.stored(&name, &format!("a hierarchical all-reduce on {}", words(shape)), &collective)
}

/// The sum over all elements as the source publishes it: around a ring, each device adds what comes as it comes.
pub fn published(shape: &Shape, n_elem: usize) -> Made {
    let mut build = Build::new(shape, n_elem);
    build.gather_cubes();
    for rows in [true, false] {
        let (lines, names) = build.lines(rows);
        for line in lines {
            if shape.kind == "mesh_2d_no_wrap" {
                build.gather(&line, line.len() - 1, names);
                build.spread(&line, line.len() - 1, names);
                continue;
            }
            let start: Vec<Rc<Expr>> = line.iter().map(|&element| Rc::clone(&build.made[element])).collect();
            for round in 1..line.len() {
                for (place, &element) in line.iter().enumerate() {
                    if round == 1 {
                        build.send(element, names[0]);
                    } else {
                        build.op(element, json!({"op": "send", "of": "in", "dir": names[0]}));
                    }
                    let from = (place + line.len() - round) % line.len();
                    build.reduce(element, names[1], &start[from]);
                }
            }
        }
    }
    build.spread_cubes();
    let collective = json!({"kind": "all_reduce", "bits": "per_element"});
    let name = format!("published-{}-n{n_elem}", shape.slug());
    build.stored(&name, &format!("the published all-reduce on {}", words(shape)), &collective)
}

/// The sum over a ring in which each device keeps what comes around, and adds everything in the order of ranks.
pub fn in_rank_order(ranks: usize, n_elem: usize, capacity: usize) -> Made {
    let shape = Shape::ring(ranks).capacity(capacity);
    let mut build = Build::empty(&shape, n_elem);
    let mut sum = leaf(0);
    for rank in 1..ranks {
        sum = add(&sum, &leaf(rank));
    }
    let name = |rank: usize| format!("from{rank}");
    for rank in 0..ranks {
        build.op(rank, json!({"op": "load", "to": name(rank), "at": 0, "n": n_elem}));
        for round in 1..ranks {
            let before = name((rank + ranks + 1 - round) % ranks);
            let next = name((rank + ranks - round) % ranks);
            build.op(rank, json!({"op": "send", "of": before, "dir": "global_E"}));
            build.op(rank, json!({"op": "recv", "to": next, "dir": "global_W", "n": n_elem}));
        }
        let mut held = name(0);
        for other in 1..ranks {
            build.op(rank, json!({"op": "add", "to": "sum", "a": held, "b": name(other)}));
            held = "sum".to_owned();
        }
        build.op(rank, json!({"op": "store", "of": held, "at": 0}));
        build.made[rank] = Rc::clone(&sum);
    }
    let results = build.made.iter().map(|made| vec![(0, n_elem, Rc::clone(made))]).collect();
    let name = format!("rank-order-ring-{ranks}-n{n_elem}-c{capacity}");
    let summary = format!("an all-reduce that adds in the order of ranks on a ring of {ranks}");
    build.document(&name, &summary, &json!({"kind": "all_reduce"}), results)
}

/// What of block-wise sums on a ring is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Reduce-scatter, then all-gather.
    AllReduce,
    /// The first alone, where participant `j` ends with block `j`.
    ReduceScatter,
    /// The second alone, where it begins with it.
    AllGather,
}

/// A ring on which blocks go around. Blocks without positions are not sent.
pub fn ring_blocks(what: Blocks, ranks: usize, n_elem: usize) -> Made {
    let shape = Shape::ring(ranks);
    let mut build = Build::empty(&shape, n_elem);
    // Block j is complete at this rank.
    let home = |j: usize| if what == Blocks::AllReduce { (j + ranks - 1) % ranks } else { j };
    let mut sums = Vec::new();
    for j in 0..ranks {
        let first = (home(j) + 1) % ranks;
        let mut sum = leaf(first);
        for step in 1..ranks {
            sum = add(&leaf((first + step) % ranks), &sum);
        }
        sums.push(sum);
    }
    for rank in 0..ranks {
        let at = |j: usize| block(n_elem, ranks, j);
        let own = (0..ranks).find(|&j| home(j) == rank).unwrap_or(0);
        if what != Blocks::AllGather {
            for step in 0..ranks - 1 {
                let [sent, taken] = [1, 2].map(|further| (own + 2 * ranks - further - step) % ranks);
                let (from, to) = at(sent);
                if from < to {
                    if step == 0 {
                        build.op(rank, json!({"op": "load", "to": "sum", "at": from, "n": to - from}));
                    }
                    build.op(rank, json!({"op": "send", "of": "sum", "dir": "global_E"}));
                }
                let (from, to) = at(taken);
                if from < to {
                    build.op(rank, json!({"op": "recv", "to": "in", "dir": "global_W", "n": to - from}));
                    build.op(rank, json!({"op": "load", "to": "own", "at": from, "n": to - from}));
                    build.op(rank, json!({"op": "add", "to": "sum", "a": "own", "b": "in"}));
                }
            }
            let (from, to) = at(own);
            if from < to && ranks > 1 {
                build.op(rank, json!({"op": "store", "of": "sum", "at": from}));
            }
        }
        if what != Blocks::ReduceScatter {
            for step in 0..ranks - 1 {
                let [sent, taken] = [0, 1].map(|further| (own + 2 * ranks - further - step) % ranks);
                let (from, to) = at(sent);
                if from < to {
                    if step == 0 {
                        build.op(rank, json!({"op": "load", "to": "in", "at": from, "n": to - from}));
                    }
                    build.op(rank, json!({"op": "send", "of": "in", "dir": "global_E"}));
                }
                let (from, to) = at(taken);
                if from < to {
                    build.op(rank, json!({"op": "recv", "to": "in", "dir": "global_W", "n": to - from}));
                    build.op(rank, json!({"op": "store", "of": "in", "at": from}));
                }
            }
        }
    }
    let result = |rank: usize| -> Vec<(usize, usize, Rc<Expr>)> {
        let part = |j: usize| {
            let (from, to) = block(n_elem, ranks, j);
            let made = if what == Blocks::AllGather { leaf(j) } else { Rc::clone(&sums[j]) };
            (from, to, made)
        };
        match what {
            Blocks::ReduceScatter => vec![part(rank)],
            _ => (0..ranks).map(part).collect(),
        }
    };
    let results = (0..ranks).map(result).collect();
    let (kind, name) = match what {
        Blocks::AllReduce => ("all_reduce", "all-reduce"),
        Blocks::ReduceScatter => ("reduce_scatter", "reduce-scatter"),
        Blocks::AllGather => ("all_gather", "all-gather"),
    };
    let summary = format!("an {name} block by block on a ring of {ranks}").replace("an reduce", "a reduce");
    build.document(&format!("{name}-ring-{ranks}-n{n_elem}"), &summary, &json!({"kind": kind}), results)
}

/// Reduce-scatter and all-gather on a ring as one template with loops. The ranks divide the positions.
pub fn ring_template(ranks: usize, n_elem: usize) -> Made {
    let length = n_elem / ranks;
    // Block `rank + first - s`.
    let at = |first: i64| json!({"of": {"rank": 1, "s": -1}, "add": first, "mod": ranks, "times": length});
    let ops = json!([
        {"op": "load", "to": "sum", "at": {"of": {"rank": 1}, "mod": ranks, "times": length}, "n": length},
        {"for": "s", "count": ranks - 1, "ops": [
            {"op": "send", "of": "sum", "dir": "global_E"},
            {"op": "recv", "to": "in", "dir": "global_W", "n": length},
            {"op": "load", "to": "own", "at": at(-1), "n": length},
            {"op": "add", "to": "sum", "a": "own", "b": "in"}]},
        {"op": "store", "of": "sum", "at": {"of": {"rank": 1}, "add": 1, "mod": ranks, "times": length}},
        {"for": "s", "count": ranks - 1, "ops": [
            {"op": "send", "of": "sum", "dir": "global_E"},
            {"op": "recv", "to": "sum", "dir": "global_W", "n": length},
            {"op": "store", "of": "sum", "at": at(0)}]}]);
    let plain = ring_blocks(Blocks::AllReduce, ranks, n_elem);
    let logs = vec![json!({"elements": [[0, ranks - 1, 1]], "ops": ops})];
    let collective = json!({"kind": "all_reduce", "over": "ranks"});
    Made {
        name: format!("template-ring-{ranks}-n{n_elem}"),
        summary: format!("a template of an all-reduce on a ring of {ranks}"),
        document: algorithm(&Shape::ring(ranks).topology(), n_elem, &collective, logs),
        results: plain.results,
    }
}

/// A broadcast from the link cube of a rank, along its row, then along all columns, then over the cubes.
pub fn broadcast(shape: &Shape, n_elem: usize, root: usize) -> Made {
    let mut build = Build::empty(shape, n_elem);
    let start = shape.link_of(root);
    build.op(start, json!({"op": "load", "to": "own", "at": 0, "n": n_elem}));
    let (x, y) = (root % shape.w, root / shape.w);
    let (rows, names) = build.lines(true);
    build.spread(&rows[y], x, names);
    let (columns, names) = build.lines(false);
    for column in columns {
        build.spread(&column, y, names);
    }
    build.spread_cubes();
    let mut collective = json!({"kind": "broadcast"});
    if root != 0 {
        collective["root"] = json!(root);
    }
    let name = format!("broadcast-{}-n{n_elem}-from-{root}", shape.slug());
    build.stored(&name, &format!("a broadcast from rank {root} on {}", words(shape)), &collective)
}

/// An all-gather in which each block goes around in pieces, all of which are sent before anything is received: the capacity has to
/// be the number of pieces.
pub fn pieces_in_flight(ranks: usize, pieces: usize) -> Made {
    let n_elem = ranks * pieces;
    let shape = Shape::ring(ranks).capacity(pieces);
    let at = |step: i64, piece: usize| json!({"of": {"rank": 1}, "add": -step, "mod": ranks, "times": pieces, "plus": piece});
    let name = |piece: usize| format!("piece{piece}");
    let mut ops: Vec<Value> = (0..pieces)
        .map(|piece| json!({"op": "load", "to": name(piece), "at": at(0, piece), "n": 1}))
        .collect();
    for step in 1..i64::try_from(ranks).unwrap_or(1) {
        ops.extend((0..pieces).map(|piece| json!({"op": "send", "of": name(piece), "dir": "global_E"})));
        for piece in 0..pieces {
            ops.push(json!({"op": "recv", "to": name(piece), "dir": "global_W", "n": 1}));
            ops.push(json!({"op": "store", "of": name(piece), "at": at(step, piece)}));
        }
    }
    let all = || (0..ranks).map(|j| (j * pieces, (j + 1) * pieces, leaf(j))).collect();
    let logs = vec![json!({"elements": [[0, ranks - 1, 1]], "ops": ops})];
    Made {
        name: format!("in-flight-ring-{ranks}-pieces-{pieces}"),
        summary: format!("{pieces} pieces on their way around a ring of {ranks}"),
        document: algorithm(&shape.topology(), n_elem, &json!({"kind": "all_gather"}), logs),
        results: (0..ranks).map(|_| all()).collect(),
    }
}

/// A sum with a binary32 accumulator that goes along a line, and comes back in binary16.
pub fn wide_line(ranks: usize, n_elem: usize) -> Made {
    let shape = Shape::mesh(ranks, 1);
    let mut build = Build::empty(&shape, n_elem);
    let mut sum = leaf(0);
    for rank in 0..ranks {
        build.op(rank, json!({"op": "load", "to": "own", "at": 0, "n": n_elem}));
        build.op(rank, json!({"op": "cast", "to": "sum", "of": "own", "dtype": "f32"}));
        if rank > 0 {
            build.op(rank, json!({"op": "recv", "to": "in", "dir": "global_W", "n": n_elem, "dtype": "f32"}));
            build.op(rank, json!({"op": "add", "to": "sum", "a": "in", "b": "sum"}));
            sum = Rc::new(Expr::Wide(sum, leaf(rank)));
        }
        if rank + 1 < ranks {
            build.op(rank, json!({"op": "send", "of": "sum", "dir": "global_E"}));
            build.op(rank, json!({"op": "recv", "to": "sum", "dir": "global_E", "n": n_elem}));
        } else {
            build.op(rank, json!({"op": "cast", "to": "sum", "of": "sum", "dtype": "f16"}));
        }
        build.op(rank, json!({"op": "store", "of": "sum", "at": 0}));
        if rank > 0 {
            build.op(rank, json!({"op": "send", "of": "sum", "dir": "global_W"}));
        }
    }
    let sum = Rc::new(Expr::Narrow(sum));
    let results = (0..ranks).map(|_| vec![(0, n_elem, Rc::clone(&sum))]).collect();
    let summary = format!("a sum in binary32 along a line of {ranks}");
    build.document(&format!("wide-line-{ranks}-n{n_elem}"), &summary, &json!({"kind": "all_reduce"}), results)
}

/// Two devices that compute one sum: the one in binary16, the other by way of binary32, and with casts that change nothing.
pub fn mixed_casts(n_elem: usize) -> Made {
    let shape = Shape::ring(2);
    let mut build = Build::new(&shape, n_elem);
    for rank in 0..2 {
        build.op(rank, json!({"op": "send", "of": "own", "dir": "global_E"}));
        build.op(rank, json!({"op": "recv", "to": "in", "dir": "global_W", "n": n_elem}));
    }
    build.op(0, json!({"op": "add", "to": "sum", "a": "own", "b": "in"}));
    for name in ["own", "in"] {
        build.op(1, json!({"op": "cast", "to": name, "of": name, "dtype": "f32"}));
        if n_elem.is_multiple_of(2) {
            build.op(1, json!({"op": "cast", "to": name, "of": name, "dtype": "f16"}));
        }
    }
    build.op(1, json!({"op": "add", "to": "sum", "a": "own", "b": "in"}));
    if !n_elem.is_multiple_of(2) {
        build.op(1, json!({"op": "cast", "to": "sum", "of": "sum", "dtype": "f16"}));
    }
    for rank in 0..2 {
        build.op(rank, json!({"op": "store", "of": "sum", "at": 0}));
    }
    let sum = add(&leaf(0), &leaf(1));
    let results = (0..2).map(|_| vec![(0, n_elem, Rc::clone(&sum))]).collect();
    let summary = "a sum in binary16, and the same by way of binary32";
    build.document(&format!("casts-n{n_elem}"), summary, &json!({"kind": "all_reduce"}), results)
}

/// The sum of each cube over two devices. The first cube, which has no link, hands its tile to the second.
pub fn over_ranks(n_elem: usize) -> Made {
    let shape = Shape { cube_w: 2, ..Shape::ring(2) };
    let mut build = Build::new(&shape, n_elem);
    for rank in 0..2 {
        let (plain, link) = (2 * rank, 2 * rank + 1);
        build.send(plain, "E");
        build.op(plain, json!({"op": "recv", "to": "sum", "dir": "E", "n": n_elem}));
        build.op(plain, json!({"op": "store", "of": "sum", "at": 0}));
        build.op(link, json!({"op": "recv", "to": "other", "dir": "W", "n": n_elem}));
        for (held, sum) in [("own", "sum"), ("other", "others")] {
            build.op(link, json!({"op": "send", "of": held, "dir": "global_E"}));
            build.op(link, json!({"op": "recv", "to": "in", "dir": "global_W", "n": n_elem}));
            build.op(link, json!({"op": "add", "to": sum, "a": held, "b": "in"}));
        }
        build.op(link, json!({"op": "send", "of": "others", "dir": "W"}));
        build.op(link, json!({"op": "store", "of": "sum", "at": 0}));
    }
    let result = |element: usize| {
        let other = (element + 2) % 4;
        vec![(0, n_elem, add(&leaf(element), &leaf(other)))]
    };
    let results = (0..4).map(result).collect();
    let collective = json!({"kind": "all_reduce", "over": "ranks"});
    build.document(
        &format!("over-ranks-n{n_elem}"),
        "the sum of each cube over two devices",
        &collective,
        results,
    )
}

/// A star in an explicit topology: everybody sends to rank 0 by a port of its own, which adds and sends back.
pub fn star(ranks: usize, n_elem: usize) -> Made {
    let mut edges = Vec::new();
    for rank in 1..ranks {
        edges.push(json!({"from": rank, "out": "up", "to": 0, "in": format!("from{rank}")}));
        edges.push(json!({"from": 0, "out": format!("to{rank}"), "to": rank, "in": "down"}));
    }
    let shape = Shape::ring(ranks);
    let mut build = Build::new(&shape, n_elem);
    let mut sum = leaf(0);
    let mut held = "own";
    for rank in 1..ranks {
        build.op(0, json!({"op": "recv", "to": "in", "dir": format!("from{rank}"), "n": n_elem}));
        build.op(0, json!({"op": "add", "to": "sum", "a": held, "b": "in"}));
        (sum, held) = (add(&sum, &leaf(rank)), "sum");
        build.op(rank, json!({"op": "send", "of": "own", "dir": "up"}));
        build.op(rank, json!({"op": "recv", "to": "sum", "dir": "down", "n": n_elem}));
        build.op(rank, json!({"op": "store", "of": "sum", "at": 0}));
    }
    build.op(0, json!({"op": "store", "of": held, "at": 0}));
    for rank in 1..ranks {
        build.op(0, json!({"op": "send", "of": held, "dir": format!("to{rank}")}));
    }
    let results = (0..ranks).map(|_| vec![(0, n_elem, Rc::clone(&sum))]).collect();
    let summary = format!("a star of {ranks}");
    let mut made =
        build.document(&format!("star-{ranks}-n{n_elem}"), &summary, &json!({"kind": "all_reduce"}), results);
    let topology = json!({"kind": "explicit", "ranks": ranks, "cube_w": 1, "cube_h": 1, "edges": edges});
    made.document["topology"] = topology;
    made
}

/// One element adds up its own scratch: it stores pieces, and loads across their borders.
pub fn straddling(n_elem: usize) -> Made {
    let shape = Shape::ring(2);
    let mut build = Build::empty(&shape, n_elem);
    for rank in 0..2 {
        for at in 0..n_elem {
            build.op(rank, json!({"op": "load", "to": "own", "at": at, "n": 1}));
            build.op(rank, json!({"op": "store", "of": "own", "at": n_elem + at}));
        }
        build.op(rank, json!({"op": "load", "to": "all", "at": n_elem, "n": n_elem}));
        build.op(rank, json!({"op": "send", "of": "all", "dir": "global_E"}));
        build.op(rank, json!({"op": "recv", "to": "in", "dir": "global_W", "n": n_elem}));
        build.op(rank, json!({"op": "add", "to": "all", "a": "all", "b": "in"}));
        build.op(rank, json!({"op": "store", "of": "all", "at": 0}));
    }
    let results = (0..2).map(|rank| vec![(0, n_elem, add(&leaf(rank), &leaf(1 - rank)))]).collect();
    let mut made = build.document(
        &format!("straddling-n{n_elem}"),
        "pieces in the scratch, loaded across their borders",
        &json!({"kind": "all_reduce"}),
        results,
    );
    made.document["scratch"] = json!(n_elem);
    made
}

fn words(shape: &Shape) -> String {
    shape.slug().replace("-cubes-", " with cubes of ").replace('-', " of ")
}

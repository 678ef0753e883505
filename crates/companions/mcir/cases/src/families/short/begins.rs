//! IB01: indices that reach from 0 to the last element, and one less or more.

use super::{Scene, one_copy, scene};

/// With i from 0 to 4, k from 0 to 2, and j from 2 to 8: an index, and the extent of which it reaches all.
const REACH: &[(&str, i64)] = &[
    ("i", 5),
    ("2i", 9),
    ("4-i", 5),
    ("8-2i", 9),
    ("i+k", 7),
    ("i-k+2", 7),
    ("2i-3k+6", 15),
    ("6-i-k", 7),
    ("j-2", 7),
    ("8-j", 7),
    ("2j-4", 13),
    ("16-2j", 13),
    ("i+j-2", 11),
    ("j-k", 9),
    ("i-j+8", 11),
    ("i+k+j-2", 13),
    ("i-k+j", 13),
    ("10-i-k-j+4", 13),
    ("3i-2k+j+2", 23),
    ("2k-3i-j+20", 23),
];

/// A point of a tensor, loaded where the index may use its axes.
fn reach(number: usize, index: &str, extent: i64) -> Scene {
    // The axis of the tensor changes from one to the next.
    let (before, behind) = [("", "4"), ("2", "4"), ("3 2", "")][number % 3];
    let zeros = |extents: &str| "0 ".repeat(extents.split_whitespace().count());
    let tensor = |extent: i64| format!("in X {before} {extent} {behind};");
    let place = before.split_whitespace().count();
    let at = |index: &str| format!("X x {}{index} {}", zeros(before), zeros(behind));
    let (load, node) = match (index.contains('j'), number % 2) {
        (false, _) => (format!("load {}", at(index)), "begin/0"),
        (true, 0) => (format!("each; load {}", at(index)), "each/0"),
        (true, _) => (format!("each; fetch 0 {}; wait x 0", at(index)), "each/0"),
    };
    let each = if index.contains('j') { "" } else { "; each" };
    let text = format!(
        "{} out Y 5 3 {behind}; shared x {behind}; register s {behind}; region r i=5/1 k=3/1; stream j 2 from 2 to 9; state s 0
         {load}{each}; s := add s x; end; store s Y i k {}",
        tensor(extent),
        zeros(behind)
    );
    let at_place = format!("{node}/at/{place}");
    let less = format!("{} -> {}", at(index), at(&format!("{index}-1")));
    let more = format!("{} -> {}", at(index), at(&format!("{index}+1")));
    let short = format!("{} -> {}", tensor(extent), tensor(extent - 1));
    scene(format!("the index {}, axis {place}", spoken(index)), &["MCI-03"], text)
        .rejects("one less", "IB01", &at_place, &less)
        .rejects("one more", "IB01", &at_place, &more)
        .rejects("of a tensor that is one shorter", "IB01", &at_place, &short)
}

/// An index as an id can say it.
fn spoken(index: &str) -> String {
    index.replace('+', " plus ").replace('-', " minus ")
}

/// A stream over points of a tensor, with what its bounds say: the least value and the largest.
fn stream(name: &str, axes: &str, bounds: &str, [least, last]: [i64; 2]) -> Scene {
    let [blocks, results, at] = if axes.is_empty() { ["", "4", "0"] } else { [axes, "5 4", "i 0"] };
    let text = format!(
        "in X {} 4; out Y {results}; shared x 4; register s 4; region r {blocks}; stream j {bounds}; state s 0
         each; load X x j-{least} 0; s := add s x; end; store s Y {at}",
        last - least + 1
    );
    let moved = |to: String| format!("j-{least} -> j{to}");
    scene(name, &["MCI-03"], text)
        .rejects("one less", "IB01", "each/0/at/0", &moved(format!("-{}", least + 1)))
        .rejects("one more", "IB01", "each/0/at/0", &moved(format!("+{}", 1 - least).replace("+-", "-")))
}

/// Sums that 32 and 64 bits do not hold.
fn wraps() -> Scene {
    let text = "in X 2147483647 4; out Y 4; shared x 4; register s 4; region r; stream j 1073741824 to 1073741825; state s 0
                each; load X x j 0; s := add s x; end; store s Y 0";
    let far = |times: usize, factor: i64| {
        let term = if factor < 0 { format!("{factor}j") } else { format!("+{factor}j") };
        format!("load X x j 0 -> load X x {} 0", term.repeat(times).trim_start_matches('+'))
    };
    scene("a stream of the values 0 and 2 to the 30", &["IB01"], text)
        .rejects("times 2", "IB01", "each/0/at/0", &far(1, 2))
        .rejects("times 4", "IB01", "each/0/at/0", &far(1, 4))
        .rejects("times minus 4", "IB01", "each/0/at/0", &far(1, -4))
        .rejects("times 2 to the 33", "IB01", "each/0/at/0", &far(8, 1 << 30))
        .rejects("times 2 to the 34", "IB01", "each/0/at/0", &far(16, 1 << 30))
        .rejects("times minus 2 to the 34", "IB01", "each/0/at/0", &far(16, -(1 << 30)))
        .rejects("times 2 to the 35", "IB01", "each/0/at/0", &far(32, 1 << 30))
}

/// Three regions, each with a load in each body.
fn regions() -> Scene {
    let (mut values, mut nodes) = (String::new(), String::new());
    for n in 0..3 {
        for body in ["b", "e", "f"] {
            values += &format!("in X{n}{body} 8; shared x{n}{body}; ");
        }
        values += &format!("out Y{n} 8; register s{n}; register t{n}; register y{n}\n");
        nodes += &format!(
            "region r{n} i=8/1; state s{n} 0; load X{n}b x{n}b i; each; load X{n}e x{n}e i; s{n} := add s{n} x{n}e
             end; load X{n}f x{n}f i; t{n} = add x{n}b x{n}f; y{n} = add t{n} s{n}; store y{n} Y{n} i\n"
        );
    }
    let mut of = scene("three regions that load in each body", &["IB01"], values + &nodes);
    for n in 0..3 {
        for (body, node) in [("b", "begin/0"), ("e", "each/0"), ("f", "end/0")] {
            let name = format!("region {n} too far in {}", node.trim_end_matches("/0"));
            let edit = format!("in X{n}{body} 8 -> in X{n}{body} 7");
            of = of.rejects(&name, "IB01", &format!("{n}:{node}/at/0"), &edit);
        }
    }
    of
}

pub(super) fn all() -> Vec<Scene> {
    let mut all = vec![one_copy(), wraps(), regions()];
    all.extend(REACH.iter().enumerate().map(|(number, &(index, extent))| reach(number, index, extent)));
    all.extend([
        stream("a stream from 2 to 10", "", "2 from 2 to 10", [2, 8]),
        stream("a stream from the largest of three", "", "2 from 1 3 2 to 10", [3, 9]),
        stream("a stream to the least of three", "", "2 from 0 to 12 9 10", [0, 8]),
        stream("a stream from 2 or its block", "i=5/1", "2 from 2 i to 10", [2, 9]),
        stream("a stream from 2 or what cancels out", "i=5/1", "2 from 2 i-i to 10", [2, 8]),
        stream("a stream from 2 to 9 or behind its block", "i=5/1", "2 from 2 to 9 i+20", [2, 8]),
        stream("a stream from its block to the far end of it", "i=5/1", "2 from i to i+7", [0, 10]),
        stream("a stream from before its block to the far end of it", "i=5/1", "3 from 4-i to 12-i", [0, 11]),
        stream("a stream without values that begins at 8", "", "2 from 8 to 8", [8, 8]),
        stream("a stream that ends long before it begins at 8", "", "2 from 8 to -3", [8, 8]),
        scene(
            "a stream without values that begins at 8, prefetched in the iteration",
            &["MCI-03"],
            "in X 9 4; out Y 4; shared x 4; register s 4; region r; stream j 2 from 8 to 8; state s 0
             each; fetch 0 X x j 0; wait x 0; s := add s x; end; store s Y 0",
        )
        .rejects("a tensor that is one shorter", "IB01", "each/0/at/0", "in X 9 4 -> in X 8 4"),
        scene(
            "a stream without values that begins at 8, loaded at the same place in begin",
            &["MCI-03"],
            "in X 9 4; out Y 4; shared x 4 *2; register s 4; region r; stream j 2 from 8 to 8; state s 0
             fetch 0 X x j 0; each; fetch 1 X x j 0; wait x 0; s := add s x; end; store s Y 0",
        ),
        scene(
            "a tile of 1048576 elements of a tensor of one",
            &["IB01", "MCI-09"],
            "in X 1; out Y 1; shared x 1048576; region r; load X x 0; end; store x Y 0",
        ),
        scene(
            "a tile of 64 by 4096 of a tensor of 3 by 5",
            &["IB01", "MCI-09"],
            "in X 3 5; out Y 3 5; shared x 64 4096; region r i=3/64 k=5/4096; each; load X x i k; store x Y i k",
        ),
    ]);
    all
}

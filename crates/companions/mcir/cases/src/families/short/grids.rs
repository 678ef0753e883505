//! IB02 and IB03: stores that together are a grid, with gaps and overlaps in each of its places.

use super::{Scene, one_copy, scene};

/// A copy of blocks of a tensor, and other axes with which a part is stored twice or not at all.
fn copy(name: &str, extents: &str, tile: &str, axes: &str, at: &str, others: &[(&str, &str)]) -> Scene {
    let text = format!(
        "in X {extents}; out Y {extents}; shared x {tile}; region r {axes}; load X x {at}; end; store x Y {at}"
    );
    let mut of = scene(name, &["IB02"], text);
    for (name, edit) in others {
        of = of.rejects(name, "IB02", "end/0/at", edit);
    }
    of
}

fn strides() -> Vec<Scene> {
    vec![
        // The second stride has to be 4, the third 8: as many stores, and the first and the last ones where they should be.
        copy(
            "two axes along one, steps 2 and 4",
            "16",
            "2",
            "i=4/2 k=16/4",
            "i+k",
            &[
                ("second step 3", "k=16/4 -> k=12/3"),
                ("first step 1", "i=4/2 -> i=2/1"),
                ("first step 3", "i=4/2 -> i=6/3"),
                ("second axis of one block less", "k=16/4 -> k=12/4"),
                ("second axis twice as fast", "k=16/4 -> k=8/4 | i+k -> i+2k"),
            ],
        ),
        copy(
            "three axes along one, the last one first",
            "24",
            "2",
            "a=24/12 b=6/2 c=12/6",
            "a+b+c",
            &[
                ("third stride 10", "a=24/12 -> a=20/10"),
                ("third stride 11", "a=24/12 -> a=22/11"),
                ("third stride 13", "a=24/12 -> a=26/13"),
                ("second stride 5", "c=12/6 -> c=10/5"),
                ("second stride 7", "c=12/6 -> c=14/7"),
                ("first stride 1", "b=6/2 -> b=3/1"),
                ("third stride 8", "a=24/12 -> a=16/8"),
            ],
        ),
        copy(
            "four axes along one, in no order",
            "48",
            "1",
            "a=48/16 b=2/1 c=16/4 d=4/2",
            "c+a+d+b",
            &[
                ("fourth stride 15", "a=48/16 -> a=45/15"),
                ("fourth stride 14", "a=48/16 -> a=42/14"),
                ("third stride 3", "c=16/4 -> c=12/3"),
                ("second stride 1", "d=4/2 -> d=2/1"),
            ],
        ),
        copy(
            "two axes along one, backwards",
            "16",
            "2",
            "i=4/2 k=16/4",
            "14-i-k",
            &[
                ("second step 3", "k=16/4 -> k=12/3"),
                ("first step 1", "i=4/2 -> i=2/1"),
                ("one more", "14-i-k -> 15-i-k"),
            ],
        ),
        copy(
            "two axes along one, one forwards and one backwards by a coefficient",
            "16",
            "2",
            "i=4/1 k=4/2",
            "4i-k+2",
            &[("first coefficient 3", "4i-k+2 -> 3i-k+2"), ("one more", "4i-k+2 -> 4i-k+3")],
        ),
        copy(
            "two axes with coefficients along one",
            "24",
            "2",
            "i=3/1 k=8/2",
            "2i+3k",
            &[
                ("second coefficient 2", "2i+3k -> 2i+2k"),
                ("first coefficient 1", "2i+3k -> i+3k"),
                ("coefficients exchanged", "2i+3k -> 3i+2k"),
            ],
        ),
        copy(
            "a tail behind two axes along one",
            "15",
            "2",
            "i=4/2 k=16/4",
            "i+k",
            &[("second step 3", "k=16/4 -> k=12/3")],
        ),
    ]
}

/// Axes that have to move the store, each along one axis of the tensor.
fn moves() -> Vec<Scene> {
    let mut all = Vec::new();
    for axes in ["a b", "a b c", "a b c d", "a b c d e"] {
        let names: Vec<&str> = axes.split(' ').collect();
        let list =
            |with: &dyn Fn(&str) -> String| names.iter().map(|name| with(name)).collect::<Vec<_>>().join(" ");
        let blocks = list(&|name| format!("{name}=3/1"));
        let extents = list(&|_| "3".to_owned());
        let text = format!(
            "in X {extents} 4; out Y {extents} 4; shared x 4; region r {blocks}; load X x {axes} 0; end; store x Y {axes} 0"
        );
        let mut of = scene(format!("{} block axes that move a store", names.len()), &["IB02"], text);
        for (place, name) in names.iter().enumerate() {
            let mut short = vec!["3"; names.len()];
            short[place] = "1";
            let still = axes.replace(name, "0");
            let edit = format!(
                "out Y {extents} 4 -> out Y {} 4 | store x Y {axes} 0 -> store x Y {still} 0",
                short.join(" ")
            );
            of = of.rejects(&format!("but {name}"), "IB02", "end/0/at", &edit);
            let other = names[(place + 1) % names.len()];
            let edit = format!("store x Y {axes} 0 -> store x Y {} 0", axes.replace(name, other));
            of = of.rejects(&format!("but {name}, and {other} twice"), "IB02", "end/0/at", &edit);
        }
        all.push(of);
    }
    all.extend([
        scene(
            "an axis along the rows",
            &["IB02"],
            "in X 8 8; out Y 8 4; shared x 4 4; region r i=8/4; load X x i 0; end; store x Y i 0",
        )
        .rejects("and along the columns", "IB02", "end/0/at", "out Y 8 4 -> out Y 8 8 | store x Y i 0 -> store x Y i i"),
        scene(
            "two axes along the rows",
            &["IB02"],
            "in X 8 4; out Y 8 4; shared x 2 4; region r i=4/2 k=8/4; load X x i+k 0; end; store x Y i+k 0",
        )
        .rejects(
            "and one of them along the columns",
            "IB02",
            "end/0/at",
            "out Y 8 4 -> out Y 8 8 | store x Y i+k 0 -> store x Y i+k k",
        ),
        scene(
            "axes of one value that do not move a store",
            &["IB02"],
            "in X 8; out Y 8; shared x 4; region r u=1/1 i=8/4 v=7/9; load X x i; end; store x Y i",
        )
        .rejects("but one has two", "IB02", "end/0/at", "v=7/9 -> v=7/4")
        .rejects("but the first has two", "IB02", "end/0/at", "u=1/1 -> u=2/1"),
        scene(
            "a stream of one value that does not move a store",
            &["IB02"],
            "in X 8; out Y 8; shared x 4; region r i=8/4; stream j 4 from 4 to 8; each; load X x i+j-4; store x Y i",
        )
        .rejects("but it has two", "IB02", "each/1/at", "from 4 to 8 -> from 4 to 12 | X x i+j-4 -> X x i+j-j"),
    ]);
    all
}

/// Stores in each iteration of a stream.
fn streams() -> Vec<Scene> {
    let stored = |name: &str, stream: &str, at: &str, others: &[(&str, &str)]| {
        let text = format!(
            "in X 8; out Y 8; shared x 4; region r; stream j {stream}; each; load X x {at}; store x Y {at}"
        );
        let mut of = scene(name, &["IB02"], text);
        for (name, edit) in others {
            of = of.rejects(name, "IB02", "each/1/at", edit);
        }
        of
    };
    vec![
        stored(
            "a stream from 4 on",
            "4 from 4 to 12",
            "j-4",
            &[("one too late", "j-4 -> j-3"), ("one iteration", "to 12 -> to 8"), ("the second one alone", "from 4 -> from 8")],
        ),
        stored(
            "a stream from 3 on, backwards",
            "4 from 3 to 8",
            "7-j",
            &[("one too late", "7-j -> 8-j"), ("one iteration", "to 8 -> to 7")],
        ),
        stored("a stream below 0", "4 from -8 to 0", "j+8", &[("one iteration", "to 0 -> to -4")]),
        stored("a stream with a coefficient, from 2 on", "2 from 2 to 6", "2j-4", &[("one too late", "2j-4 -> 2j-3")]),
        stored("a stream with a coefficient, backwards", "2 from -1 to 2", "2-2j", &[("one too late", "2-2j -> 3-2j")]),
        stored("a stream that ends between two values", "4 from 0 to 5", "j", &[("but before the second one", "to 5 -> to 4")]),
        scene(
            "a stream of one value that is 4",
            &["IB02"],
            "in X 8; out Y 8; shared x 4; region r i=8/4; stream j 4 from 4 to 8; each; load X x i+j-4; store x Y i+j-4",
        )
        .rejects("one too late", "IB02", "each/1/at", "i+j-4 -> i+j-3"),
        scene(
            "a stream of one value that is 3, backwards",
            &["IB02"],
            "in X 4; out Y 4; shared x 4; region r; stream j 1 from 3 to 4; each; load X x 6-2j; store x Y 6-2j",
        )
        .rejects("one too late", "IB02", "each/1/at", "6-2j -> 7-2j"),
        scene(
            "a stream along blocks",
            &["IB02"],
            "in X 16; out Y 16; shared x 4; region r i=16/8; stream j 4 to 8; each; load X x i+j; store x Y i+j",
        )
        .rejects("of three", "IB02", "each/1/at", "in X 16 -> in X 24 | out Y 16 -> out Y 20 | to 8 -> to 12")
        .rejects("whose end depends on them", "IB02", "each/1/at", "to 8 -> to 8 8+i")
        .rejects("whose beginning depends on them", "IB02", "each/1/at", "stream j 4 to -> stream j 4 from 0 0-i to"),
    ]
}

/// Three regions that store in `begin`, `each` and `end`.
fn regions() -> Scene {
    let (mut values, mut nodes) = (String::new(), String::new());
    for n in 0..3 {
        values += &format!("in X{n} 8; out B{n} 8; out E{n} 8; out F{n} 8; shared x{n} 4\n");
        nodes += &format!(
            "region r{n} i=8/4; load X{n} x{n} i; store x{n} B{n} i; each; store x{n} E{n} i; end; store x{n} F{n} i\n"
        );
    }
    let mut of = scene("three regions that store in each body", &["IB02"], values + &nodes);
    for n in 0..3 {
        for (tensor, node) in [("B", "begin/1"), ("E", "each/0"), ("F", "end/0")] {
            let at = format!("{n}:{node}/at");
            let body = node.trim_end_matches(|letter: char| !letter.is_alphabetic());
            for (name, extents, index) in [("the last part", "12", "i"), ("the first part", "12", "i+4")] {
                let edit = format!(
                    "out {tensor}{n} 8 -> out {tensor}{n} {extents} | store x{n} {tensor}{n} i -> store x{n} {tensor}{n} {index}"
                );
                of = of.rejects(&format!("but not {name} of region {n} in {body}"), "IB02", &at, &edit);
            }
        }
    }
    of
}

/// Loads of what the region itself stores.
fn own() -> Scene {
    let text =
        "in X 3 4; kept S 3 4; out Y 3 4; shared x 3 4; shared s 3 4; shared t 4; shared p 4; shared u 3 4
                register a 4; register b 4; register v 3 4; register w 3 4; register y 3 4
                region first; load X x 0 0; store x S 0 0
                region r; stream j 1 to 3; state a 0; state b 0; load S s 0 0
                each; load S t j 0; fetch 0 S p j 0; wait p 0; a := add a t; b := add b p
                end; load S u 0 0; v = add s u; w = add.columns v a; y = add.columns w b; store y Y 0 0";
    scene("loads of what an earlier region stores", &["IB03"], text)
        .rejects("but in begin of its own", "IB03", "1:begin/0/in/0", "load S s 0 -> load Y s 0")
        .rejects("but in each of its own", "IB03", "1:each/0/in/0", "load S t j -> load Y t j")
        .rejects(
            "but in each of its own, prefetched",
            "IB03",
            "1:each/1/in/0",
            "fetch 0 S p j -> fetch 0 Y p j",
        )
        .rejects("but in end of its own", "IB03", "1:end/0/in/0", "load S u 0 -> load Y u 0")
}

pub(super) fn all() -> Vec<Scene> {
    let mut all = vec![one_copy(), regions(), own()];
    all.extend(strides());
    all.extend(moves());
    all.extend(streams());
    all
}

//! IS09 and IS10: what has to have the same extents, and what an extent is.

use super::{Scene, one_copy, scene};

/// A node that needs one extent twice: of `i`, whose tiles of 4 end in a rest of 7 elements, and the extent, the tile and the index of another tensor.
const SAME: &[(&str, &str, &str)] = &[
    (
        "the first axis of both",
        "begin/2",
        "in A 7 7; in B {E} 7; out Y 7 7; shared a 4 4; shared b {T} 4; register y 4 4; region r i=7/4 k=7/4
         load A a i k; load B b {I} k; y = add a b; end; store y Y i k",
    ),
    (
        "the second axis of both",
        "begin/2",
        "in A 7 7; in B 7 {E}; out Y 7 7; shared a 4 4; shared b 4 {T}; register y 4 4; region r i=7/4 k=7/4
         load A a k i; load B b k {I}; y = add a b; end; store y Y k i",
    ),
    (
        "the second of three axes of both",
        "begin/2",
        "in A 7 7 2; in B 7 {E} 2; out Y 7 7 2; shared a 4 4 2; shared b 4 {T} 2; register y 4 4 2; region r i=7/4 k=7/4
         load A a k i 0; load B b k {I} 0; y = add a b; end; store y Y k i 0",
    ),
    (
        "both sides of a product",
        "begin/2",
        "in A 7 7; in B {E} 7; out Y 7 7; shared a 4 4; shared b {T} 4; register y 4 4; region r i=7/4 k=7/4
         load A a i i; load B b {I} k; y = matmul_nn a b; end; store y Y i k",
    ),
    (
        "both sides of a product with a transposed matrix",
        "begin/2",
        "in A 7 7; in B 7 {E}; out Y 7 7; shared a 4 4; shared b 4 {T}; register y 4 4; region r i=7/4 k=7/4
         load A a i i; load B b k {I}; y = matmul_nt a b; end; store y Y i k",
    ),
    (
        "one for each row",
        "begin/2",
        "in A 7 7; in B {E}; out Y 7 7; shared a 4 4; shared b {T}; register y 4 4; region r i=7/4 k=7/4
         load A a i k; load B b {I}; y = add.rows a b; end; store y Y i k",
    ),
    (
        "one for each column",
        "begin/2",
        "in A 7 7; in B {E}; out Y 7 7; shared a 4 4; shared b {T}; register y 4 4; region r i=7/4 k=7/4
         load A a k i; load B b {I}; y = add.columns a b; end; store y Y k i",
    ),
    (
        "a factor for each row of a state",
        "each/1",
        "in A 7 7; in B {E}; out Y 7 7; shared a 4 4; shared b {T}; register y 4 4; region r i=7/4 k=7/4; state y 0
         load B b {I}; each; load A a i k; y := scale_add y b a; end; store y Y i k",
    ),
    (
        "a factor for each element of a state",
        "each/1",
        "in A 7; in B {E}; out Y 7; shared a 4; shared b {T}; register y 4; region r i=7/4; state y 0
         load B b {I}; each; load A a i; y := scale_add y b a; end; store y Y i",
    ),
    (
        "a store in begin, first axis",
        "begin/1",
        "in B {E} 7; out Y 7 7; shared b 4 4; region r i=7/4 k=7/4; load B b {I} k; store b Y i k",
    ),
    (
        "a store in begin, second axis",
        "begin/1",
        "in B 7 {E}; out Y 7 7; shared b 4 4; region r i=7/4 k=7/4; load B b k {I}; store b Y k i",
    ),
    (
        "a store in each, first axis",
        "each/1",
        "in B {E} 7; out Y 7 7; shared b 4 4; region r i=7/4 k=7/4; each; load B b {I} k; store b Y i k",
    ),
    (
        "a store in each, second axis",
        "each/1",
        "in B 7 {E}; out Y 7 7; shared b 4 4; region r i=7/4 k=7/4; each; load B b k {I}; store b Y k i",
    ),
    (
        "a store in end, first axis",
        "end/0",
        "in B {E} 7; out Y 7 7; shared b 4 4; region r i=7/4 k=7/4; load B b {I} k; end; store b Y i k",
    ),
    (
        "a store in end, second axis",
        "end/0",
        "in B 7 {E}; out Y 7 7; shared b 4 4; region r i=7/4 k=7/4; load B b k {I}; end; store b Y k i",
    ),
];

/// What is not the extent of 4 with the rest 7 - i: extent of the tensor, of the tile, index.
const OTHERS: &[(&str, [&str; 3])] = &[
    ("the same rest of a larger tile", ["7", "5", "i"]),
    ("a smaller tile without a rest", ["8", "3", "i"]),
    ("no rest", ["8", "4", "i"]),
    ("a rest of one less", ["6", "4", "i"]),
    ("a rest of one less by its index", ["7", "4", "i+1"]),
    ("a rest along another axis", ["7", "4", "k"]),
    ("a rest that goes twice as fast", ["7", "4", "2i"]),
    ("a rest that goes along two axes", ["7", "4", "i+k"]),
];

fn filled(text: &str, [extent, tile, index]: [&str; 3]) -> String {
    text.replace("{E}", extent).replace("{T}", tile).replace("{I}", index)
}

fn same(name: &str, at: &str, text: &str, others: &[(&str, [&str; 3])]) -> Scene {
    let mut scene = scene(name, &["MCI-09"], filled(text, ["7", "4", "i"]))
        .edited_to("by an index with a constant", filled(text, ["10", "4", "i+3"]));
    for &(name, other) in others {
        let has = |token: &str, is_needed: bool| !is_needed || text.contains(token);
        if has("{T}", other[1] != "4") && has("k=", other[2].contains('k')) {
            scene = scene.rejects_text(name, "IS09", at, filled(text, other));
        }
    }
    scene
}

impl Scene {
    fn edited_to(self, name: &str, text: String) -> Scene {
        self.edited(name, super::Answer::Accept(&[]), Ok(text))
    }
}

/// An axis of one value is that value, also in a rest.
fn of_one_value() -> Vec<Scene> {
    let fixed = |name: &str, stream: &str, moving: &str, fixed: &str| {
        let text = format!(
            "in A 30; in B 30; out Y 7; shared a 4; shared b 4; register y 4; register s 4; region r i=7/4; stream j {stream}; state s 0
             load B b {fixed}; each; load A a {moving}; y = add a b; s := add s y; end; store s Y i"
        );
        // Both tensors end where the seven elements do.
        let end = fixed.rsplit('+').next().and_then(|number| number.parse::<i64>().ok()).unwrap_or(0) + 7;
        let text = text.replace("in A 30; in B 30", &format!("in A {end}; in B {end}"));
        let shifted = format!("load B b {fixed} -> load B b {fixed}+1");
        scene(name, &["MCI-03", "MCI-09"], text).rejects(
            "beside one that begins one later",
            "IS09",
            "each/1",
            &shifted,
        )
    };
    vec![
        fixed("a stream of the value 8", "1 from 8 to 9", "i+j", "i+8"),
        fixed("a stream of the value 3, with a long step", "5 from 3 to 8", "i+j", "i+3"),
        fixed("a stream of the value 4, which counts twice", "4 from 4 to 5", "i+2j", "i+8"),
        fixed("a stream of the value 2, which counts three times, and a constant", "1 from 2 to 3", "3j+i+1", "i+7"),
        fixed("a stream of the value 0", "4 to 4", "i+j+5", "i+5"),
        fixed("a stream without values that begins at 8", "1 from 8 to 8", "i+j", "i+8"),
        fixed("a stream that ends before it begins at 6", "2 from 6 to 1", "i+2j", "i+12"),
        scene(
            "a block axis of one value",
            &["MCI-03", "MCI-09"],
            "in A 7 5; in B 5; out Y 7 5; shared a 7; shared b 7; register y 7; region r u=5/7 i=7/1
             load A a i u; load B b 0; y = add a b; end; store y Y i u",
        )
        .rejects("beside one that begins one later", "IS09", "begin/2", "load B b 0 -> load B b 1"),
        scene(
            "a rest of a stream of one value",
            &["MCI-09"],
            "in X 10; out Y 2; shared x 4 iteration; register s 4; region r; stream j 4 from 8 to 12; state s 0
             each; load X x j; s := add s x; end; store s Y 0",
        )
        .rejects("and of two values", "IS09", "each/1", "to 12 -> to 13"),
    ]
}

/// A state whose extents would depend on the stream, which comes from ahead or from behind.
fn of_streams() -> Vec<Scene> {
    // What is stored of the state is a sum over the axis that is cut, so that nothing else is wrong.
    const STATES: &[(&str, &str)] = &[
        (
            "add",
            "in X {E}; out Y; shared x 4; register s 4; register y; region r; {stream}; state s 0
             each; load X x {index}; s := add s x; end; y = sum.0 s; store y Y",
        ),
        (
            "max",
            "in X 4 {E}; out Y 4; shared x 4 4; register s 4 4; register y 4; region r; {stream}; state s -inf
             each; load X x 0 {index}; s := max s x; end; y = max.1 s; store y Y 0",
        ),
        (
            "scale_add",
            "in X 4 {E}; in R 4; out Y 4; shared x 4 4; shared r 4; register s 4 4; register y 4; region r; {stream}; state s 0
             load R r 0; each; load X x 0 {index}; s := scale_add s r x; end; y = sum.1 s; store y Y 0",
        ),
        (
            "online_softmax",
            "in X {E} 4; out M; out L; out P {E} 4; out R {E}; shared x 4 4
             register m 4; register l 4; register p 4 4; register r 4; register y; register z; region r; {stream}; state m -inf; state l 0
             each; load X x {index} 0; m l p r := online_softmax x m l; store p P {index} 0; store r R {index}
             end; y = max.0 m; z = sum.0 l; store y M; store z L",
        ),
    ];
    let ways = [
        ("forwards", "j 4 to 16", "j"),
        ("backwards", "j 4 to 16", "12-j"),
        ("forwards by a coefficient", "j 2 to 8", "2j"),
        ("backwards by a coefficient", "j 2 to 8", "12-2j"),
    ];
    let mut all = Vec::new();
    for (function, text) in STATES {
        for (way, stream, index) in ways {
            let name = format!("a state of a stream that goes {way}, {function}");
            let text = text.replace("{stream}", &format!("stream {stream}")).replace("{index}", index);
            let [whole, cut] = ["16", "15"].map(|extent| text.replace("{E}", extent));
            all.push(scene(name, &["MCI-09"], whole).rejects_text("with a rest", "IS09", "each/1", cut));
        }
    }
    all
}

/// Three regions, of which each loads, prefetches and stores.
fn dtypes() -> Scene {
    let mut values = String::new();
    let mut regions = String::new();
    for n in 0..3 {
        values += &format!(
            "in X{n}:F16 4; in P{n}:BF16 16; out Y{n}:F16 4; shared x{n}:F16 4; shared p{n}:BF16 4 iteration; register s{n} 4; register y{n}:F16 4\n"
        );
        regions += &format!(
            "region r{n}; stream j 4 to 16; state s{n} 0; load X{n} x{n} 0
             each; fetch 0 P{n} p{n} j; wait p{n} 0; s{n} := add s{n} p{n}; end; y{n} = add x{n} s{n}; store y{n} Y{n} 0\n"
        );
    }
    let mut scene = scene("three regions that load, prefetch and store", &["IS10"], values + &regions);
    for n in 0..3 {
        for (what, tensor, dtype, node) in [
            ("loads", "X", "F16", "begin/0"),
            ("prefetches", "P", "BF16", "each/0"),
            ("stores", "Y", "F16", "end/1"),
        ] {
            for other in ["F32", "F16", "BF16"].into_iter().filter(|other| *other != dtype) {
                let name = format!("region {n} {what} {other}");
                let edit = format!("{tensor}{n}:{dtype} -> {tensor}{n}:{other}");
                scene = scene.rejects(&name, "IS10", &format!("{n}:{node}"), &edit);
            }
        }
    }
    scene
}

pub(super) fn all() -> Vec<Scene> {
    let mut all = vec![one_copy(), dtypes()];
    all.extend(SAME.iter().map(|(name, at, text)| same(name, at, text, OTHERS)));
    // The other functions of two tiles.
    for function in ["sub", "mul", "div", "max"] {
        for &number in &[0, 1, 2, 5, 6] {
            let (name, at, text) = SAME[number];
            let few: Vec<_> = [0, 2, 3, 5].into_iter().map(|other: usize| OTHERS[other]).collect();
            all.push(same(&format!("{function} with {name}"), at, &text.replace("add", function), &few));
        }
    }
    all.extend(of_one_value());
    all.extend(of_streams());
    all
}

//! IM01, IM02 and the warnings: which value, which boundary and which node is meant.

use super::{Scene, one_copy, scene};

/// Three results of one tile.
fn boundaries() -> Scene {
    let text = "in A 4; in B 4; out X 4; out Y 4; out Z 4; shared x 4; shared b 4; register y 4; register z 4; region r
                load A x 0; load B b 0; y = add x b; z = exp y; store x X 0; store y Y 0; store z Z 0";
    let mut of = scene("three results", &["IM01", "IM02", "IW05"], text)
        .rejects("a boundary of an input before all", "IM02", "/boundaries/0", "out X 4 -> bound A; out X 4")
        .rejects("a boundary of an input behind one", "IM02", "/boundaries/1", "out Y 4 -> bound A; out Y 4")
        .rejects("a boundary of an input behind two", "IM02", "/boundaries/2", "out Z 4 -> bound B; out Z 4")
        .rejects("a boundary of an input behind all", "IM02", "/boundaries/3", "out Z 4 -> out Z 4; bound B");
    for (place, name) in ["X", "Y", "Z"].into_iter().enumerate() {
        let kept = format!("out {name} 4 -> kept {name} 4");
        let hidden = format!("out {name} 4 -> hidden {name} 4");
        of = of
            .rejects(&format!("{name} without a boundary"), "IM01", &format!("/values/{name}"), &hidden)
            .accepts(&format!("{name} for nobody, at boundary {place}"), &["IW05"], &kept);
    }
    of
}

/// Tiles, states and tensors that nobody uses, one by one.
fn unused() -> Vec<Scene> {
    let text = "in X 16; out Y 4; out Z 4; shared x 4 iteration; register s 4; register t 4; region r; stream j 4 to 16
                state s 0; state t 0; each; load X x j; s := add s x; t := max t s; end; store t Y 0; store s Z 0";
    let chain = scene("a state that goes into another one, and a store", &["IW01"], text)
        .accepts("and nowhere else", &[], "; store s Z 0 -> ; store t Z 0")
        .accepts("but not the other one", &["IW01"], "; store t Y 0 -> ; store s Y 0")
        .accepts(
            "and neither of them else",
            &["IW01"],
            "; store t Y 0; store s Z 0 -> | out Y 4; out Z 4 -> ",
        );
    let softmax = "in X 4 16; out P 4 16; out R 4; shared x 4 4 iteration; register m 4; register l 4; register p 4 4 iteration; register r 4 iteration
                   register s 4; region r; stream j 4 to 16; state m -inf; state l 0; state s 1
                   each; load X x 0 j; m l p r := online_softmax x m l; store p P 0 j; s := add s r; end; store s R 0";
    vec![
        chain,
        scene("largest scores and sums that only the weights are of", &["IW01"], softmax)
            .accepts("weights that nobody reads", &["IW01"], "store p P 0 j; -> | out P 4 16; -> ")
            .accepts("factors that nobody reads", &["IW01"], "s := add s r -> s := add s m"),
        scene(
            "three regions with an input each",
            &["IW01"],
            "in A 4; in B 4; in C 4; out X 4; out Y 4; out Z 4; shared a 4; shared b 4; shared c 4
             region p; load A a 0; store a X 0; region q; load B b 0; store b Y 0; region r; load C c 0; store c Z 0",
        )
        .accepts("and one that nobody loads", &["IW01"], "in A 4 -> in A 4; in D 4")
        .accepts("and a tile that the first one loads for nobody", &["IW01"], "out X 4; -> out X 4; shared d 4; | load A a 0; -> load A a 0; load A d 0;")
        .accepts("and a tile that the last one loads for nobody", &["IW01"], "out X 4; -> out X 4; shared d 4; | load C c 0; -> load C c 0; load C d 0;"),
    ]
}

/// Slots that are too many.
fn slots() -> Vec<Scene> {
    let mut all = Vec::new();
    for ahead in [0, 1, 2, 5, 62] {
        let begun: String = (0..ahead).map(|version| format!("fetch {version} X x j; ")).collect();
        let slots = format!("shared x 4 *{} iteration", ahead + 1);
        let text = format!(
            "in X 16; out Y 16; {slots}; region r; stream j 4 to 16; {begun}each; fetch {ahead} X x j; wait x 0; store x Y j"
        );
        let more = |more: i64| format!("{slots} -> shared x 4 *{} iteration", ahead + more);
        let mut of = scene(format!("a tile prefetched {ahead} ahead"), &["IW02"], text)
            .accepts("with a slot too many", &["IW02"], &more(2))
            .accepts(
                "with a slot too many, and read by nobody",
                &["IW01", "IW02"],
                &format!("{} | ; store x Y j -> | out Y 16; -> ", more(2)),
            );
        if ahead < 62 {
            of = of.accepts("with two slots too many", &["IW02"], &more(3));
        }
        all.push(of);
    }
    let text = "in X 16; out Y 4; shared x 4 *1; register y 4 *1; register s 4 *1; region r; stream j 4 to 16; state s 0
                each; load X x j; y = exp x; s := add s y; end; store s Y 0";
    let mut of = scene("a loaded tile, a computed one and a state, of one slot each", &["IW02"], text);
    for (name, edit) in [
        ("a loaded tile of two", "shared x 4 *1 -> shared x 4 *2"),
        ("a computed tile of two", "register y 4 *1 -> register y 4 *2"),
        ("a state of two", "register s 4 *1 -> register s 4 *2"),
        ("all of 64", "*1 -> *64"),
    ] {
        of = of.accepts(name, &["IW02"], edit);
    }
    all.push(of);
    all
}

/// Loads that do not move with the stream, of tensors of one to four axes.
fn invariant() -> Vec<Scene> {
    let mut all = Vec::new();
    for rank in 1..=4 {
        for place in 0..rank {
            let extents = vec!["16"; rank].join(" ");
            let at = |index: &str| {
                (0..rank).map(|axis| if axis == place { index } else { "0" }).collect::<Vec<_>>().join(" ")
            };
            let text = format!(
                "in X {extents}; out Y; shared x; register s; region r; stream j 4 to 16; state s 0
                 each; load X x {}; s := add s x; end; store s Y",
                at("j")
            );
            let load = |index: &str| format!("X x {} -> X x {}", at("j"), at(index));
            all.push(
                scene(format!("a load that moves along axis {place} of {rank}"), &["IW04"], text)
                    .accepts("backwards", &[], &load("15-j"))
                    .accepts("with constants", &[], &load("j+1-1"))
                    .accepts("or stands still", &["IW04"], &load("3"))
                    .accepts("or cancels out", &["IW04"], &load("j-j+2"))
                    .accepts("or moves and cancels out twice", &["IW04"], &load("2j-j-j")),
            );
        }
    }
    all.push(
        scene(
            "a load of a stream of one value",
            &["IW04"],
            "in X 16; out Y; shared x; register s; region r; stream j 4 to 4; state s 0; each; load X x j; s := add s x; end; store s Y",
        )
        .accepts("that stands still", &["IW04"], "X x j -> X x 0"),
    );
    all.push(
        scene(
            "loads of each body",
            &["IW04"],
            "in X 16; out Y; shared x; shared y; shared z; register s; register t; register u; region r; stream j 4 to 16; state s 0
             load X y 3; each; load X x j; s := add s x; end; load X z 3; t = add y z; u = add t s; store u Y",
        )
        .accepts("and of each without a stream", &[], "stream j 4 to 16; -> | X x j -> X x 3")
        .accepts("that stands still in each", &["IW04"], "X x j -> X x 3"),
    );
    all
}

pub(super) fn all() -> Vec<Scene> {
    let mut all = vec![one_copy(), boundaries()];
    all.extend(unused());
    all.extend(slots());
    all.extend(invariant());
    all
}

//! IL02: tiles of each lifetime, produced and read in each body, and states.

use super::{Scene, one_copy, scene};

/// Where a tile is produced and where it is read, and for which lifetimes that is wrong.
const PLACES: &[(&str, &str, &[&str])] = &[
    ("begin", "begin", &["iteration"]),
    ("begin", "each", &["iteration", "node"]),
    ("begin", "end", &["stream", "iteration", "node"]),
    ("each", "each", &[]),
    ("end", "end", &["stream", "iteration"]),
];

/// A tile `t` that a node makes in a body, of `x`, and another one reads.
fn made(making: &str, make: &str, produced: &str, read: &str, wrong: &[&str]) -> Scene {
    let mut bodies = String::new();
    for body in ["begin", "each", "end"] {
        if body != "begin" {
            bodies += &format!("; {body}");
        }
        if body == produced {
            bodies += &format!("; {make}");
        }
        if body == read {
            bodies += "; z = neg t; store z Z 0";
        }
    }
    let text = format!(
        "in X 4; out Y 4; out Z 4; shared x 4; shared t 4; register z 4; region r; load X x 0{bodies}; store x Y 0"
    );
    let mut of = scene(format!("{making} in {produced}, read in {read}"), &["MCI-11"], text);
    for lifetime in ["stream", "iteration", "node"] {
        let edit = format!("shared t 4 -> shared t 4 {lifetime}");
        of = if wrong.contains(&lifetime) {
            of.rejects(lifetime, "IL02", "@t", &edit)
        } else {
            of.accepts(lifetime, &[], &edit)
        };
    }
    // Nobody reads it: where it is produced is wrong enough.
    if produced == read {
        for lifetime in wrong {
            let edit = format!("shared t 4 -> shared t 4 {lifetime} | neg t -> neg x");
            of = of.rejects(&format!("{lifetime}, and read nowhere"), "IL02", "@t", &edit);
        }
    }
    of
}

/// States that each iteration reads, so that they stand in `each` alone.
fn states() -> Scene {
    let text = "in X 8 4; in W 8 4; out Y 8 4; out M 8; out L 8; out P 8 4; shared x 4 4 iteration; shared w 4 4 iteration
                register s 4 4; register t 4 4; register m 4; register l 4; register p 4 4 node; register r 4 node
                register y 4 4 node; register n 4 node; register k 4 node
                region r; stream j 4 to 8; state s 0; state t 1; state m -inf; state l 0
                each; load X x j 0; load W w j 0; s := add s x; m l p r := online_softmax x m l; t := scale_add t r w
                y = add s t; store y Y j 0; n = neg m; store n M j; k = neg l; store k L j; store p P j 0";
    let mut of = scene("four states that are read in each alone", &["MCI-11"], text);
    for (state, extents) in [("s", "4 4"), ("t", "4 4"), ("m", "4"), ("l", "4")] {
        for lifetime in ["stream", "iteration", "node"] {
            let edit = format!("register {state} {extents}; -> register {state} {extents} {lifetime};");
            of = of.rejects(&format!("{state} for the {lifetime}"), "IL02", &format!("@{state}"), &edit);
        }
    }
    of
}

/// Two regions, of which the second one's tile has the wrong lifetime.
fn second() -> Scene {
    let text = "in X 4; out Y 4; out Z 4; shared x 4; shared y 4; region r; load X x 0; end; store x Y 0
                region q; load X y 0; each; store y Z 0";
    scene("two regions with a tile each", &["MCI-11"], text)
        .rejects("the first one for the stream", "IL02", "@x", "shared x 4 -> shared x 4 stream")
        .rejects("the second one for the iteration", "IL02", "@y", "shared y 4 -> shared y 4 iteration")
        .rejects("the second one for a node", "IL02", "@y", "shared y 4 -> shared y 4 node")
        .accepts("the second one for the stream", &[], "shared y 4 -> shared y 4 stream")
}

/// A prefetched tile.
fn prefetched() -> Scene {
    let text = "in X 16; out Y 16; shared x 4 *2; region r; stream j 4 to 16; fetch 0 X x j
                each; fetch 1 X x j; wait x 0; store x Y j";
    scene("a tile prefetched in begin and each", &["MCI-11"], text)
        .accepts("for the stream", &[], "*2 -> *2 stream")
        .accepts("for the iteration", &[], "*2 -> *2 iteration")
        .rejects("for a node", "IL02", "@x", "*2 -> *2 node")
}

/// A tile prefetched in `each` alone.
fn prefetched_now() -> Scene {
    let text = "in X 16; out Y 16; shared x 4; region r; stream j 4 to 16; each; fetch 0 X x j; wait x 0; store x Y j";
    scene("a tile prefetched in each alone", &["MCI-11"], text)
        .accepts("for the stream", &[], "shared x 4 -> shared x 4 stream")
        .accepts("for the iteration", &[], "shared x 4 -> shared x 4 iteration")
        .rejects("for a node", "IL02", "@x", "shared x 4 -> shared x 4 node")
}

/// A tile that is read in `begin` rightly, and in another body.
fn read_twice() -> Vec<Scene> {
    let read = |body: &str, lifetimes: &[(&str, bool)]| {
        let text = format!(
            "in X 4; out Y 4; out Z 4; shared x 4; shared t 4; region r; load X x 0; t = neg x; store t Y 0; {body}; store t Z 0"
        );
        let mut of = scene(format!("a tile that is read in begin and in {body}"), &["MCI-11"], text);
        for &(lifetime, is_wrong) in lifetimes {
            let edit = format!("shared t 4 -> shared t 4 {lifetime}");
            of = if is_wrong {
                of.rejects(lifetime, "IL02", "@t", &edit)
            } else {
                of.accepts(lifetime, &[], &edit)
            };
        }
        of
    };
    vec![
        read("each", &[("stream", false), ("iteration", true), ("node", true)]),
        read("end", &[("stream", true), ("iteration", true), ("node", true)]),
    ]
}

pub(super) fn all() -> Vec<Scene> {
    let mut all = vec![one_copy(), states(), second(), prefetched(), prefetched_now()];
    for (produced, read, wrong) in PLACES {
        all.push(made("a computed tile", "t = exp x", produced, read, wrong));
        all.push(made("a loaded tile", "load X t 0", produced, read, wrong));
    }
    all.extend(read_twice());
    all
}

//! IT01 and IT02: documents that hold exactly what the target allows, and one byte more. Tiles of 4, 8 and 16 elements have 16, 32 and 64 bytes.

use super::{Scene, one_copy, scene};

/// A tile `t` beside another one, `w`: the bytes of the node at which most is held. `M` stands for a memory, and `O` for the other one.
fn held() -> Vec<(&'static str, i64, &'static str)> {
    vec![
        (
            "node, behind a node",
            64,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 node; region r
             load X w 0; store w Y 0; load V t 0; store t U 0",
        ),
        (
            "node, made of another one",
            128,
            "in X 16; out U 16; M w 16 node; M t 16 node; region r; load X w 0; t = neg w; store t U 0",
        ),
        (
            "node, read last by a store",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 node; region r
             load V t 0; load X w 0; store t U 0; store w Y 0",
        ),
        (
            "node, read last by a node that computes",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 node; O u 16 node; region r
             load V t 0; load X w 0; u = neg t; store u U 0; store w Y 0",
        ),
        (
            "node, read twice",
            96,
            "in X 8; in V 16; out Y 8; out U 16; out W 16; M w 8 node; M t 16 node; region r
             load V t 0; store t U 0; load X w 0; store t W 0; store w Y 0",
        ),
        (
            "node, read three times, with others between",
            96,
            "in X 8; in V 16; in K 4; out Y 8; out U 16; out W 16; out T 16; out L 4; M w 8 node; M z 4 node; M t 16 node; region r
             load V t 0; store t U 0; load K z 0; store z L 0; store t W 0; load X w 0; store t T 0; store w Y 0",
        ),
        (
            "node, in each and in end",
            64,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 node; region r; each
             load X w 0; store w Y 0; end; load V t 0; store t U 0",
        ),
        // A tile for the stream: from its producer in begin, or the first node of each, to the last one before end.
        (
            "stream, loaded behind a node in begin",
            64,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 stream; region r
             load X w 0; store w Y 0; load V t 0; each; store t U 0",
        ),
        (
            "stream, computed of a node in begin",
            128,
            "in X 16; out U 16; M w 16 node; M t 16 stream; region r; load X w 0; t = neg w; each; store t U 0",
        ),
        (
            "stream, read in begin, beside a node at the end of each",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 stream; region r
             load V t 0; store t U 0; each; load X w 0; store w Y 0",
        ),
        (
            "stream, made in each behind a node",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 stream; region r; each
             load X w 0; store w Y 0; load V t 0; store t U 0",
        ),
        (
            "stream, made in each, behind a node in begin",
            64,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 stream; region r
             load X w 0; store w Y 0; each; load V t 0; store t U 0",
        ),
        (
            "stream, before a node in end",
            64,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 stream; region r
             load V t 0; each; store t U 0; end; load X w 0; store w Y 0",
        ),
        (
            "stream, without a node in each",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 stream; region r
             load V t 0; store t U 0; load X w 0; store w Y 0",
        ),
        // A tile for the iteration: the same.
        (
            "iteration, before a node in each",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 iteration; region r; each
             load V t 0; store t U 0; load X w 0; store w Y 0",
        ),
        (
            "iteration, behind a node in each",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 iteration; region r; each
             load X w 0; store w Y 0; load V t 0; store t U 0",
        ),
        (
            "iteration, behind a node in begin",
            64,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 iteration; region r
             load X w 0; store w Y 0; each; load V t 0; store t U 0",
        ),
        (
            "iteration, before a node in end",
            64,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16 iteration; region r; each
             load V t 0; store t U 0; end; load X w 0; store w Y 0",
        ),
        (
            "iteration, prefetched behind a node in begin",
            128,
            "in X 24; in V 64; out Y 24; out U 64; M w 24 node; M t 16 *2 iteration; region r; stream j 16 to 64
             load X w 0; store w Y 0; fetch 0 V t j; each; fetch 1 V t j; wait t 0; store t U j",
        ),
        (
            "iteration, prefetched before a node in begin",
            160,
            "in X 8; in V 64; out Y 8; out U 64; M w 8 node; M t 16 *2 iteration; region r; stream j 16 to 64
             fetch 0 V t j; load X w 0; store w Y 0; each; fetch 1 V t j; wait t 0; store t U j",
        ),
        (
            "stream, prefetched before a node in begin",
            160,
            "in X 8; in V 64; out Y 8; out U 64; M w 8 node; M t 16 *2 stream; region r; stream j 16 to 64
             fetch 0 V t j; load X w 0; store w Y 0; each; fetch 1 V t j; wait t 0; store t U j",
        ),
        // A tile for the block, and states.
        (
            "block, before and behind nodes",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16; region r; load V t 0; store t U 0; end; load X w 0; store w Y 0",
        ),
        (
            "block, made in end",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16; region r; load X w 0; store w Y 0; end; load V t 0; store t U 0",
        ),
        (
            "a state, beside a node in begin",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16; O v 16; region r; state t 0; load X w 0; store w Y 0
             each; load V v 0; t := add t v; end; store t U 0",
        ),
        (
            "a state that is read in each alone, beside a node in end",
            96,
            "in X 8; in V 16; out Y 8; out U 16; M w 8 node; M t 16; O v 16; region r; state t 0
             each; load V v 0; t := add t v; store t U 0; end; load X w 0; store w Y 0",
        ),
        // Sizes.
        (
            "a tile of F16 and one of BF16",
            48,
            "in X:F16 8; in V:BF16 16; out Y:F16 8; out U:BF16 16; M w:F16 8; M t:BF16 16; region r; load X w 0; load V t 0; store w Y 0; store t U 0",
        ),
        (
            "a tile of three axes that is cut",
            240,
            "in X 1 2 3; out Y 1 2 3; M t 3 4 5; region r; load X t 0 0 0; store t Y 0 0 0",
        ),
        (
            "a tile without axes",
            4,
            "in X; out Y; M t; region r; load X t; store t Y",
        ),
    ]
}

/// A tile that nobody reads takes memory where it is produced. Beside it stands what the document is without that node.
fn unread() -> Vec<(&'static str, i64, i64, &'static str, &'static str)> {
    vec![
        (
            "node, read nowhere",
            64,
            32,
            "in X 8; out Y 8; M w 8 node; region r; load X w 0; store w Y 0",
            "region r; -> M t 16 node; region r; load X t 0;",
        ),
        (
            "node, made of a tile and read nowhere, in the last place of each",
            128,
            64,
            "in X 16; out Y 16; M w 16 iteration; region r; each; load X w 0; store w Y 0; end",
            "region r; -> M t 16 node; region r; | end -> t = neg w; end",
        ),
        (
            "stream, at the last node of each, where a tile is read nowhere",
            128,
            64,
            "in X 16; out Y 16; M w 16 stream; region r; load X w 0; store w Y 0; each; end",
            "region r; -> M t 16 node; region r; | end -> load X t 0; end",
        ),
        (
            "iteration, at the first node of each, where a tile is read nowhere",
            128,
            64,
            "in X 16; out Y 16; M w 16 iteration; region r; each; load X w 0; store w Y 0",
            "region r; -> M t 16 node; region r; | each; -> each; load X t 0;",
        ),
        (
            "iteration, prefetched where a tile is read nowhere in front of it",
            128,
            128,
            "in X 48; out Y 48; M w 16 *2 iteration; region r; stream j 16 to 48; fetch 0 X w j; each; fetch 1 X w j; wait w 0; store w Y j",
            "region r; -> M t 16 node; region r; | fetch 0 -> load X t 0; fetch 0",
        ),
        (
            "iteration, prefetched where a tile is read nowhere behind it",
            192,
            128,
            "in X 48; out Y 48; M w 16 *2 iteration; region r; stream j 16 to 48; fetch 0 X w j; each; fetch 1 X w j; wait w 0; store w Y j",
            "region r; -> M t 16 node; region r; | X w j; each -> X w j; load X t 0; each",
        ),
    ]
}

const MEMORIES: [(&str, &str, &str); 2] = [("shared", "register", "IT01"), ("register", "shared", "IT02")];

fn both(text: &str, memory: &str, other: &str) -> String {
    text.replace("M ", &format!("{memory} ")).replace("O ", &format!("{other} "))
}

/// Slots: of a tile that is prefetched so far ahead.
fn slots(memory: &str, rule: &'static str, ahead: i64) -> Scene {
    let begun: String = (0..ahead).map(|version| format!("fetch {version} X x j; ")).collect();
    let bytes = 16 * (ahead + 1);
    let text = format!(
        "in X 16; out Y 16; {memory} x 4 *{} iteration; target {memory} {bytes}; region r; stream j 4 to 16
         {begun}each; fetch {ahead} X x j; wait x 0; store x Y j",
        ahead + 1
    );
    let edit = format!("target {memory} {bytes} -> target {memory} {}", bytes - 1);
    scene(format!("{} slots, {memory}", ahead + 1), &["MCI-02"], text).rejects(
        "a byte too much",
        rule,
        "#0",
        &edit,
    )
}

/// Three regions that hold 16, 32 and 64 bytes in some order, so that one alone is too large.
fn regions(memory: &str, rule: &'static str, largest: usize) -> Scene {
    let (mut values, mut nodes) = (String::new(), String::new());
    for n in 0..3 {
        let extent = if n == largest { 16 } else { 4 + 4 * n };
        values += &format!("in X{n} {extent}; out Y{n} {extent}; {memory} x{n} {extent}\n");
        nodes += &format!("region r{n}; load X{n} x{n} 0; store x{n} Y{n} 0\n");
    }
    let text = format!("{values}target {memory} 64\n{nodes}");
    let edit = format!("target {memory} 64 -> target {memory} 63");
    scene(format!("three regions of which region {largest} holds most, {memory}"), &["MCI-11"], text).rejects(
        "a byte too much",
        rule,
        &format!("#{largest}"),
        &edit,
    )
}

/// Tiles of 4 MiB: so many, of 64 slots each, that 32 bits do not hold their bytes.
fn huge(memory: &str, rule: &'static str, tiles: usize) -> Scene {
    let (mut values, mut nodes) = (String::new(), String::new());
    for n in 0..tiles {
        values += &format!("in X{n} 1048576; out Y{n} 1048576; {memory} x{n} 1048576 *1\n");
        nodes += &format!("load X{n} x{n} 0; store x{n} Y{n} 0\n");
    }
    let text = format!("{values}target {memory} 2147483647\nregion r\n{nodes}");
    scene(format!("{tiles} tiles of 4 MiB, {memory}"), &["IS01", "MCI-02"], text).rejects(
        "of 64 slots",
        rule,
        "#0",
        "*1\n -> *64\n",
    )
}

pub(super) fn all() -> Vec<Scene> {
    let mut all = vec![one_copy()];
    for (memory, other, rule) in MEMORIES {
        for (name, bytes, text) in held() {
            let text = format!("target {memory} {bytes}; {}", both(text, memory, other));
            let edit = format!("target {memory} {bytes} -> target {memory} {}", bytes - 1);
            all.push(scene(format!("{memory}, {name}"), &["MCI-11"], text).rejects(
                "a byte too much",
                rule,
                "#0",
                &edit,
            ));
        }
        for (name, bytes, without, text, edit) in unread() {
            let edit = both(edit, memory, other);
            let target =
                |bytes: i64| format!("target {memory} {without} -> target {memory} {bytes} | {edit}");
            let text = format!("target {memory} {without}; {}", both(text, memory, other));
            let name = format!("{memory}, {name}");
            all.push(
                scene(format!("{name}, without that"), &["MCI-11"], text)
                    .accepts("and with it", &["IW01"], &target(bytes))
                    .rejects("and with it, a byte too much", rule, "#0", &target(bytes - 1)),
            );
        }
        for ahead in [1, 3, 9, 33, 63] {
            all.push(slots(memory, rule, ahead));
        }
        all.extend((0..3).map(|largest| regions(memory, rule, largest)));
        all.push(huge(memory, rule, 8));
        all.push(huge(memory, rule, 16));
    }
    all
}

//! IO01 to IO05: pipelines of each depth, and which waits and reads count.

use super::{Scene, one_copy, scene};

/// A sum over a stream that prefetches `x`, with nodes of `begin` and of `each`.
fn pipe(slots: i64, begin: &str, each: &str) -> String {
    format!(
        "in X 256; out Y 4; shared x 4 *{slots} iteration; register s 4; region r; stream j 4 to 256; state s 0
         {begin}; each; {each}; end; store s Y 0"
    )
}

/// `fetch` of the versions below a number.
fn begun(versions: i64) -> String {
    (0..versions).map(|version| format!("fetch {version} X x j")).collect::<Vec<_>>().join("; ")
}

fn waited(versions: impl Iterator<Item = i64>) -> String {
    versions.fold("wait".to_owned(), |wait, version| format!("{wait} x {version}"))
}

/// Waits so many iterations ahead, with all that stands in `begin` for them.
fn ahead(depth: i64) -> Scene {
    let all = waited(0..depth);
    let text = pipe(
        depth + 1,
        &format!("{}; {all}", begun(depth)),
        &format!("fetch {depth} X x j; wait x {depth}; s := add s x"),
    );
    let mut of = scene(format!("a wait {depth} ahead"), &["IO01", "IO04", "IO05"], text)
        .rejects(
            "before the prefetch",
            "IO05",
            "each/0/wait/0",
            &format!("fetch {depth} X x j; wait x {depth} -> wait x {depth}; fetch {depth} X x j"),
        )
        .rejects("and none before", "IO04", "each/0", &format!("; {all}; each -> ; each"));
    let mut seen = Vec::new();
    for version in [0, 1, 2, depth / 2, depth - 1] {
        if version >= depth || seen.contains(&version) || depth == 1 {
            continue;
        }
        seen.push(version);
        let fewer = waited((0..depth).filter(|other| *other != version));
        of = of.rejects(&format!("but none for {version}"), "IO04", "each/0", &format!("{all}; -> {fewer};"));
    }
    of
}

/// A prologue so long, whose waits stand behind each prefetch or before it.
fn prologue(depth: i64) -> Scene {
    let text = pipe(
        depth + 1,
        &format!("{}; {}", begun(depth), waited(0..depth)),
        &format!("fetch {depth} X x j; wait x {depth}; s := add s x"),
    );
    let mut of = scene(format!("a prologue of {depth} that waits for all"), &["IO05"], text);
    for version in 0..depth {
        let fetch = format!("fetch {version} X x j");
        let at = format!("begin/{version}/wait/0");
        let wait = format!("wait x {version}");
        let fewer = waited((0..depth).filter(|other| *other != version));
        let rest = if depth == 1 { String::new() } else { format!("{fewer}; ") };
        let edit = format!("{fetch}; -> {wait}; {fetch}; | {}; each -> {rest}each", waited(0..depth));
        of = of.rejects(&format!("for {version} too early"), "IO05", &at, &edit);
    }
    of
}

/// So many slots as tiles ahead, filled behind the last use.
fn tight(depth: i64) -> Scene {
    let text = pipe(depth, &begun(depth), &format!("wait x 0; s := add s x; fetch {depth} X x j"));
    scene(format!("as many slots as tiles ahead, {depth}"), &["IO02"], text)
        .rejects(
            "filled before the read",
            "IO02",
            "each/1",
            &format!("s := add s x; fetch {depth} X x j -> fetch {depth} X x j; s := add s x"),
        )
        .rejects(
            "filled before the wait",
            "IO02",
            "each/0",
            &format!(
                "wait x 0; s := add s x; fetch {depth} X x j -> fetch {depth} X x j; wait x 0; s := add s x"
            ),
        )
}

/// A tile that is asked for in the iteration that reads it.
fn now() -> Scene {
    let text = pipe(1, "", "fetch 0 X x j; wait x 0; s := add s x");
    scene("a tile asked for and waited for in one iteration", &["IO05"], text)
        .rejects(
            "the other way round",
            "IO05",
            "each/0/wait/0",
            "fetch 0 X x j; wait x 0 -> wait x 0; fetch 0 X x j",
        )
        .rejects("of the next one", "IO05", "each/1/wait/0", "wait x 0 -> wait x 1")
        .rejects("without a wait", "IO04", "each/0", "wait x 0; -> ; ")
}

/// Nodes that read the tile `x`, in each operand: name, values, nodes, what is stored at the end, and the operand.
const READERS: &[(&str, &str, &str, &str, usize)] = &[
    ("a function of one", "register y 4 node; out Z 256", "y = exp x; store y Z j", "", 0),
    (
        "a function of two that has it first",
        "register y 4 node; out Z 256",
        "y = add x w; store y Z j",
        "",
        0,
    ),
    (
        "a function of two that has it second",
        "register y 4 node; out Z 256",
        "y = sub w x; store y Z j",
        "",
        1,
    ),
    ("a reduction", "register y node; register t; out Z", "y = sum.0 x; t := add t y", "store t Z", 0),
    ("an update", "register t 4; out Z 4", "t := max t x", "store t Z 0", 1),
    (
        "an update that has it second of three",
        "register t 4; out Z 4",
        "t := scale_add t x w",
        "store t Z 0",
        1,
    ),
    ("an update that has it third", "register t 4; out Z 4", "t := scale_add t w x", "store t Z 0", 2),
    ("a store", "out Z 256", "store x Z j", "", 0),
];

/// Each reader as the first one and as the last one.
fn readers() -> Vec<Scene> {
    let mut all = Vec::new();
    for (name, values, nodes, end, operand) in READERS {
        let state = if end.is_empty() { "" } else { "state t 1;" };
        let (w, load) = if nodes.contains('w') { ("in W 4; shared w 4;", "load W w 0;") } else { ("", "") };
        let text = format!(
            "in X 256; {w} out Y 4; {values}; shared x 4 iteration; register s 4; region r; stream j 4 to 256; state s 0; {state}
             {load} fetch 0 X x j; each; wait x 0; s := add s x; {nodes}; fetch 1 X x j; end; store s Y 0; {end}"
        );
        let (reader, rest) = nodes.split_at(nodes.find(';').unwrap_or(nodes.len()));
        let early = format!("wait x 0; s := add s x; {nodes} -> {reader}; wait x 0; s := add s x{rest}");
        let late = format!("{nodes}; fetch 1 X x j -> fetch 1 X x j; {nodes}");
        all.push(
            scene(format!("one slot, filled behind {name}"), &["IO01", "IO02"], text)
                .rejects("filled before it", "IO02", "each/2", &late)
                .rejects("read before the wait", "IO01", &format!("each/0/in/{operand}"), &early),
        );
    }
    all
}

/// Many tiles in one region, each with its pipeline, under names that are alike: of two slots, or of one that is filled behind the read.
fn many(what: &str, names: &[String], is_tight: bool, edited: &[usize]) -> Scene {
    let (mut values, mut begin, mut each, mut end) =
        (String::new(), String::new(), String::new(), String::new());
    let slots = if is_tight { "*1" } else { "*2" };
    let nodes = |n: usize| {
        let name = &names[n];
        let [fetch, wait, read] =
            [format!("fetch 1 X{n} {name} j"), format!("wait {name} 0"), format!("s{n} := add s{n} {name}")];
        if is_tight { [wait, read, fetch] } else { [fetch, wait, read] }
    };
    for (n, name) in names.iter().enumerate() {
        values += &format!("in X{n} 16; out Y{n} 4; shared {name} 4 {slots} iteration; register s{n} 4\n");
        begin += &format!("fetch 0 X{n} {name} j\n");
        each += &format!("{}\n", nodes(n).join("; "));
        end += &format!("store s{n} Y{n} 0\n");
    }
    let states: String = (0..names.len()).map(|n| format!("state s{n} 0\n")).collect();
    let text = format!("{values}region r; stream j 4 to 16\n{states}{begin}each\n{each}end\n{end}");
    let mut of = scene(format!("{} tiles {what}", names.len()), &["IO01", "IO02", "IO04"], text);
    for &n in edited {
        let all = nodes(n);
        let [a, b, c] = &all;
        let all = all.join("; ");
        let place = |of: usize, more: &str| format!("each/{}{more}", 3 * n + of);
        if is_tight {
            of = of
                .rejects(
                    &format!("but {n} is filled before the read"),
                    "IO02",
                    &place(1, ""),
                    &format!("{all}\n -> {a}; {c}; {b}\n"),
                )
                .rejects(
                    &format!("but nobody waits for {n}"),
                    "IO04",
                    &place(1, ""),
                    &format!("{all}\n -> {b}; {c}\n"),
                );
            continue;
        }
        let prologue = format!("fetch 0 X{n} {} j\n -> ; ", names[n]);
        let slot = format!("shared {} 4 *2 -> shared {} 4", names[n], names[n]);
        of = of
            .rejects(
                &format!("but nobody waits for {n}"),
                "IO04",
                &place(0, ""),
                &format!("{all}\n -> {a}; {c}\n"),
            )
            .rejects(
                &format!("but {n} is read before the wait"),
                "IO01",
                &place(1, "/in/1"),
                &format!("{all}\n -> {a}; {c}; {b}\n"),
            )
            .rejects(&format!("but {n} has one slot"), "IO02", &place(0, ""), &slot)
            .rejects(&format!("but {n} has no prologue"), "IO03", &place(0, ""), &prologue);
    }
    of
}

/// Waits of both kinds, in some order, with a read or without.
fn mixed() -> Vec<Scene> {
    let read = |begin: &str, each: &str, slots: i64| pipe(slots, begin, each);
    let unread = |begin: &str, each: &str| {
        format!("in X 256; shared x 4 iteration; region r; stream j 4 to 256; {begin}; each; {each}")
    };
    vec![
        scene(
            "waits one and two ahead, the further one first",
            &["IO01"],
            read("fetch 0 X x j; fetch 1 X x j; wait x 0", "fetch 2 X x j; wait x 2 x 1; s := add s x", 3),
        )
        .rejects("and the nearer one is left out", "IO04", "each/0", "wait x 2 x 1 -> wait x 2"),
        scene(
            "waits three, two and one ahead, in two barriers",
            &["IO01"],
            read(
                "fetch 0 X x j; fetch 1 X x j; fetch 2 X x j; wait x 0",
                "fetch 3 X x j; wait x 3 x 2; s := add s x; wait x 1",
                4,
            ),
        )
        .rejects("and the nearest one is left out", "IO04", "each/0", "; wait x 1; end -> ; end"),
        scene(
            "waits two ahead behind the read",
            &["IO01"],
            read("fetch 0 X x j; fetch 1 X x j; wait x 1 x 0", "fetch 2 X x j; s := add s x; wait x 2", 3),
        )
        .rejects(
            "and none in begin for the second one",
            "IO04",
            "each/0",
            "wait x 1 x 0 -> wait x 0",
        ),
        scene(
            "a wait for now behind one for later that does not suffice",
            &["IO01"],
            read("fetch 0 X x j; fetch 1 X x j", "fetch 2 X x j; wait x 2 x 0; s := add s x", 3),
        )
        .rejects(
            "and behind the read",
            "IO01",
            "each/1/in/1",
            "wait x 2 x 0; s := add s x -> s := add s x; wait x 2 x 0",
        ),
        scene(
            "nobody reads, and a wait ahead and one for now",
            &["IO02"],
            unread("fetch 0 X x j; wait x 0", "fetch 1 X x j; wait x 1; wait x 0"),
        )
        .warned(&["IW01"]),
        scene(
            "nobody reads, and a wait for now and one ahead",
            &["IO02"],
            unread("fetch 0 X x j; wait x 0", "fetch 1 X x j; wait x 0 x 1"),
        )
        .warned(&["IW01"]),
    ]
}

pub(super) fn all() -> Vec<Scene> {
    let mut all = vec![one_copy(), now()];
    all.extend([1, 2, 3, 4, 7, 33, 63].map(ahead));
    all.extend([1, 2, 3, 5].map(prologue));
    all.extend([1, 2, 3, 8, 62].map(tight));
    all.extend(readers());
    let names = |of: &dyn Fn(usize) -> String, number: usize| (0..number).map(of).collect::<Vec<_>>();
    let long = "tile".repeat(20);
    all.push(many("of short names", &names(&|n| format!("x{n}"), 17), false, &[2, 4, 8, 16]));
    for (way, is_tight) in [("", false), (", of one slot", true)] {
        let of = [
            ("whose names end differently", names(&|n| format!("{long}{n}"), 3)),
            ("whose names begin differently", names(&|n| format!("{}{long}", ["a", "b", "c"][n]), 3)),
            ("of which each name begins the next", names(&|n| "x".repeat(n + 1), 3)),
        ];
        for (what, names) in of {
            all.push(many(&format!("{what}{way}"), &names, is_tight, &[0, 1, 2]));
        }
    }
    all.extend(mixed());
    all
}

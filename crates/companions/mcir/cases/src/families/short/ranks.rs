//! IS09: how many axes a function needs, and the extents of what it makes.

use super::{Scene, scene};

/// A result that also has the third axis.
const THREE: &str =
    "register y 8 8 -> register y 8 8 8 | out Y 8 8 -> out Y 8 8 8 | store y Y 0 0 -> store y Y 0 0 0";
const ONE: &str = "register y 8 8 -> register y 8 | out Y 8 8 -> out Y 8 | store y Y 0 0 -> store y Y 0";
const A: [&str; 2] = ["shared a 8 8 -> shared a 8", "shared a 8 8 -> shared a 8 8 8"];
const B: [&str; 2] = ["shared b 8 8 -> shared b 8", "shared b 8 8 -> shared b 8 8 8"];

fn both(one: &str, other: &str) -> String {
    format!("{one} | {other}")
}

/// Functions of tiles of 8 in each axis, that lack one or have one too many.
fn ranks() -> Vec<Scene> {
    let mut all = Vec::new();
    let of_two = ["matmul_nn", "matmul_nt", "add", "sub", "mul", "div", "max"];
    for function in of_two {
        let text = format!(
            "in A 8 8 8; in B 8 8 8; out Y 8 8; shared a 8 8; shared b 8 8; register y 8 8; region r
             load A a 0 0 0; load B b 0 0 0; y = {function} a b; end; store y Y 0 0"
        );
        let mut of = scene(format!("tiles of two axes, {function}"), &["MCI-06"], text);
        let wrong = [
            ("first of one axis", A[0].to_owned()),
            ("first of three axes", A[1].to_owned()),
            ("second of one axis", B[0].to_owned()),
            ("second of three axes", B[1].to_owned()),
            ("first and result of three axes", both(A[1], THREE)),
            ("second and result of three axes", both(B[1], THREE)),
            ("first and result of one axis", both(A[0], ONE)),
            ("second and result of one axis", both(B[0], ONE)),
        ];
        for (name, edit) in wrong {
            of = of.rejects(name, "IS09", "begin/2", &edit);
        }
        let is_product = function.starts_with("matmul");
        for (name, edit) in [
            ("all of three axes", both(A[1], &both(B[1], THREE))),
            ("all of one axis", both(A[0], &both(B[0], ONE))),
        ] {
            of = if is_product {
                of.rejects(name, "IS09", "begin/2", &edit)
            } else {
                of.accepts(name, &[], &edit)
            };
        }
        all.push(of);
        if is_product {
            continue;
        }
        for along in ["rows", "columns"] {
            let text = format!(
                "in A 8 8 8; in B 8 8; out Y 8 8; shared a 8 8; shared b 8; register y 8 8; region r
                 load A a 0 0 0; load B b 0 0; y = {function}.{along} a b; end; store y Y 0 0"
            );
            all.push(
                scene(format!("one for each of the {along}, {function}"), &["MCI-06"], text)
                    .rejects("of one axis", "IS09", "begin/2", &both(A[0], ONE))
                    .rejects("of three axes", "IS09", "begin/2", &both(A[1], THREE))
                    .rejects("second of two axes", "IS09", "begin/2", "shared b 8 -> shared b 8 8")
                    .rejects("second of no axis", "IS09", "begin/2", "shared b 8 -> shared b"),
            );
        }
    }
    for function in ["transpose", "mask", "copy", "exp"] {
        let more = if function == "mask" { "0 0" } else { "" };
        let text = format!(
            "in A 8 8 8; out Y 8 8; shared a 8 8; register y 8 8; region r
             load A a 0 0 0; y = {function} a {more}; end; store y Y 0 0"
        );
        let mut of = scene(format!("a tile of two axes, {function}"), &["MCI-06"], text)
            .rejects("result of one axis", "IS09", "begin/1", ONE)
            .rejects("result of three axes", "IS09", "begin/1", THREE);
        for (name, edit) in [("of one axis", both(A[0], ONE)), ("of three axes", both(A[1], THREE))] {
            of = if ["transpose", "mask"].contains(&function) {
                of.rejects(name, "IS09", "begin/1", &edit)
            } else {
                of.accepts(name, &[], &edit)
            };
        }
        all.push(of);
    }
    let text =
        "in X 8 8 8; in R 8 8; out Y 8 8; shared x 8 8; shared r 8; register s 8 8; region r; state s 0
                load X x 0 0 0; load R r 0 0; each; s := scale_add s r x; end; store s Y 0 0";
    all.push(
        scene("a state of two axes, scale_add", &["MCI-06"], text)
            .rejects("a factor for each element", "IS09", "each/0", "shared r 8 -> shared r 8 8")
            .rejects("one factor", "IS09", "each/0", "shared r 8 -> shared r")
            .rejects("tile of one axis", "IS09", "each/0", "shared x 8 8 -> shared x 8")
            .rejects("tile of three axes", "IS09", "each/0", "shared x 8 8 -> shared x 8 8 8")
            .rejects(
                "all of three axes",
                "IS09",
                "each/0",
                "shared x 8 8 -> shared x 8 8 8 | register s 8 8 -> register s 8 8 8 | out Y 8 8 -> out Y 8 8 8 | store s Y 0 0 -> store s Y 0 0 0",
            )
            .rejects(
                "all of three axes, and a factor for each of two",
                "IS09",
                "each/0",
                "shared x 8 8 -> shared x 8 8 8 | shared r 8 -> shared r 8 8 | register s 8 8 -> register s 8 8 8 | out Y 8 8 -> out Y 8 8 8 | store s Y 0 0 -> store s Y 0 0 0",
            ),
    );
    let text = "in X 8 8 8; out M 8; out L 8; out P 8 8; out R 8; shared x 8 8; register m 8; register l 8; register p 8 8; register r 8
                region r; state m -inf; state l 0; load X x 0 0 0; each; m l p r := online_softmax x m l
                store p P 0 0; store r R 0; end; store m M 0; store l L 0";
    let three = "shared x 8 8 -> shared x 8 8 8 | register p 8 8 -> register p 8 8 8 | out P 8 8 -> out P 8 8 8 | store p P 0 0 -> store p P 0 0 0";
    let one = "shared x 8 8 -> shared x 8 | register p 8 8 -> register p 8 | out P 8 8 -> out P 8 | store p P 0 0 -> store p P 0";
    let two = |name: &str| {
        let tensor = name.to_uppercase();
        format!(
            "register {name} 8 -> register {name} 8 8 | out {tensor} 8 -> out {tensor} 8 8 | store {name} {tensor} 0 -> store {name} {tensor} 0 0"
        )
    };
    let mut softmax = scene("scores of two axes, online_softmax", &["MCI-06"], text)
        .rejects("of one axis", "IS09", "each/0", one)
        .rejects("of three axes", "IS09", "each/0", three);
    for name in ["m", "l", "r"] {
        softmax = softmax.rejects(&format!("{name} of two axes"), "IS09", "each/0", &two(name));
    }
    all.push(softmax);
    all
}

/// What makes a tile `y`: name, where, its extents, and the document up to there.
const MADE: &[(&str, &str, &[i64], &str)] = &[
    ("copy", "begin/1", &[4, 6, 5], "in X 4 6 5; shared x 4 6 5; region r; load X x 0 0 0; y = copy x"),
    ("exp", "begin/1", &[4, 6], "in X 4 6; shared x 4 6; region r; load X x 0 0; y = exp x"),
    ("scale", "begin/1", &[4, 6], "in X 4 6; shared x 4 6; region r; load X x 0 0; y = scale.1/2 x"),
    ("transpose", "begin/1", &[4, 6], "in X 6 4; shared x 6 4; region r; load X x 0 0; y = transpose x"),
    ("mask", "begin/1", &[4, 6], "in X 4 6; shared x 4 6; region r; load X x 0 0; y = mask x 0 0"),
    ("reduce axis 0", "begin/1", &[4, 6], "in X 5 4 6; shared x 5 4 6; region r; load X x 0 0 0; y = sum.0 x"),
    ("reduce axis 1", "begin/1", &[4, 6], "in X 4 5 6; shared x 4 5 6; region r; load X x 0 0 0; y = max.1 x"),
    ("reduce axis 2", "begin/1", &[4, 6], "in X 4 6 5; shared x 4 6 5; region r; load X x 0 0 0; y = sum.2 x"),
    (
        "matmul_nn",
        "begin/2",
        &[4, 6],
        "in X 4 5; in W 5 6; shared x 4 5; shared w 5 6; region r; load X x 0 0; load W w 0 0; y = matmul_nn x w",
    ),
    (
        "matmul_nt",
        "begin/2",
        &[4, 6],
        "in X 4 5; in W 6 5; shared x 4 5; shared w 6 5; region r; load X x 0 0; load W w 0 0; y = matmul_nt x w",
    ),
    ("add", "begin/1", &[4, 6], "in X 4 6; shared x 4 6; region r; load X x 0 0; y = add x x"),
    (
        "add to rows",
        "begin/2",
        &[4, 6],
        "in X 4 6; in W 4; shared x 4 6; shared w 4; region r; load X x 0 0; load W w 0; y = add.rows x w",
    ),
    (
        "add to columns",
        "begin/2",
        &[4, 6],
        "in X 4 6; in W 6; shared x 4 6; shared w 6; region r; load X x 0 0; load W w 0; y = add.columns x w",
    ),
    ("update by add", "each/1", &[4, 6, 5], "in X 4 6 5; shared x 4 6 5; region r; state y 0; each; load X x 0 0 0; y := add y x"),
    ("update by max", "each/1", &[4, 6], "in X 4 6; shared x 4 6; region r; state y 0; each; load X x 0 0; y := max y x"),
    (
        "update by scale_add",
        "each/2",
        &[4, 6],
        "in X 4 6; in W 4; shared x 4 6; shared w 4; region r; state y 0; each; load X x 0 0; load W w 0; y := scale_add y w x",
    ),
    (
        "update of one axis by scale_add",
        "each/1",
        &[4],
        "in X 4; shared x 4; region r; state y 0; each; load X x 0; y := scale_add y x x",
    ),
    (
        "largest scores",
        "each/1",
        &[4],
        "in X 4 6; out L 4; out P 4 6; out R 4; shared x 4 6; register l 4; register p 4 6; register r 4; region r; state y -inf; state l 0
         each; load X x 0 0; y l p r := online_softmax x y l; store l L 0; store p P 0 0; store r R 0",
    ),
    (
        "sums of weights",
        "each/1",
        &[4],
        "in X 4 6; out M 4; out P 4 6; out R 4; shared x 4 6; register m 4; register p 4 6; register r 4; region r; state m -inf; state y 0
         each; load X x 0 0; m y p r := online_softmax x m y; store m M 0; store p P 0 0; store r R 0",
    ),
    (
        "weights",
        "each/1",
        &[4, 6],
        "in X 4 6; out M 4; out L 4; out R 4; shared x 4 6; register m 4; register l 4; register r 4; region r; state m -inf; state l 0
         each; load X x 0 0; m l y r := online_softmax x m l; store m M 0; store l L 0; store r R 0",
    ),
    (
        "factors of rows",
        "each/1",
        &[4],
        "in X 4 6; out M 4; out L 4; out P 4 6; shared x 4 6; register m 4; register l 4; register p 4 6; region r; state m -inf; state l 0
         each; load X x 0 0; m l p y := online_softmax x m l; store m M 0; store l L 0; store p P 0 0",
    ),
];

/// A result whose extent is one more or one less along each axis, over which it is then summed, so that nothing else is wrong.
fn results() -> Vec<Scene> {
    let list = |extents: &[i64]| extents.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
    let mut all = Vec::new();
    for &(what, at, extents, text) in MADE {
        for axis in 0..extents.len() {
            let mut rest = extents.to_vec();
            rest.remove(axis);
            let zeros = vec!["0"; rest.len()].join(" ");
            let rest = list(&rest);
            let made = format!("register y {};", list(extents));
            let text = format!(
                "{made} register z {rest}; out Z {rest}; {text}; z = sum.{axis} y; store z Z {zeros}"
            );
            let mut of = scene(format!("a sum over axis {axis}, of {what}"), &["MCI-06"], text);
            for (name, change) in [("of one more", 1), ("of one less", -1)] {
                let mut wrong = extents.to_vec();
                wrong[axis] += change;
                of = of.rejects(name, "IS09", at, &format!("{made} -> register y {};", list(&wrong)));
            }
            all.push(of);
        }
    }
    all
}

pub(super) fn all() -> Vec<Scene> {
    let mut all = ranks();
    all.extend(results());
    all
}

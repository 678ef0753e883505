use super::*;

fn replaced(text: &str) -> String {
    replace(&text.replace("__shared__", MARK)).unwrap_or_else(|why| why)
}

#[test]
fn variables_become_references() {
    assert_eq!(
        replaced("void f() { __shared__ float x[2 * N][33]; x[0] = 1; }"),
        "void f() { typedef float amk_type_1 [2 * N][33]; struct amk_least_1 { char byte; }; static char amk_key_1; \
         amk_type_1& x = shim::variable<amk_type_1>(&amk_key_1, alignof(amk_least_1), \"x\"); x[0] = 1; }"
    );
    assert_eq!(
        replaced("void f() { extern __shared__ __attribute__((aligned(16))) unsigned char s[]; }"),
        "void f() { typedef unsigned char amk_type_1 []; amk_type_1& s = shim::dynamic<amk_type_1>(\"s\"); }"
    );
}

/// Type, name and extents of each variable of a declaration.
#[track_caller]
fn assert_declares(declaration: &str, expected: &[(&str, &str, &str)]) {
    let text = replaced(&format!("void f() {{ {declaration} }}"));
    let found: Vec<_> = text
        .split("typedef ")
        .skip(1)
        .map(|each| {
            let (declared, rest) = each.split_once(" amk_type_").unwrap_or_default();
            let (_, rest) = rest.split_once(' ').unwrap_or_default();
            let (extents, rest) = rest.split_once(';').unwrap_or_default();
            let name =
                rest.split_once("& ").and_then(|(_, rest)| rest.split_once(" =")).unwrap_or_default().0;
            (declared, name, extents)
        })
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn declarations_of_all_kinds_are_understood() {
    assert_declares("__shared__ int n;", &[("int", "n", "")]);
    assert_declares("static __shared__ volatile float x[4];", &[("volatile float", "x", "[4]")]);
    assert_declares(
        "__shared__ float a[4], b, c[2][3];",
        &[("float", "a", "[4]"), ("float", "b", ""), ("float", "c", "[2][3]")],
    );
    assert_declares(
        "__shared__ typename R<T, (N > 1), 4>::Room room;",
        &[("typename R<T, (N > 1), 4>::Room", "room", "")],
    );
    assert_declares("__shared__ decltype(f(1, 2)) x[f(1, 2)];", &[("decltype(f(1, 2))", "x", "[f(1, 2)]")]);
    assert_declares("__shared__ const float* p;", &[("const float*", "p", "")]);
    assert_declares("alignas(T) __shared__ T x[1'000];", &[("T", "x", "[1'000]")]);
    assert_declares(
        "__shared__ struct { float a; alignas(8) int b[2]; } s[2];",
        &[("struct { float a; alignas(8) int b[2]; }", "s", "[2]")],
    );
    assert_declares(
        "__shared__ union U { struct { int a; } x; float y; } u;",
        &[("union U { struct { int a; } x; float y; }", "u", "")],
    );
    assert_declares("__shared__ struct S s;", &[("struct S", "s", "")]);
    assert_declares("[[maybe_unused]] __shared__ int x;", &[("int", "x", "")]);
    assert_declares("case A::B: __shared__ int x;", &[("int", "x", "")]);
    assert_declares("default: __shared__ A::B x;", &[("A::B", "x", "")]);
    let aligned = "struct __attribute__((aligned(16))) F { float x, y, z; }";
    assert_declares(&format!("__shared__ {aligned} s[4];"), &[(aligned, "s", "[4]")]);
    assert_declares("{ } __shared__ unsigned long long x; y;", &[("unsigned long long", "x", "")]);
    assert!(
        replaced("alignas(T) __shared__ __attribute__((aligned(8))) T x;")
            .contains("{ alignas(T) __attribute__((aligned(8))) char byte; }")
    );
}

#[test]
fn what_is_declared_outside_is_a_reference_in_each_function_that_names_it() {
    let declared = "typedef float amk_type_1 [8]; struct amk_least_1 { char byte; }; static char amk_key_1; ";
    let reference = "amk_type_1& x = shim::variable<amk_type_1>(&amk_key_1, alignof(amk_least_1), \"x\");";
    let with = |text: &str| {
        text.replace("@", declared).replace("<<", &format!("{{ {reference} {{")).replace(">>", "} }")
    };
    for (text, expected) in [
        ("__shared__ float x[8]; void f() { x[0] = 1; }", "@ void f() << x[0] = 1; >>"),
        (
            "namespace a { __shared__ float x[8]; struct S { int f(int n) const { return x[n]; } }; }",
            "namespace a { @ struct S { int f(int n) const << return x[n]; >> }; }",
        ),
        (
            "extern \"C\" { __shared__ float x[8]; auto f() -> A<int> { if (g()) { return A<int>(x); } } }",
            "extern \"C\" { @ auto f() -> A<int> << if (g()) { return A<int>(x); } >> }",
        ),
        // Names of other things.
        (
            "__shared__ float x[8]; void f(float* x) { *x = 1; } void g(S* s) { s->x = s[0].x + A::x; } int h() { return 1; }",
            "@ void f(float* x) { *x = 1; } void g(S* s) { s->x = s[0].x + A::x; } int h() { return 1; }",
        ),
        ("void f() { x(); } __shared__ float x[8];", "void f() { x(); } @"),
        (
            "__shared__ float x[8]; void f() { for (;1 > x[0];) ; } A a = {x}; void g() { auto l = [&] { return x; }; }",
            "@ void f() << for (;1 > x[0];) ; >> A a = {x}; void g() << auto l = [&] { return x; }; >>",
        ),
    ] {
        assert_eq!(replaced(text), with(expected).replace("; >>", "; } }"), "{text}");
    }
    assert_eq!(
        replaced("extern __shared__ int s[]; int f() { return s[0]; }"),
        "typedef int amk_type_1 [];  int f() { amk_type_1& s = shim::dynamic<amk_type_1>(\"s\"); { return s[0]; } }"
    );
}

#[test]
fn lambdas_have_references_of_their_own() {
    let reference = "amk_type_1& x = shim::variable<amk_type_1>(&amk_key_1, alignof(amk_least_1), \"x\");";
    let declared = format!(
        "typedef int amk_type_1 ; struct amk_least_1 {{ char byte; }}; static char amk_key_1; {reference}"
    );
    for (lambda, has_own) in [
        ("[=](int i) { return i + x; }", true),
        ("[] { return x; }", true),
        ("[=, &y]() mutable { x = y; }", true),
        ("[y]<typename T>(T t) -> int { if (t) { return x; } return y; }", true),
        ("[&] { return x; }", false),
        ("[=](int x) { return x; }", false),
        ("[=] { return y.x; }", false),
        ("y[x]", false),
        ("y[0]; { x = 1; }", false),
    ] {
        let (from, to) = (
            format!("void f() {{ __shared__ int x; auto l = {lambda}; }}"),
            format!("void f() {{ {declared} auto l = {lambda}; }}"),
        );
        let to = if has_own {
            let (before, body) = lambda.split_once('{').expect("a body");
            let (body, _) = body.rsplit_once('}').expect("its end");
            to.replace(lambda, &format!("{before}{{ {reference} {{{body}}} }}"))
        } else {
            to
        };
        assert_eq!(replaced(&from), to, "{lambda}");
    }
    let outside = replaced("__shared__ int x; void f() { auto l = [] { return x; }; }");
    assert_eq!(outside.matches(reference).count(), 2, "{outside}");
}

#[test]
fn what_is_not_understood_is_said() {
    for (declaration, why) in [
        ("__shared__ int n = 1;", "`__shared__ int n = 1;`: shared memory has no first value"),
        ("__shared__ int n{};", "shared memory has no first value"),
        ("__shared__ struct S n{};", "shared memory has no first value"),
        ("__shared__ float *a, *b;", "one pointer a declaration"),
        ("__shared__;", "no name"),
        ("__shared__ x;", "no name"),
        ("__shared__ int x", "the text ends"),
    ] {
        assert!(replaced(declaration).contains(why), "{declaration}: {}", replaced(declaration));
    }
}

#[test]
fn what_stands_around_stays_as_it_is() {
    for text in [
        "",
        "int x = 1'000'000; // é",
        "auto s = \"__shared__ int x; \\\" \"; char c = '\"'; auto r = R\"a(__shared__ \" int x; )a\"; auto t = u8\"é\";",
        "# 1 \"a __shared__ int b;\"\nint amk_of_the_blocks;\n",
        "'",
        "R\"(",
        "auto f = [=] { return x; };",
    ] {
        assert_eq!(replace(text), Ok(text.to_owned()));
    }
    let text = "{ int a;\n# 7 \"k.cu\"\n__shared__\n# 8 \"k.cu\" 3\nint\n# 8 \"k.cu\"\n n; int b; }";
    let (before, after) =
        ("{ int a;\n# 7 \"k.cu\"\ntypedef int amk_type_1 ;", "\"n\");\n# 8 \"k.cu\"\n int b; }");
    let found = replaced(text);
    assert!(found.starts_with(before) && found.ends_with(after), "{found}");
}

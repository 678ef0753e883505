//! Pages: reuse over time, pages on chip, and page sizes at the limit.

use super::Base;
use crate::builder::{Buf, Ctr, DType, Kind, Op, ProgramBuilder, Space, is_unary, laptop};
use megakernel_ir::rule::clause;

pub fn bases() -> Vec<Base> {
    let clauses = &[clause::PAG_01, clause::PAG_02][..];
    let mut bases = Vec::new();
    for (length, pages, space) in
        [(4, 2, Space::Hbm), (7, 2, Space::GlobalScratch), (9, 3, Space::GlobalScratch), (5, 4, Space::Hbm)]
    {
        let summary = format!("a chain of {length} SOFTMAX tasks whose buffers take turns on {pages} pages");
        let p = ping_pong(length, pages, space);
        bases.push(Base::new(format!("paged/turns-{length}-{pages}"), summary, clauses, p));
    }
    for readers in [1, 3, 5] {
        let summary = format!("a buffer takes a page over after the {readers} readers of the buffer before");
        bases.push(Base::new(
            format!("paged/after-{readers}-readers"),
            summary,
            clauses,
            after_readers(readers),
        ));
    }
    for &op in Op::IN_PLACE {
        let summary = format!("a {} task reads one buffer of a page and writes another", op.name());
        let name = format!("paged/in-place-{}", crate::builder::slug(op.name()));
        bases.push(Base::new(name, summary, &[clause::PAG_02, clause::EXE_10], in_place(op)));
    }
    let summary = "a program with a buffer of each kind, its two activations on pages, and spare pages";
    bases.push(Base::new("paged/every-kind", summary, clauses, every_kind()));
    for (name, space) in [("smem", Space::Smem), ("register", Space::Register)] {
        let summary =
            format!("two SMs with {} pages that fill the smaller SM's capacity exactly", space.name());
        bases.push(Base::new(format!("on-chip/{name}"), summary, &[clause::PAG_03], on_chip(space)));
    }
    let turned = [
        [Space::Smem, Space::Register, Space::Hbm],
        [Space::Register, Space::Hbm, Space::Smem],
        [Space::Hbm, Space::Smem, Space::Register],
    ];
    for spaces in turned {
        let summary = format!(
            "one SM that is filled with a page in each of three spaces, {} first, of which two are used twice",
            spaces[0].name()
        );
        let name = format!("on-chip/mixed-{}-first", crate::builder::slug(spaces[0].name()));
        bases.push(Base::new(name, summary, &[clause::PAG_02, clause::PAG_03], mixed(spaces)));
    }
    let summary = "a buffer is used, then another, then the first again, each on a page of its own";
    bases.push(Base::new("paged/twice", summary, clauses, twice()));
    let summary = "one half of a buffer on a page is written, and no part of it is read";
    bases.push(Base::new("paged/unread-half", summary, clauses, unread_half()));
    let summary = "on-chip buffers without pages, each used on one SM";
    bases.push(Base::new("on-chip/no-pages", summary, &[clause::PAG_03], no_pages()));
    let summary = "a GLOBAL_SCRATCH buffer that tasks on four SMs use";
    bases.push(Base::new(
        "on-chip/scratch-shared",
        summary,
        &[clause::DAT_02, clause::PAG_03],
        scratch_shared(),
    ));
    bases
}

/// `t0`.. in a chain; buffer `b{i}` is on page i modulo `pages`. Larger pages than needed by i bytes.
fn ping_pong(length: usize, pages: usize, space: Space) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("turns");
    let mut last = p.input("x", DType::F32, &[2, 6]);
    let ids: Vec<_> = (0..pages).map(|i| p.page(space, 48 + i as u64)).collect();
    let mut done: Vec<Ctr> = Vec::new();
    for index in 0..length {
        let y = if index + 1 == length {
            p.output("y", DType::F32, &[2, 6])
        } else {
            let buffer = p.act_in(space, &format!("b{index}"), DType::F32, &[2, 6]);
            p.place(buffer, ids[index % pages]);
            buffer
        };
        done = vec![p.op(Op::Softmax, &format!("t{index}"), &[last], y, &[], &done)];
        last = y;
    }
    p
}

/// `first` writes a, `reader0`.. read it, `second` writes b on the page of a, `last` reads it.
fn after_readers(readers: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("page-reuse");
    let x = p.input("x", DType::F32, &[3, 4]);
    let a = p.act("a", DType::F32, &[3, 4]);
    let b = p.act("b", DType::F16, &[2, 6]);
    let z = p.input("z", DType::F16, &[2, 6]);
    let page = p.page(Space::Hbm, 48);
    p.place(a, page);
    p.place(b, page);
    let first = p.copy("first", x, a, &[]);
    let mut waits: Vec<Ctr> = Vec::new();
    for index in 0..readers {
        let out = p.output(&format!("o{index}"), DType::F32, &[3, 4]);
        waits.push(p.op(Op::Softmax, &format!("reader{index}"), &[a], out, &[], &[first]));
    }
    let second = p.copy("second", z, b, &waits);
    let out = p.output("out", DType::F16, &[2, 6]);
    p.op(Op::Softmax, "last", &[b], out, &[], &[second]);
    p
}

/// `init` writes a, `change` reads it and writes b on the same page, `last` reads b.
fn in_place(op: Op) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("page-in-place");
    let x = p.input("x", DType::F32, &[4, 4]);
    let a = p.act("a", DType::F32, &[4, 4]);
    let b = p.act("b", DType::F32, &[4, 4]);
    let out = p.output("out", DType::F32, &[4, 4]);
    let page = p.page(Space::Hbm, 64);
    p.place(a, page);
    p.place(b, page);
    let init = p.copy("init", x, a, &[]);
    let inputs: &[Buf] = if is_unary(op) { &[a] } else { &[a, x] };
    let change = p.op(op, "change", inputs, b, &[], &[init]);
    p.copy("last", b, out, &[change]);
    p
}

/// Activations `h` and `sink` on pages 0 and 1; pages 2 to 4 are spare.
fn every_kind() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("every-kind");
    let x = p.input("x", DType::F32, &[1, 8]);
    let w = p.weight("w", DType::F32, &[8, 8]);
    let bias = p.constant("bias", DType::F32, &[8]);
    let cache = p.cache("cache", DType::F32, &[4, 2, 4]);
    let h = p.act("h", DType::F32, &[1, 8]);
    let sink = p.act("sink", DType::F32, &[1, 8]);
    let y = p.output("y", DType::F32, &[1, 8]);
    for nbytes in [32, 40, 512, 64] {
        p.page(Space::Hbm, nbytes);
    }
    p.page(Space::GlobalScratch, 4096);
    p.place(h, crate::builder::PageId(0));
    p.place(sink, crate::builder::PageId(1));
    let done = p.counter("h");
    let task = p.task(Op::GemvTile).reads(&[x, w, bias]).writes(&[h]).out(done).label("product");
    task.param("K", 8).param("N_tile", 8).param("n_off", 0).add();
    p.op(Op::KvAppend, "append", &[h, cache], cache, &[("pos", 1.into())], &[done]);
    p.op(Op::Softmax, "sink", &[h], sink, &[], &[done]);
    p.op(Op::Gelu, "last", &[h], y, &[], &[done]);
    p
}

/// A chain of three tasks on each of two SMs; page sizes add up to 16384 on SM 0 and to 12288 on SM 1.
fn on_chip(space: Space) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("on-chip");
    p.target(laptop());
    let x = p.input("x", DType::F32, &[1, 16]);
    for (sm, sizes) in [(0, [8192, 8192]), (1, [4096, 8192])] {
        let y = p.output(&format!("y{sm}"), DType::F32, &[1, 16]);
        let mut last = x;
        let mut done: Vec<Ctr> = Vec::new();
        for (index, nbytes) in sizes.into_iter().enumerate() {
            let buffer = p.act_in(space, &format!("s{sm}.{index}"), DType::F32, &[1, 16]);
            let page = p.page(space, nbytes);
            p.place(buffer, page);
            let label = format!("t{sm}.{index}");
            done = vec![
                p.task(Op::Softmax).reads(&[last]).writes(&[buffer]).after(&done).sm(sm).label(&label).add(),
            ];
            last = buffer;
        }
        p.task(Op::Gelu).reads(&[last]).writes(&[y]).after(&done).sm(sm).label(&format!("out{sm}")).add();
    }
    // No task uses the buffers of this page: it belongs to the pool of its own.
    p.page(space, 16384);
    p
}

/// `t0` to `t4` in a chain on one SM, whose buffers take turns on a page in each space. Those on chip are as large as they may be.
fn mixed(spaces: [Space; 3]) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("mixed");
    p.target(laptop());
    let mut last = p.input("x", DType::F32, &[1, 16]);
    let pages = spaces.map(|space| p.page(space, if space == Space::Hbm { 65536 } else { 16384 }));
    let mut done: Vec<Ctr> = Vec::new();
    for index in 0..5 {
        let buffer = p.act_in(spaces[index % 3], &format!("b{index}"), DType::F32, &[1, 16]);
        p.place(buffer, pages[index % 3]);
        let label = format!("t{index}");
        done =
            vec![p.task(Op::Softmax).reads(&[last]).writes(&[buffer]).after(&done).sm(0).label(&label).add()];
        last = buffer;
    }
    let y = p.output("y", DType::F32, &[1, 16]);
    p.task(Op::Gelu).reads(&[last]).writes(&[y]).after(&done).sm(0).label("out").add();
    p
}

fn no_pages() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("on-chip");
    p.target(laptop());
    let x = p.input("x", DType::F32, &[1, 16]);
    for sm in 0..3 {
        let space = if sm == 1 { Space::Register } else { Space::Smem };
        let hot = p.act_in(space, &format!("hot{sm}"), DType::F32, &[1, 16]);
        let y = p.output(&format!("y{sm}"), DType::F32, &[1, 16]);
        let done = p.task(Op::Gelu).reads(&[x]).writes(&[hot]).sm(sm).label(&format!("write{sm}")).add();
        p.task(Op::Softmax)
            .reads(&[hot])
            .writes(&[y])
            .after(&[done])
            .sm(sm)
            .label(&format!("read{sm}"))
            .add();
    }
    // Tasks that touch nothing on chip, to be moved about.
    p.task(Op::Nop).label("free").add();
    p
}

/// `write` on SM 0, `read1`.. on SMs 1 to 3.
fn scratch_shared() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("scratch");
    p.target(laptop());
    let x = p.input("x", DType::F32, &[1, 16]);
    let h = p.buffer("h", Kind::Activation, DType::F32, &[1, 16], Space::GlobalScratch);
    let done = p.task(Op::Gelu).reads(&[x]).writes(&[h]).sm(0).label("write").add();
    for sm in 1..4 {
        let y = p.output(&format!("y{sm}"), DType::F32, &[1, 16]);
        p.task(Op::Softmax).reads(&[h]).writes(&[y]).after(&[done]).sm(sm).label(&format!("read{sm}")).add();
    }
    p
}

/// `a` is written, read, and after the use of `b` written and read again.
fn twice() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("twice");
    let x = p.input("x", DType::F32, &[4]);
    let a = p.act("a", DType::F32, &[4]);
    let b = p.act("b", DType::F32, &[4]);
    for buffer in [a, b] {
        let page = p.page(Space::Hbm, 16);
        p.place(buffer, page);
    }
    let mut done: Vec<Ctr> = Vec::new();
    for (index, buffer) in [a, b, a].into_iter().enumerate() {
        let y = p.output(&format!("y{index}"), DType::F32, &[4]);
        done = vec![p.copy(&format!("write{index}"), x, buffer, &done)];
        done = vec![p.op(Op::Softmax, &format!("read{index}"), &[buffer], y, &[], &done)];
    }
    p
}

fn unread_half() -> ProgramBuilder {
    let mut p = ProgramBuilder::new("half");
    let x = p.input("x", DType::F32, &[1, 2]);
    let h = p.act("h", DType::F32, &[1, 8]);
    let w = p.weight("w", DType::F32, &[8, 2]);
    let page = p.page(Space::Hbm, 32);
    p.place(h, page);
    let task = p.task(Op::GemvTile).reads(&[x, w]).writes(&[h]).label("half");
    task.param("K", 2).param("N_tile", 4).param("n_off", 0).add();
    p
}

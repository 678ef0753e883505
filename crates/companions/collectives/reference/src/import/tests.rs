//! Small algorithms of MSCCL.

use megakernel_collectives::read_algorithm;
use megakernel_ir::Rule;

use super::*;
use crate::answer::judged;

/// Two GPUs that exchange what they have, and add: with sends before receives, or the other way round.
fn exchange(is_in_place: bool, first: &str) -> String {
    let (buffer, inplace) = if is_in_place { ("i", 1) } else { ("o", 0) };
    let gpu = |id: i64| {
        let other = 1 - id;
        let send = r#"type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2""#;
        let add = format!(r#"type="rrc" srcbuf="i" srcoff="0" dstbuf="{buffer}" dstoff="0" cnt="2""#);
        let (one, two) = if first == "s" { (send, add.as_str()) } else { (add.as_str(), send) };
        format!(
            r#"<gpu id="{id}" i_chunks="2" o_chunks="2" s_chunks="0">
               <tb id="0" send="{other}" recv="{other}" chan="0">
               <step s="0" {one} depid="-1" deps="-1" hasdep="0"/>
               <step s="1" {two} depid="-1" deps="-1" hasdep="0"/></tb></gpu>"#
        )
    };
    format!(
        r#"<algo name="x" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="{inplace}">{}{}</algo>"#,
        gpu(0),
        gpu(1)
    )
}

const FORM: Form = Form { chunk: 3, capacity: 1 };

#[test]
fn an_exchange_is_a_sum_in_place_and_out_of_place() {
    for is_in_place in [true, false] {
        let made = msccl(&exchange(is_in_place, "s"), FORM).expect("it is read").document;
        assert_eq!((&made["n_elem"], &made["scratch"]), (&json!(6), &json!(if is_in_place { 0 } else { 6 })));
        let read = read_algorithm(&made).expect("an algorithm");
        assert!(judged(&read, false).is_ok(), "{:?}", judged(&read, false).err());
    }
}

#[test]
fn thread_blocks_that_all_receive_first_never_run() {
    let found = msccl(&exchange(true, "r"), FORM).expect_err("nobody sends");
    assert!(found.contains("wait for each other"), "{found}");
}

#[test]
fn a_ring_that_passes_on_what_it_has_not_put_away_needs_two_slots() {
    let gpu = |id: i64| {
        let step = |number: i64, kind: &str, chunk: i64| {
            format!(
                r#"<step s="{number}" type="{kind}" srcbuf="o" srcoff="{chunk}" dstbuf="o" dstoff="{chunk}" cnt="1" depid="-1" deps="-1" hasdep="0"/>"#
            )
        };
        let steps = [step(0, "s", id), step(1, "rcs", (id + 2) % 3), step(2, "r", (id + 1) % 3)].concat();
        format!(
            r#"<gpu id="{id}" i_chunks="0" o_chunks="3" s_chunks="0"><tb id="0" send="{}" recv="{}" chan="0">{steps}</tb></gpu>"#,
            (id + 1) % 3,
            (id + 2) % 3
        )
    };
    let xml = format!(
        r#"<algo nchunksperloop="3" coll="allgather" inplace="1">{}</algo>"#,
        [0, 1, 2].map(gpu).concat()
    );
    for (capacity, kept) in [(1, Some(2)), (2, None)] {
        let made = msccl(&xml, Form { capacity, ..FORM }).expect("it is read");
        assert_eq!(made.kept, kept);
        let read = read_algorithm(&made.document).expect("an algorithm");
        assert!(judged(&read, false).is_ok(), "{:?}", judged(&read, false).err());
    }
}

#[test]
fn an_order_between_thread_blocks_is_kept() {
    // The second thread block adds what the first has received into the scratch.
    let gpu = |id: i64| {
        let other = 1 - id;
        format!(
            r#"<gpu id="{id}" i_chunks="1" o_chunks="1" s_chunks="1">
               <tb id="0" send="-1" recv="-1" chan="0">
               <step s="0" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="1" deps="1" hasdep="0"/></tb>
               <tb id="1" send="{other}" recv="{other}" chan="0">
               <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
               <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/></tb></gpu>"#
        )
    };
    let xml = format!(r#"<algo nchunksperloop="1" coll="allreduce" inplace="1">{}{}</algo>"#, gpu(0), gpu(1));
    let read = read_algorithm(&msccl(&xml, FORM).expect("it is read").document).expect("an algorithm");
    assert!(judged(&read, false).is_ok(), "{:?}", judged(&read, false).err());
    // Without the dependency the scratch is read before anything is there.
    let loose = xml.replace(r#"depid="1" deps="1""#, r#"depid="-1" deps="-1""#);
    let read = read_algorithm(&msccl(&loose, FORM).expect("it is read").document).expect("an algorithm");
    let found = judged(&read, false).expect_err("nothing was stored there");
    assert!(found.iter().any(|fault| fault.rule == Rule::CS12), "{found:?}");
}

#[test]
fn what_is_no_algorithm_is_refused_in_words() {
    for (xml, what) in [
        ("<algo", "no XML"),
        ("<a/>", "required `algo`"),
        (r#"<algo coll="alltoall"/>"#, "`alltoall`"),
        (r#"<algo coll="allreduce"/>"#, "`gpu`s"),
        (
            r#"<algo coll="allreduce"><gpu id="0" i_chunks="x" o_chunks="1" s_chunks="0"/></algo>"#,
            "`i_chunks`",
        ),
    ] {
        let found = msccl(xml, FORM).expect_err(xml);
        assert!(found.contains(what), "{found}");
    }
}

//! CUDA's functions on the CPU, against their definitions, and its numbers of 8 and 16 bits, against this workspace's: every code of them, and
//! numbers on both sides of every place where they are rounded.

use megakernel_ir::{DType, Opcode};
use megakernel_numerics::{Tensor, pack};
use megakernel_test_support::{files, part};
use serde_json::{Value, json};

use crate::groups;
use crate::support::corpus::path;
use crate::support::fewer;
use crate::support::worker::{Worker, chain, f32s};
use crate::translated;

fn text(name: &str) -> String {
    files::text(&path(&format!("tests/kernels/strangers/{name}.cu")))
}

/// A program of one task on vectors.
fn program(op: &str, inputs: &[&Tensor], output: (DType, usize)) -> Value {
    let buffer = |id: usize, name: &str, kind: &str, dtype: DType, n: u64| json!({"id": id, "name": name, "kind": kind, "dtype": dtype.to_string(), "shape": [n]});
    let mut buffers: Vec<Value> = inputs
        .iter()
        .zip(NAMES)
        .enumerate()
        .map(|(id, (x, name))| buffer(id, name, "IO_INPUT", x.dtype, x.shape[0]))
        .collect();
    buffers.push(buffer(inputs.len(), "y", "IO_OUTPUT", output.0, output.1 as u64));
    let ids: Vec<usize> = (0..inputs.len()).collect();
    json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": buffers, "counters": [{"id": 0}],
           "tasks": [{"id": 0, "op": op, "inputs": ids, "outputs": [inputs.len()], "out_counter": 0}]})
}

const NAMES: [&str; 2] = ["a", "b"];

/// What a task makes of vectors.
#[track_caller]
fn run(worker: &mut Worker, op: &str, inputs: &[&Tensor], output: (DType, usize)) -> Vec<f64> {
    let tensors: Vec<(&str, Tensor)> = NAMES.into_iter().zip(inputs.iter().map(|x| (*x).clone())).collect();
    let answer = worker.execute(&[program(op, inputs, output)], &tensors);
    assert_eq!(answer["outcome"], "accept", "{op}: {answer}");
    worker.reals("out-0", "y")
}

/// Of a warp.
pub const LANES: usize = 32;

/// What each of `functions.cu` gives to each lane that has `v`, in its order.
fn defined(v: &[i32; LANES]) -> Vec<(&'static str, [i32; LANES])> {
    let each = |f: &dyn Fn(usize) -> i32| std::array::from_fn(f);
    let mut all: Vec<(&str, [i32; LANES])> = Vec::new();
    for width in [4, 8, 16, 32] {
        let base = |lane: usize| lane / width * width;
        all.push(("shuffle", each(&|lane| v[base(lane) + 5 % width])));
        all.push(("shuffle from each", each(&|lane| v[base(lane) + (lane + 3) % width])));
        all.push(("up", each(&|lane| v[if lane % width >= 3 { lane - 3 } else { lane }])));
        all.push(("down", each(&|lane| v[if lane % width + 3 < width { lane + 3 } else { lane }])));
        // Earlier groups can be read, later ones cannot.
        all.push(("xor", each(&|lane| v[if (lane ^ 6) / width <= lane / width { lane ^ 6 } else { lane }])));
    }
    let ballot = |lanes: &dyn Fn(usize) -> bool| {
        (0..LANES).filter(|lane| lanes(*lane)).fold(0u32, |bits, lane| bits | 1 << lane) as i32
    };
    let with = |lane: usize| (lane % 3..LANES).step_by(3);
    all.push(("ballot", each(&|_| ballot(&|other| v[other] % 2 != 0))));
    all.push((
        "ballot of a third",
        each(&|lane| ballot(&|other| other % 3 == lane % 3 && v[other] % 2 != 0)),
    ));
    all.push(("any", each(&|lane| i32::from(lane % 3 == 1))));
    all.push(("all", each(&|lane| i32::from(lane % 3 != 1))));
    all.push(("sum", each(&|lane| with(lane).fold(0i32, |sum, other| sum.wrapping_add(v[other])))));
    all.push(("least", each(&|lane| with(lane).map(|other| v[other]).min().expect("one"))));
    all.push(("largest", each(&|lane| with(lane).map(|other| v[other] as u32).max().expect("one") as i32)));
    all.push(("and", each(&|lane| with(lane).fold(-1, |bits, other| bits & (v[other] | 255)))));
    all.push(("or", each(&|lane| with(lane).fold(0, |bits, other| bits | (v[other] & 255)))));
    all.push(("xor of all", each(&|lane| with(lane).fold(0, |bits, other| bits ^ v[other]))));
    all.push((
        "match any",
        each(&|lane| ballot(&|other| other % 3 == lane % 3 && v[other] & 3 == v[lane] & 3)),
    ));
    all.push(("match all", each(&|lane| if lane % 3 == 1 { ballot(&|other| other % 3 == 1) } else { 0 })));
    all.push(("do all match", each(&|lane| i32::from(lane % 3 == 1))));
    all.push(("active", each(&|_| 1)));

    all.push(("popc", each(&|lane| v[lane].count_ones() as i32)));
    all.push(("clz", each(&|lane| (v[lane] >> lane).leading_zeros() as i32)));
    all.push((
        "ffs",
        each(&|lane| if v[lane] & !1 == 0 { 0 } else { (v[lane] & !1).trailing_zeros() as i32 + 1 }),
    ));
    all.push(("brev", each(&|lane| v[lane].reverse_bits())));
    // Selectors from the lowest nibble on: bytes 1, 5, 3 and 7, of which those from 4 on are of the second word.
    all.push((
        "byte_perm",
        each(&|lane| {
            let (low, high) = (v[lane].to_le_bytes(), (!v[lane]).to_le_bytes());
            i32::from_le_bytes([low[1], high[1], low[3], high[3]])
        }),
    ));
    all.push((
        "funnel",
        each(&|lane| (((0x1234_5678u64 << 32 | u64::from(v[lane] as u32)) << lane) >> 32) as u32 as i32),
    ));
    all.push(("umulhi", each(&|lane| ((u64::from(v[lane] as u32) * 0x8765_4321) >> 32) as u32 as i32)));
    all.push(("mulhi", each(&|lane| ((i64::from(v[lane]) * -1_000_003) >> 32) as i32)));
    all.push((
        "dp4a",
        each(&|lane| {
            let other = 0x7f80_01fei32.to_le_bytes();
            100 + v[lane]
                .to_le_bytes()
                .iter()
                .zip(other)
                .map(|(a, b)| i32::from(*a as i8) * i32::from(b as i8))
                .sum::<i32>()
        }),
    ));
    let quarters = |lane: usize| f64::from(v[lane] % 1000) / 4.0;
    all.push(("rn", each(&|lane| quarters(lane).round_ties_even() as i32)));
    all.push(("rz", each(&|lane| quarters(lane).trunc() as i32)));
    all.push(("rd", each(&|lane| quarters(lane).floor() as i32)));
    all.push(("ru", each(&|lane| quarters(lane).ceil() as i32)));
    all.push(("to unsigned", each(&|lane| quarters(lane).trunc().max(0.0) as i32)));
    all.push(("least and largest", each(&|lane| v[lane].max(-5).wrapping_add(lane.min(9) as i32))));
    all.push(("a copy", each(&|lane| v[lane / 2 * 2])));
    all.push(("zeros", [0; LANES]));
    all.push(("__syncthreads_count", each(&|_| v.iter().filter(|value| *value % 2 != 0).count() as i32)));
    all.push(("__syncthreads_count again", each(&|_| 7)));
    all.push(("__syncthreads_or, and", each(&|_| 1 + 4)));
    all.push(("mul24", each(&|lane| ((v[lane] << 8) >> 8).wrapping_mul(5))));
    all.push(("umul24", each(&|lane| (v[lane] & 0xff_ffff).wrapping_mul(5))));
    all.push(("umul64hi", each(&|lane| (v[lane] as u32).wrapping_mul(3) as i32)));
    all.push(("umin, umax", each(&|lane| (v[lane] as u32).min(lane.max(7) as u32) as i32)));
    all.push(("dim3", each(&|_| 3)));
    all.push(("constants", each(&|_| 1)));
    all.push(("floats", each(&|_| 1)));

    let sum = v.iter().fold(0i32, |sum, value| sum.wrapping_add(*value));
    let mut shared = |name, value: i32| all.push((name, [value; LANES]));
    shared("atomicAdd", sum.wrapping_add(7));
    shared("atomicSub", 7i32.wrapping_sub(sum));
    shared("atomicMin", v.iter().copied().fold(7, i32::min));
    shared("atomicMax", v.iter().map(|value| *value as u32).fold(7, u32::max) as i32);
    shared("atomicAnd", v.iter().fold(-1, |bits, value| bits & (value | 255)));
    shared("atomicOr", v.iter().fold(0, |bits, value| bits | (value & 255)));
    shared("atomicXor", v.iter().fold(7, |bits, value| bits ^ value));
    // 0 to 9 and round again; and from 0 to 9, and down.
    shared("atomicInc", 32 % 10);
    shared("atomicDec", 10 - 32 % 10);
    shared("atomicCAS", sum.wrapping_add(5));
    shared("atomicAdd of floats", (31.0f32 * 16.0).to_bits() as i32);
    shared("atomicAdd of 64 bits", -1);
    all
}

/// A file of `strangers`, and what it gives.
type Defined = (&'static str, fn(&[i32; LANES]) -> Vec<(&'static str, [i32; LANES])>);
const FUNCTIONS: Defined = ("functions", defined);
const GROUPS: Defined = ("groups", groups::defined);
const TRANSLATED: Defined = ("translated", translated::defined);
const TRANSLATED_MEMORY: Defined = ("translated_memory", translated::defined_memory);

#[track_caller]
fn assert_defined((name, defined): Defined, options: &[&str]) {
    let mut state = 1u32;
    let v: [i32; LANES] = std::array::from_fn(|lane| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Some of them small.
        (state as i32) >> (lane % 5 * 6)
    });
    let expected = defined(&v);
    let bytes = pack(DType::I32, v.iter().map(|value| *value as u32));
    let x = Tensor::new(DType::I32, vec![LANES as u64], bytes).expect("a tensor");
    let file = fewer::file(&[Opcode::Copy], &text(name));
    let mut worker = Worker::new(&[&["--kernels", &file], options].concat());
    let found = run(&mut worker, "COPY", &[&x], (DType::I32, LANES * expected.len()));
    for ((name, expected), found) in expected.iter().zip(found.chunks(LANES)) {
        let expected: Vec<f64> = expected.iter().map(|value| f64::from(*value)).collect();
        assert!(found == expected, "{name} with {options:?}: {found:?}, not {expected:?}");
    }
}

#[test]
fn functions_give_what_they_are_defined_to() {
    for options in [&[][..], &["--seed", "7"], &["--sanitize", "order"]] {
        assert_defined(FUNCTIONS, options);
    }
    assert_defined(GROUPS, &["--seed", "7"]);
}

#[test]
fn inline_ptx_does_what_it_is_defined_to() {
    for all in [TRANSLATED, TRANSLATED_MEMORY] {
        for options in part::one_in(3, [&[][..], &["--seed", "7"], &["--sanitize", "order"]].into_iter()) {
            assert_defined(all, options);
        }
    }
}

#[test]
#[ignore = "needs minutes, and ThreadSanitizer; the release gate runs it"]
fn minutes_functions_give_the_same_to_threads_of_the_cpu() {
    for all in [FUNCTIONS, GROUPS, TRANSLATED, TRANSLATED_MEMORY] {
        assert_defined(all, &["--sanitize", "thread", "--limit", "60"]);
    }
}

/// All codes of a dtype, as numbers.
fn codes(dtype: DType) -> Tensor {
    let n = 1u32 << (dtype.bits());
    Tensor::new(dtype, vec![u64::from(n)], pack(dtype, 0..n)).expect("a tensor")
}

fn same(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits()
}

/// The numbers of a dtype, those in the middle between each two of them and behind the last ones, and their neighbours in binary32.
fn between(sorted: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = sorted.iter().copied().filter(|value| value.is_finite()).collect();
    let last = 2.0 * finite[finite.len() - 1] - finite[finite.len() - 2];
    finite.insert(0, -last);
    finite.push(last);
    let middles = finite.windows(2).map(|pair| ((pair[0] + pair[1]) / 2.0) as f32);
    let beside = |middle: f32| [middle.next_down(), middle, middle.next_up()].map(f64::from);
    sorted.iter().copied().chain(middles.flat_map(beside)).collect()
}

fn sorted(dtype: DType) -> Vec<f64> {
    let mut all: Vec<f64> = codes(dtype).reals().into_iter().filter(|value| !value.is_nan()).collect();
    all.sort_by(f64::total_cmp);
    all
}

#[test]
fn every_code_is_the_number_that_it_is_and_every_number_is_rounded_to_its_code() {
    let file = fewer::file(&[Opcode::Copy], &text("halves"));
    let mut worker = Worker::new(&["--kernels", &file]);
    for dtype in [DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2] {
        let all = codes(dtype);
        let expected = all.reals();
        let found = run(&mut worker, "COPY", &[&all], (DType::F32, expected.len()));
        let wrong = expected.iter().zip(&found).position(|(a, b)| !same(*a, *b));
        assert_eq!(wrong, None, "code of {dtype}");
        let numbers = between(&sorted(dtype));
        let expected =
            Tensor::from_reals(dtype, vec![numbers.len() as u64], &numbers).expect("a tensor").reals();
        let found = run(&mut worker, "COPY", &[&f32s(&numbers)], (dtype, numbers.len()));
        let wrong = (0..numbers.len()).find(|i| !same(expected[*i], found[*i]));
        assert_eq!(wrong.map(|i| (numbers[i], found[i], expected[i])), None, "{dtype}");
    }
}

/// The name of a function, and what it gives of a number before that is rounded.
type OfOne = (&'static str, fn(f64) -> f64);

/// The rows of `sixteen.cu`.
const OF_ONE: [OfOne; 23] = [
    ("hsqrt", f64::sqrt),
    ("hrsqrt", |a| 1.0 / a.sqrt()),
    ("hrcp", |a| 1.0 / a),
    ("hexp", f64::exp),
    ("hexp2", f64::exp2),
    ("hexp10", |a| 10f64.powf(a)),
    ("hlog", f64::ln),
    ("hlog2", f64::log2),
    ("hlog10", f64::log10),
    ("hsin", f64::sin),
    ("hcos", f64::cos),
    ("hfloor", f64::floor),
    ("hceil", f64::ceil),
    ("htrunc", f64::trunc),
    ("hrint", f64::round_ties_even),
    ("__hneg", |a| -a),
    ("__habs", f64::abs),
    ("__hfma_relu", |a| if a.is_nan() { a } else { (1.0 - a).max(0.0) }),
    // Both dtypes have their largest number between these.
    ("CUDART_MAX_NORMAL, INF", |a| {
        if a == 65504.0 || (3.38e38..f64::INFINITY).contains(&a) { f64::INFINITY } else { a }
    }),
    ("atomicAdd of a pair, first", |_| 32.0),
    ("atomicAdd of a pair, second", |_| 48.0),
    ("atomicAdd", |_| -48.0),
    ("atomicCAS", |_| 32.0),
];

#[test]
fn functions_of_sixteen_bits_round_once_and_their_atomic_ones_lose_nothing() {
    let file = fewer::file(&[Opcode::Copy], &text("sixteen"));
    let mut worker = Worker::new(&["--kernels", &file]);
    for dtype in [DType::F16, DType::BF16] {
        let all = codes(dtype);
        let numbers = all.reals();
        let found = run(&mut worker, "COPY", &[&all], (dtype, OF_ONE.len() * numbers.len()));
        for ((name, f), found) in OF_ONE.iter().zip(found.chunks(numbers.len())) {
            let exact: Vec<f64> = numbers.iter().map(|number| f(*number)).collect();
            let expected =
                Tensor::from_reals(dtype, vec![exact.len() as u64], &exact).expect("a tensor").reals();
            let wrong = (0..found.len()).find(|i| !same(expected[*i], found[*i]));
            assert_eq!(wrong.map(|i| (numbers[i], found[i], expected[i])), None, "{name} of {dtype}");
        }
    }
}

/// The number of `precision` bits, of multiples of 2^`least`, that is nearest to `of` times 2^-48, the even one of two.
fn nearest(of: i128, precision: u32, least: i32, most: f64) -> f64 {
    let magnitude = of.unsigned_abs();
    let bits = 128 - magnitude.leading_zeros();
    let shift = bits.saturating_sub(precision).max((least + 48).max(0) as u32);
    let (kept, rest) =
        if shift == 0 { (magnitude, 0) } else { (magnitude >> shift, magnitude & ((1 << shift) - 1)) };
    let half = if shift == 0 { 1 } else { 1u128 << (shift - 1) };
    let rounded = kept + u128::from(rest > half || (rest == half && kept % 2 == 1));
    let value = rounded as f64 * f64::from(shift).exp2() * (-48f64).exp2();
    let value = if value > most { f64::INFINITY } else { value };
    if of < 0 { -value } else { value }
}

#[test]
fn what_does_not_round_to_nearest_rounds_as_it_says_and_a_fused_sum_once() {
    let opcodes = [Opcode::Copy, Opcode::Gelu, Opcode::Add, Opcode::SiluMul];
    let file = fewer::file(&opcodes, &text("rounding"));
    let mut worker = Worker::new(&["--kernels", &file]);
    for (dtype, precision, least, most, lost) in
        [(DType::F16, 11u32, -24, 65504.0, -14), (DType::BF16, 8, -133, 3.4e38, -17)]
    {
        let all = sorted(dtype);
        let numbers = between(&all);
        let x = f32s(&numbers);
        let [zero, down, up] = [("COPY", vec![&x]), ("GELU", vec![&x]), ("ADD", vec![&x, &x])]
            .map(|(op, inputs)| run(&mut worker, op, &inputs, (dtype, numbers.len())));
        for (i, number) in numbers.iter().enumerate() {
            let below = all[all.partition_point(|value| value <= number) - 1];
            let above = all[all.partition_point(|value| value < number)];
            let expected = [if *number < 0.0 { above } else { below }, below, above];
            assert!(
                [zero[i], down[i], up[i]] == expected,
                "{number}: {:?}, not {expected:?}",
                [zero[i], down[i], up[i]]
            );
        }

        // Products in the middle between two numbers, to which binary32 adds no number that is small enough; and any.
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let n = 40_000;
        let ulp = 1u64 << precision;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..n / 2 {
            let sign = [1.0, -1.0][draw(2) as usize];
            // Three times this has a bit too much.
            let odd = ulp / 3 + 2 + draw(ulp / 3 - 2);
            let tiny = [1.0, -1.0][draw(2) as usize] * 2f64.powi(lost - draw(3) as i32);
            a.extend([3.0 * sign, tiny]);
            b.extend([(odd | 1) as f64, (1 + draw(ulp - 1)) as f64 / 16.0]);
        }
        let tensor = |reals: &[f64]| Tensor::from_reals(dtype, vec![n as u64], reals).expect("a tensor");
        let found = run(&mut worker, "SILU_MUL", &[&tensor(&a), &tensor(&b)], (dtype, n));
        let whole = |real: f64| (real * 24f64.exp2()) as i128;
        let mut twice = 0;
        for i in 0..n {
            let c = a[(i + 1) % n];
            let exact = whole(a[i]) * whole(b[i]) + (whole(c) << 24);
            let expected = nearest(exact, precision, least, most);
            assert!(found[i] == expected, "{} * {} + {c}: {}, not {expected}", a[i], b[i], found[i]);
            let by_binary32 = (a[i] as f32).mul_add(b[i] as f32, c as f32);
            let rounded_again =
                Tensor::from_reals(dtype, vec![1], &[f64::from(by_binary32)]).expect("a tensor").reals()[0];
            twice += usize::from(rounded_again != expected);
        }
        assert!(twice > n / 8, "{dtype}: only {twice} of {n} would differ if they were rounded twice");
    }
}

/// Of a number that lies between two of F32 or is one: those towards zero, below and above.
fn beside(exact: f64) -> [f64; 3] {
    let near = exact as f32;
    let below = f64::from(if f64::from(near) > exact { near.next_down() } else { near });
    let above = f64::from(if f64::from(near) < exact { near.next_up() } else { near });
    [if exact < 0.0 { above } else { below }, below, above]
}

/// A function of two numbers, which F64 has exactly, or errs in by less than a number of F32 is away.
type OfTwo = fn(f64, f64) -> f64;

#[test]
fn arithmetic_of_f32_rounds_in_its_direction() {
    let mut state = 3u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // From 1 to 4 with either sign, so that F64 has sums and products exactly.
        let number = f32::from_bits(0x3f80_0000 + (state >> 8)) * if state & 128 == 0 { 1.0 } else { -1.0 };
        f64::from(number)
    };
    let n = 4096;
    let mut numbers = || (0..n).map(|i| if i % 64 == 0 { 1.5 } else { draw() }).collect::<Vec<f64>>();
    let (a, b) = (numbers(), numbers());
    let file = fewer::file(&[Opcode::Mul], &text("rounding"));
    let mut worker = Worker::new(&["--kernels", &file]);
    let tensor = |reals: &[f64]| Tensor::from_reals(DType::F32, vec![n as u64], reals).expect("a tensor");
    let functions: [(&str, OfTwo); 10] = [
        ("sum", |a, b| a + b),
        ("difference", |a, b| a - b),
        ("product", |a, b| a * b),
        ("quotient", |a, b| a / b),
        ("fused", |a, b| a * b + a),
        ("root", |a, _| a.abs().sqrt()),
        ("reciprocal", |a, _| 1.0 / a),
        ("of F64", |a, b| a * b),
        ("of I32", |a, _| f64::from((a as f32).to_bits() as i32)),
        ("of U32", |a, _| f64::from((a as f32).to_bits())),
    ];
    let found = run(&mut worker, "MUL", &[&tensor(&a), &tensor(&b)], (DType::F32, 3 * n * functions.len()));
    for ((name, function), found) in functions.iter().zip(found.chunks(3 * n)) {
        for i in 0..n {
            let (expected, found) =
                (beside(function(a[i], b[i])), [found[i], found[n + i], found[2 * n + i]]);
            assert!(found == expected, "{name} of {} and {}: {found:?}, not {expected:?}", a[i], b[i]);
        }
    }
}

#[test]
fn a_mask_may_name_lanes_that_have_returned_but_nobody_reads_from_them() {
    let program = chain(&[("COPY", &[]), ("COPY", &[])]);
    let x = [("x", f32s(&[1.0, -2.5, 3.0]))];
    let vm = text("returned");
    let play = |text: &str| {
        let mut worker = Worker::new(&["--vm", &fewer::file(&[], text)]);
        let answer = worker.execute(std::slice::from_ref(&program), &x);
        let y = (answer["outcome"] == "accept").then(|| worker.reals("out-0", "y"));
        (y, answer["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(play(&vm), (Some(vec![1.0, -2.5, 3.0]), String::new()));
    let (_, said) = play(&vm.replace("0xffffffffu, lane, 0)", "0xffffffffu, lane, 20)"));
    assert!(said.contains("reads in __shfl_sync(0xffffffff) from lane 20, which has returned"), "{said}");
}

/// A VM whose threads, of all blocks, add 1 to one word twice; how many times in all is in the next one.
const COUNTING: &str = r#"
extern "C" __global__ void amk_megakernel(amk_program_t program) {
    int* words = static_cast<int*>(program.buffers[program.instructions[0].outputs[0]].ptr);
    atomicAdd(words, 1);
    __syncthreads();
    // What the block has seen of the word is old by now.
    atomicAdd(words, 1);
    atomicMax(words + 1, int(2 * gridDim.x * blockDim.x));
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int i = 0; i < program.sm_queue_len[blockIdx.x]; ++i) {
        amk_increment_release(&program.counters[program.instructions[program.sm_queue[blockIdx.x][i]].out_counter]);
    }
}
"#;

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_atomic_functions_of_all_blocks_meet_in_one_word() {
    let buffer = |id: usize, kind: &str| json!({"id": id, "name": format!("b{id}"), "kind": kind, "dtype": "I32", "shape": [2]});
    let task = |id: usize| json!({"id": id, "op": "COPY", "inputs": [0], "outputs": [1 + id], "out_counter": id, "sm": id});
    let program = json!({"ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [buffer(0, "IO_INPUT"), buffer(1, "IO_OUTPUT"), buffer(2, "IO_OUTPUT"), buffer(3, "IO_OUTPUT")],
        "counters": [{"id": 0}, {"id": 1}, {"id": 2}], "tasks": [task(0), task(1), task(2)]});
    let zeros = Tensor::new(DType::I32, vec![2], pack(DType::I32, [0, 0])).expect("a tensor");
    let found = |text: &str, options: &[&str]| {
        let mut worker = Worker::new(&[&["--vm", &fewer::file(&[], text)], options].concat());
        let answer = worker.execute(std::slice::from_ref(&program), &[("b0", zeros.clone())]);
        assert_eq!(answer["outcome"], "accept", "{answer}");
        let y = worker.reals("out-0", "b1");
        assert!(y[1] >= 2.0 * 3.0 * 64.0, "{y:?}");
        // The word begins as -1.
        y[0] + 1.0 == y[1]
    };
    for options in [&[][..], &["--sanitize", "order"]] {
        assert!(found(COUNTING, options), "{options:?}");
    }
    let apart = COUNTING.replace(
        "atomicAdd(words, 1);\n    __syncthreads();",
        "const int seen = *words; __syncthreads(); *words = seen + 1;",
    );
    assert!(!found(&apart, &[]));
    // All at once, and nobody is stuck.
    let asleep = "for (int i = 0; i < 50; ++i) __nanosleep(20);\n    atomicAdd(words, 1);";
    assert!(found(&COUNTING.replacen("atomicAdd(words, 1);", asleep, 1), &[]));
}

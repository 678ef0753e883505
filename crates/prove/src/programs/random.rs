//! Small programs from choices, whatever they are: programs that break no rule about the form of single records, so that it is
//! the rules about executions that decide. Tiles of rows and columns, in-place tasks, caches, pages and SMs are mixed.

use std::fmt::Write;

use megakernel_ir::prng::SplitMix64;

/// Where the choices come from.
pub trait Choices {
    /// A number from `least` to `most`.
    fn between(&mut self, least: usize, most: usize) -> usize;

    /// True so many times of so many.
    fn ratio(&mut self, times: usize, of: usize) -> bool {
        self.between(1, of) <= times
    }

    /// One of some things, of which there is one.
    fn choose<'t, T>(&mut self, things: &'t [T]) -> &'t T {
        &things[self.between(0, things.len().saturating_sub(1))]
    }
}

impl Choices for SplitMix64 {
    fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.index(most - least + 1)
    }
}

/// Most tasks: beyond that, the interleavings of a program with partial waits take too long for a fuzzer.
const MAX_TASKS: usize = 6;
/// Most counters that tasks increment. One more exists, which nobody increments.
const MAX_COUNTERS: usize = 4;

/// The shared buffers: all activations have these extents, all caches so many rows of one element.
struct Shared {
    rows: usize,
    columns: usize,
    activations: Vec<usize>,
    caches: Vec<usize>,
    /// The ids of the constants `[1, columns]`, `[columns, columns]` and `[1, 1]`, and of the input `[rows, columns]`.
    row: usize,
    square: usize,
    one: usize,
    input: usize,
}

/// The text of a program.
pub fn program(bytes: &mut impl Choices) -> String {
    let (rows, columns) = (bytes.between(1, 3), bytes.between(1, 3));
    let mut buffers = Vec::new();
    let mut add = |kind: &str, dtype: &str, shape: &[usize], space: &str| {
        let id = buffers.len();
        buffers.push(format!(
            r#"{{"id":{id},"name":"b{id}","kind":"{kind}","dtype":"{dtype}","shape":{shape:?},"space":"{space}"}}"#
        ));
        id
    };
    let input = add("IO_INPUT", "F32", &[rows, columns], "HBM");
    let row = add("CONST", "F32", &[1, columns], "HBM");
    let square = add("CONST", "F32", &[columns, columns], "HBM");
    let one = add("CONST", "F32", &[1, 1], "HBM");
    let mut activations = Vec::new();
    for _ in 0..bytes.between(1, 3) {
        let dtype = if seldom(bytes, 4) { "F16" } else { "F32" };
        let space = match seldom(bytes, 8) {
            true => *bytes.choose(&["SMEM", "REGISTER"]),
            false => "HBM",
        };
        activations.push(add("ACTIVATION", dtype, &[rows, columns], space));
    }
    let mut caches = Vec::new();
    for _ in 0..bytes.between(0, 2) {
        let kind = if seldom(bytes, 4) { "ACTIVATION" } else { "KV_CACHE" };
        caches.push(add(kind, "F32", &[rows, 1, 1], "HBM"));
    }
    let shared = Shared { rows, columns, activations, caches, row, square, one, input };
    let pages = pages(bytes, &shared);
    let target = target(bytes);

    let count = bytes.between(1, MAX_TASKS);
    let counters: Vec<usize> = (0..count).map(|_| bytes.between(0, MAX_COUNTERS - 1)).collect();
    // Of random waits nearly all end in a cycle. So most programs wait for what stands earlier in the list, and for all of it.
    let orderly = !seldom(bytes, 4);
    let placed = seldom(bytes, 3);
    let mut tasks = Vec::new();
    for index in 0..count {
        let mut waits = Vec::new();
        for _ in 0..bytes.between(0, 3) {
            let counter = if orderly {
                let last = |counter: usize| counters.iter().rposition(|&other| other == counter);
                let earlier: Vec<usize> = (0..MAX_COUNTERS)
                    .filter(|&counter| last(counter).is_some_and(|last| last < index))
                    .collect();
                if earlier.is_empty() {
                    break;
                }
                *bytes.choose(&earlier)
            } else {
                bytes.between(0, MAX_COUNTERS)
            };
            let producers = counters.iter().filter(|&&other| other == counter).count();
            let threshold = match seldom(bytes, 8) {
                true => bytes.between(1, producers + 1),
                false => producers.max(1),
            };
            waits.push(format!(r#"{{"counter":{counter},"threshold":{threshold}}}"#));
        }
        let sm = match placed && bytes.ratio(3, 4) {
            true if seldom(bytes, 32) => "-1".to_owned(),
            true => bytes.between(0, 2).to_string(),
            false => "null".to_owned(),
        };
        let action = action(bytes, &shared, &mut add);
        tasks.push(format!(
            r#"{{"id":{index},{action},"out_counter":{},"waits":[{}],"sm":{sm}}}"#,
            counters[index],
            waits.join(",")
        ));
    }
    let counters: Vec<String> = (0..=MAX_COUNTERS).map(|id| format!(r#"{{"id":{id}}}"#)).collect();
    format!(
        "{{\"ir_version\":\"0.2.0\",\"abi_version\":\"0.2\",\"target\":{target},\"pages\":{pages},\n\"buffers\":[\n{}],\n\"counters\":[{}],\n\"tasks\":[\n{}]}}\n",
        buffers.join(",\n"),
        counters.join(","),
        tasks.join(",\n")
    )
}

/// True once in so many times, and not where the bytes have come to their end.
fn seldom(bytes: &mut impl Choices, times: usize) -> bool {
    !bytes.ratio(times - 1, times)
}

/// A tile of so many elements: first and number.
fn tile(bytes: &mut impl Choices, extent: usize) -> (usize, usize) {
    let first = bytes.between(0, extent - 1);
    (first, bytes.between(1, extent - first))
}

/// What a task does, as the members of its record.
fn action(
    bytes: &mut impl Choices,
    shared: &Shared,
    add: &mut impl FnMut(&str, &str, &[usize], &str) -> usize,
) -> String {
    let Shared { rows, columns, row, square, one, input, .. } = *shared;
    let members = |op: &str, inputs: &[usize], outputs: &[usize], params: &str| {
        format!(r#""op":"{op}","inputs":{inputs:?},"outputs":{outputs:?},"params":{{{params}}}"#)
    };
    let caches = !shared.caches.is_empty();
    let x = *bytes.choose(&shared.activations);
    let y = *bytes.choose(&shared.activations);
    match bytes.between(0, if caches { 12 } else { 7 }) {
        0 => members("NOP", &[], &[], ""),
        // A tile of rows and columns, from the input or from another activation.
        choice @ (1 | 2) => {
            let ((m_off, m), (n_off, n)) = (tile(bytes, rows), tile(bytes, columns));
            let params =
                format!(r#""K":{columns},"N_tile":{n},"n_off":{n_off},"M_tile":{m},"m_off":{m_off}"#);
            let from = if choice == 2 && x != y { x } else { input };
            members("GEMM_TILE", &[from, square], &[y], &params)
        }
        3 => {
            let (n_off, n) = tile(bytes, rows);
            let own = add("ACTIVATION", "F32", &[1, rows], "HBM");
            let params = format!(r#""K":{columns},"N_tile":{n},"n_off":{n_off}"#);
            members("GEMV_TILE", &[row, x], &[own], &params)
        }
        4 => members("COPY", &[x], &[y], ""),
        5 => members("GELU", &[if seldom(bytes, 3) { x } else { input }], &[y], ""),
        6 => members("ADD", &[x, *bytes.choose(&shared.activations)], &[y], ""),
        7 => members("SOFTMAX", &[if x == y { input } else { x }], &[y], ""),
        8 => {
            let cache = *bytes.choose(&shared.caches);
            // The rows of an activation at once if there is room, or else one row.
            let whole = columns == 1 && seldom(bytes, 3);
            let (new, pos) = if whole { (x, 0) } else { (one, bytes.between(0, rows - 1)) };
            members("KV_APPEND", &[new, cache], &[cache], &format!(r#""pos":{pos}"#))
        }
        // A cache that is filled, or changed in place.
        9 => members(
            "COPY",
            &[if columns == 1 { input } else { *bytes.choose(&shared.caches) }],
            &[*bytes.choose(&shared.caches)],
            "",
        ),
        10 => {
            let cache = *bytes.choose(&shared.caches);
            match bytes.between(0, 2) {
                0 => members("GELU", &[cache], &[cache], ""),
                1 => members("MUL", &[cache], &[cache], r#""scale":0.5"#),
                _ => members("ADD", &[cache, *bytes.choose(&shared.caches)], &[cache], ""),
            }
        }
        _ => {
            let (k, v) = (*bytes.choose(&shared.caches), *bytes.choose(&shared.caches));
            let (start, length) = tile(bytes, rows);
            let own = add("ACTIVATION", "F32", &[1], "HBM");
            let params = format!(
                r#""head_dim":1,"kv_start":{start},"kv_len":{length},"scale":1.0,"n_heads":1,"n_kv_heads":1"#
            );
            members("ATTENTION_TILE", &[one, k, v], &[own], &params)
        }
    }
}

/// Two pages with some of the shared buffers on them, or none.
fn pages(bytes: &mut impl Choices, shared: &Shared) -> String {
    if !seldom(bytes, 2) {
        return "null".to_owned();
    }
    let mut bound = String::new();
    for (index, buffer) in shared.activations.iter().chain(&shared.caches).enumerate() {
        let is_cache = index >= shared.activations.len();
        // Mostly page 0, now and then a page that is not there.
        let page = if seldom(bytes, 16) { 2 } else { usize::from(seldom(bytes, 3)) };
        let is_bound = if is_cache { seldom(bytes, 8) } else { bytes.ratio(3, 4) };
        if is_bound {
            let separator = if bound.is_empty() { "" } else { "," };
            let _ = write!(bound, r#"{separator}"{buffer}":{page}"#);
        }
    }
    let mut pages = Vec::new();
    for id in 0..2 {
        let space = match seldom(bytes, 8) {
            true => *bytes.choose(&["SMEM", "GLOBAL_SCRATCH"]),
            false => "HBM",
        };
        let whole = 4 * shared.rows * shared.columns;
        let nbytes = if seldom(bytes, 8) { bytes.between(1, whole) } else { whole };
        pages.push(format!(r#"{{"id":{id},"space":"{space}","nbytes":{nbytes}}}"#));
    }
    format!(r#"{{"buffer_to_page":{{{bound}}},"pages":[{}]}}"#, pages.join(","))
}

/// A target with room for everything, or none.
fn target(bytes: &mut impl Choices) -> String {
    if !seldom(bytes, 4) {
        return "null".to_owned();
    }
    let sms = bytes.between(1, 3);
    format!(
        r#"{{"name":"t","sm_arch":90,"num_sms":{sms},"smem_bytes_per_sm":65536,"smem_bytes_per_block_optin":65536,"regs_per_sm":65536,"max_threads_per_sm":2048,"max_regs_per_thread":255,"l2_bytes":1,"hbm_bytes":1,"hbm_bandwidth_gbs":1,"fp16_tflops":1}}"#
    )
}

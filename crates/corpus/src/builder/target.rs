//! Targets and configs that programs are built with. The numbers describe no product: rules compare them only with
//! other numbers of the same document.

use serde_json::{Value, json};

/// A small target: 4 SMs, 16 KiB of shared memory per block.
pub fn laptop() -> Value {
    json!({
        "name": "lab-4sm", "sm_arch": 80, "num_sms": 4, "smem_bytes_per_sm": 32768,
        "smem_bytes_per_block_optin": 16384, "regs_per_sm": 4096, "max_threads_per_sm": 1024,
        "max_regs_per_thread": 255, "l2_bytes": 1_048_576, "hbm_bytes": 1_073_741_824,
        "hbm_bandwidth_gbs": 100.0, "fp16_tflops": 4.5, "clock_ghz": 1.5, "supports_cooperative": true,
        "wddm_tdr": true, "note": ""
    })
}

/// A large target: 128 SMs, 224 KiB of shared memory per block, with a measured bandwidth.
pub fn server() -> Value {
    json!({
        "name": "lab-128sm", "sm_arch": 90, "num_sms": 128, "smem_bytes_per_sm": 233_472,
        "smem_bytes_per_block_optin": 229_376, "regs_per_sm": 65536, "max_threads_per_sm": 2048,
        "max_regs_per_thread": 255, "l2_bytes": 52_428_800, "hbm_bytes": 85_899_345_920_u64,
        "hbm_bandwidth_gbs": 3350.0, "fp16_tflops": 989.0, "clock_ghz": 1.98, "supports_cooperative": true,
        "wddm_tdr": false, "measured_bw_gbs": 3089.5, "note": "figures for tests"
    })
}

/// A config whose every member differs from its default where that is allowed.
pub fn config() -> Value {
    json!({
        "tiling": {"gemv": {"N_tile": 16}, "attention": {"kv_block": 128}},
        "fusion_grouping": [["rmsnorm", "gemv"], ["silu_mul"]],
        "sm_assignment": "round_robin", "pipelining_depth": 3, "page_allocation": "linear",
        "threads_per_block": 512, "smem_bytes_per_block": 8192
    })
}

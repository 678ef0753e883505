//! AMK IR: data model, JSON reading and writing, rules, diagnostics, protocol.

//! Programs of any size, as JSON text.

pub mod decoder;
pub mod paged;
pub mod random;
pub mod tiles;

use std::fmt::Write;

/// A counter and how many tasks increment it.
pub type Ready = (usize, usize);

/// Collects the records of a program.
#[derive(Default)]
pub struct Writer {
    pub buffers: Vec<String>,
    pub tasks: Vec<String>,
    pub counters: usize,
    pages: Vec<(usize, usize)>,
}

impl Writer {
    pub fn buffer(&mut self, kind: &str, dtype: &str, shape: &str) -> usize {
        let id = self.buffers.len();
        self.buffers.push(format!(
            r#"{{"id":{id},"name":"b{id}","kind":"{kind}","dtype":"{dtype}","shape":{shape},"space":"HBM","source":null}}"#
        ));
        id
    }

    /// Binds a buffer to a page.
    pub fn bind(&mut self, buffer: usize, page: usize) {
        self.pages.push((buffer, page));
    }

    pub fn counter(&mut self) -> usize {
        self.counters += 1;
        self.counters - 1
    }

    /// A task with a counter of its own.
    pub fn task(
        &mut self,
        op: &str,
        inputs: &[usize],
        output: usize,
        waits: &[Ready],
        params: &str,
    ) -> Ready {
        let counter = self.counter();
        self.push(op, inputs, &[output], waits, params, counter);
        (counter, 1)
    }

    /// A task that waits for whole counters.
    pub fn push(
        &mut self,
        op: &str,
        inputs: &[usize],
        outputs: &[usize],
        waits: &[Ready],
        params: &str,
        counter: usize,
    ) {
        let id = self.tasks.len();
        let mut list = String::new();
        for (index, (counter, threshold)) in waits.iter().enumerate() {
            let separator = if index > 0 { "," } else { "" };
            let _ = write!(list, r#"{separator}{{"counter":{counter},"threshold":{threshold}}}"#);
        }
        self.tasks.push(format!(
            r#"{{"id":{id},"op":"{op}","inputs":{inputs:?},"outputs":{outputs:?},"out_counter":{counter},"waits":[{list}],"params":{params},"sm":null,"est_bytes":4096,"est_flops":2048,"label":"{op}[{id}]"}}"#
        ));
    }

    /// The document; every page has `page_bytes`.
    pub fn finish(self, page_bytes: usize) -> String {
        let counters: Vec<String> =
            (0..self.counters).map(|id| format!(r#"{{"id":{id},"init":0,"note":""}}"#)).collect();
        let pages = match self.pages.iter().map(|(_, page)| page + 1).max() {
            None => "null".to_owned(),
            Some(count) => {
                let bound: Vec<String> =
                    self.pages.iter().map(|(buffer, page)| format!(r#""{buffer}":{page}"#)).collect();
                let pages: Vec<String> = (0..count)
                    .map(|id| format!(r#"{{"id":{id},"space":"HBM","nbytes":{page_bytes}}}"#))
                    .collect();
                format!(r#"{{"buffer_to_page":{{{}}},"pages":[{}]}}"#, bound.join(","), pages.join(","))
            }
        };
        format!(
            r#"{{"ir_version":"0.2.0","abi_version":"0.2","meta":{{}},"target":null,"buffers":[{}],"counters":[{}],"tasks":[{}],"pages":{pages},"config":null}}"#,
            self.buffers.join(","),
            counters.join(","),
            self.tasks.join(",")
        )
    }
}

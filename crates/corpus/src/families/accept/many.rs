//! Buffers that dozens or hundreds of tasks write a box of each, and as many read parts of: more boxes, reads and pairs than are looked at
//! one by one.

use megakernel_ir::rule::clause;
use serde_json::Value;

use super::Base;
use crate::builder::{Ctr, DType, Op, ProgramBuilder, Space};

/// A matrix whose rows and columns are cut into so many tiles.
pub struct Grid {
    /// Tiles from top to bottom.
    pub rows: u64,
    /// Tiles from left to right.
    pub columns: u64,
}

/// A few boxes, dozens, and more than 512 accesses, cut into rows, and into rows and columns.
pub const GRIDS: [Grid; 9] = [
    Grid { rows: 18, columns: 1 },
    Grid { rows: 40, columns: 1 },
    Grid { rows: 530, columns: 1 },
    Grid { rows: 3, columns: 7 },
    Grid { rows: 6, columns: 8 },
    Grid { rows: 12, columns: 44 },
    Grid { rows: 3, columns: 11 },
    Grid { rows: 9, columns: 5 },
    Grid { rows: 260, columns: 2 },
];

/// How many rows of a cache are appended.
pub const CACHES: [u64; 3] = [20, 40, 530];

/// How many tasks write each of two buffers of a page, and as many read it, and whether one task alone writes the second, from the first.
/// The greatest make more than 16,384 pairs.
pub const PAGES: [(u64, bool); 4] = [(40, false), (70, false), (40, true), (140, true)];

/// The name of the program with such a page.
pub fn page_base((tasks, turned): (u64, bool)) -> String {
    format!("many/page-{tasks}{}", if turned { "-turned" } else { "" })
}

impl Grid {
    /// The name of its program.
    pub fn base(&self) -> String {
        format!("many/tiles-{}x{}", self.rows, self.columns)
    }

    /// Whether it has less than a hundred tiles.
    pub fn is_small(&self) -> bool {
        self.rows * self.columns < 100
    }

    /// The tiles that can be told apart: the first of the second row, one in the middle, and the last but one of the last row.
    pub fn chosen(&self) -> [(u64, u64); 3] {
        let last = self.columns.saturating_sub(2);
        [(1, 0), (self.rows / 2, self.columns / 2), (self.rows - 1, last)]
    }

    /// Rows of tiles of 2 by 3 elements. In every other row of tiles the first one is narrower by one column, and the last wider.
    pub fn tile(&self, row: u64, column: u64) -> [(&'static str, Value); 5] {
        let edge = |column: u64| match column {
            0 => 0,
            _ if column == self.columns => 3 * column,
            _ => 3 * column - row % 2,
        };
        [
            ("K", 1.into()),
            ("M_tile", 2.into()),
            ("m_off", (2 * row).into()),
            ("N_tile", (edge(column + 1) - edge(column)).into()),
            ("n_off", edge(column).into()),
        ]
    }

    /// `t{row}.{column}` write `h`; `r0`.. read two rows each, of two rows of tiles, when all have written; then `late0`.. write three
    /// tiles again, and `use` reads all of it.
    fn program(&self) -> ProgramBuilder {
        let mut p = ProgramBuilder::new("many");
        let (height, width) = (2 * self.rows, 3 * self.columns);
        let x = p.input("x", DType::F32, &[height, 1]);
        let w = p.input("w", DType::F32, &[width, 1]);
        let h = p.act("h", DType::F32, &[height, width]);
        let (tiles, mut written) = (p.counter("tiles"), Vec::new());
        for row in 0..self.rows {
            for column in 0..self.columns {
                let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[h]).params(&self.tile(row, column));
                let task = task.label(&format!("t{row}.{column}"));
                if self.chosen().contains(&(row, column)) {
                    written.push(task.add());
                } else {
                    task.out(tiles).add();
                }
            }
        }
        written.push(tiles);
        let all = p.task(Op::Nop).after(&written).label("join").add();
        let (v, y) = (p.input("v", DType::F32, &[1, width]), p.output("y", DType::F32, &[height, 1]));
        let read = p.counter("read");
        let mut from = 0;
        for index in 0..self.rows - 1 {
            // Each begins within a row of tiles and ends within the next, but for the first and the last, which have all of one.
            let to = if index + 2 == self.rows { height } else { 2 * index + 3 };
            let params: [(&str, Value); 5] = [
                ("K", width.into()),
                ("M_tile", (to - from).into()),
                ("m_off", from.into()),
                ("N_tile", 1.into()),
                ("n_off", 0.into()),
            ];
            let task = p.task(Op::GemmTile).reads(&[h, v]).writes(&[y]).after(&[all]).out(read);
            task.params(&params).label(&format!("r{index}")).add();
            from = to;
        }
        let mut done = vec![all];
        for (index, &(row, column)) in self.chosen().iter().enumerate() {
            let task = p.task(Op::GemmTile).reads(&[x, w]).writes(&[h]).after(&[read, all]);
            done.push(task.params(&self.tile(row, column)).label(&format!("late{index}")).add());
        }
        let z = p.output("z", DType::F32, &[height, width]);
        p.copy("use", h, z, &done);
        p
    }
}

/// `a0`.. append a row each to a cache; `r0`.. attend to two rows each when all are there, and then `late0`.. write three rows again. All
/// names begin alike.
pub fn add_cache(p: &mut ProgramBuilder, named: &str, rows: u64) {
    let cache = p.cache(&format!("{named}cache"), DType::F32, &[rows, 1, 2]);
    let new = p.input(&format!("{named}new"), DType::F32, &[1, 2]);
    let append = |p: &mut ProgramBuilder, label: &str, row: u64, after: &[Ctr], out: Option<Ctr>| {
        let task = p.task(Op::KvAppend).reads(&[new, cache]).writes(&[cache]).after(after).param("pos", row);
        let task = task.label(label);
        if let Some(out) = out { task.out(out).add() } else { task.add() }
    };
    let (shared, mut written) = (p.counter(&format!("{named}rows")), Vec::new());
    for row in 0..rows {
        let own = chosen_rows(rows).contains(&row);
        let counter = append(p, &format!("{named}a{row}"), row, &[], (!own).then_some(shared));
        if own {
            written.push(counter);
        }
    }
    written.push(shared);
    let all = p.task(Op::Nop).after(&written).label(&format!("{named}join")).add();
    let (q, read) = (p.input(&format!("{named}q"), DType::F32, &[1, 2]), p.counter(&format!("{named}read")));
    for index in 0..rows - 1 {
        let y = p.output(&format!("{named}y{index}"), DType::F32, &[1, 2]);
        let params: [(&str, Value); 6] = [
            ("head_dim", 2.into()),
            ("kv_start", index.into()),
            ("kv_len", 2.into()),
            ("scale", 0.5.into()),
            ("n_heads", 1.into()),
            ("n_kv_heads", 1.into()),
        ];
        let task = p.task(Op::AttentionTile).reads(&[q, cache, cache]).writes(&[y]).after(&[all]).out(read);
        task.params(&params).label(&format!("{named}r{index}")).add();
    }
    for (index, &row) in chosen_rows(rows).iter().enumerate() {
        append(p, &format!("{named}late{index}"), row, &[read, all], None);
    }
}

/// The rows whose appends can be told apart.
pub fn chosen_rows(rows: u64) -> [u64; 3] {
    [0, rows / 2, rows - 1]
}

/// Two buffers of one page. `a0`.. write a column each of the first, and `ra0`.. read all of it; when these have read, `b0`.. write the
/// second, or `b0` turns the first into it, and `rb0`.. read that.
fn page(tasks: u64, turned: bool) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("many");
    let x = p.input("x", DType::F32, &[1, 1]);
    let w = p.input("w", DType::F32, &[tasks, 1]);
    let [a, b] = ["a", "b"].map(|name| p.act(name, DType::F32, &[1, tasks]));
    let mut after: Vec<Ctr> = Vec::new();
    for (name, buffer) in [("a", a), ("b", b)] {
        let mut written = Vec::new();
        if turned && buffer == b {
            written.push(p.copy("b0", a, b, &after));
        } else {
            let most = p.counter(&format!("most of {name} is written"));
            for index in 0..tasks {
                let task = p.task(Op::GemvTile).reads(&[x, w]).writes(&[buffer]).after(&after);
                let task = task.param("K", 1).param("N_tile", 1).param("n_off", index);
                let task = task.label(&format!("{name}{index}"));
                let task = if index + 1 == tasks { task } else { task.out(most) };
                written.push(task.add());
            }
        }
        let most = p.counter(&format!("most have read {name}"));
        let mut read = Vec::new();
        for index in 0..tasks {
            let y = p.output(&format!("y{name}{index}"), DType::F32, &[1, tasks]);
            let task = p.task(Op::Copy).reads(&[buffer]).writes(&[y]).after(&written);
            let task = task.label(&format!("r{name}{index}"));
            read.push(if index == tasks / 2 { task.add() } else { task.out(most).add() });
        }
        after = read;
    }
    let page = p.page(Space::Hbm, 4 * tasks);
    for buffer in [a, b] {
        p.place(buffer, page);
    }
    p
}

/// The accepted programs of this file.
pub fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for grid in &GRIDS {
        let summary = format!(
            "{} by {} tiles of a matrix, of which every other row is shifted, and readers of rows across them",
            grid.rows, grid.columns
        );
        bases.push(Base::new(grid.base(), summary, &[clause::EXE_04, clause::EXE_07], grid.program()));
    }
    for rows in CACHES {
        let summary = format!("{rows} appends to a cache, and a window over every two rows");
        let clauses = [clause::EXE_04, clause::EXE_08];
        let mut p = ProgramBuilder::new("many");
        add_cache(&mut p, "", rows);
        bases.push(Base::new(format!("many/rows-{rows}"), summary, &clauses, p));
    }
    for (tasks, turned) in PAGES {
        let how =
            if turned { "of which one task turns one into the other" } else { "each written by as many" };
        let summary = format!("two buffers of one page, each read by {tasks} tasks, {how}");
        let base = page_base((tasks, turned));
        bases.push(Base::new(base, summary, &[clause::PAG_02, clause::EXE_10], page(tasks, turned)));
    }
    bases
}

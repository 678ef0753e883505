//! Irregular tiles of one matrix, which cut each other into more cells than there are pairs of them.

#![allow(dead_code, reason = "each of those who share these programs uses some")]

use megakernel_ir::prng::SplitMix64;

use super::{Ready, Writer};

/// Extents of the matrix: so many that tiles seldom share a cut.
const ROWS: usize = 100_003;
const COLUMNS: usize = 100_019;

/// First row and column, and how many of each.
type Tile = [usize; 4];

struct TiledMatrix {
    writer: Writer,
    prng: SplitMix64,
    /// `[ROWS, 1]`, `[COLUMNS, 1]`, `[1, COLUMNS]`, the matrix, and another one to copy from.
    column: usize,
    row: usize,
    ones: usize,
    matrix: usize,
    source: usize,
}

impl TiledMatrix {
    /// With a matrix of this kind.
    fn new(kind: &str, seed: u64) -> TiledMatrix {
        let mut writer = Writer::default();
        let column = writer.buffer("IO_INPUT", "F32", &format!("[{ROWS},1]"));
        let row = writer.buffer("CONST", "F32", &format!("[{COLUMNS},1]"));
        let ones = writer.buffer("CONST", "F32", &format!("[1,{COLUMNS}]"));
        let matrix = writer.buffer(kind, "F32", &format!("[{ROWS},{COLUMNS}]"));
        let source = writer.buffer("IO_INPUT", "F32", &format!("[{ROWS},{COLUMNS}]"));
        TiledMatrix { writer, prng: SplitMix64::new(seed), column, row, ones, matrix, source }
    }

    fn write(&mut self, [m_off, m, n_off, n]: Tile, waits: &[Ready], counter: usize) {
        let params = format!(r#"{{"K":1,"N_tile":{n},"n_off":{n_off},"M_tile":{m},"m_off":{m_off}}}"#);
        let (inputs, outputs) = ([self.column, self.row], [self.matrix]);
        self.writer.push("GEMM_TILE", &inputs, &outputs, waits, &params, counter);
    }

    /// Reads some rows into a buffer of its own.
    fn read(&mut self, [m_off, m]: [usize; 2], waits: &[Ready], counter: usize) {
        let own = self.writer.buffer("ACTIVATION", "F32", &format!("[{ROWS},1]"));
        let params = format!(r#"{{"K":{COLUMNS},"N_tile":1,"n_off":0,"M_tile":{m},"m_off":{m_off}}}"#);
        self.writer.push("GEMM_TILE", &[self.matrix, self.ones], &[own], waits, &params, counter);
    }

    fn tile(&mut self) -> Tile {
        let ([m_off, m], [n_off, n]) = (self.interval(ROWS), self.interval(COLUMNS));
        [m_off, m, n_off, n]
    }

    fn interval(&mut self, extent: usize) -> [usize; 2] {
        let first = self.prng.index(extent);
        [first, 1 + self.prng.index(extent - first)]
    }

    /// Takes a tile apart at random places until there are so many.
    fn split(&mut self, whole: Tile, count: usize) -> Vec<Tile> {
        let mut tiles = vec![whole];
        while tiles.len() < count {
            let index = self.prng.index(tiles.len());
            let axis = 2 * self.prng.index(2);
            let [first, length] = [tiles[index][axis], tiles[index][axis + 1]];
            if length > 1 {
                let part = 1 + self.prng.index(length - 1);
                let mut other = tiles[index];
                tiles[index][axis + 1] = part;
                other[axis] = first + part;
                other[axis + 1] = length - part;
                tiles.push(other);
            }
        }
        tiles
    }
}

/// One tile after the other, anywhere and of any size, then readers of any rows, a tenth of the tasks. With a copy of the
/// whole before them, if `is_filled`; without it, nearly every reader reads elements that nobody has written.
pub fn chain(tasks: usize, seed: u64, is_filled: bool) -> String {
    let mut tiled = TiledMatrix::new("ACTIVATION", seed);
    let mut last: Vec<Ready> = Vec::new();
    if is_filled {
        last = vec![tiled.writer.task("COPY", &[tiled.source], tiled.matrix, &[], "{}")];
    }
    for _ in 0..tasks - tasks / 10 {
        let (tile, counter) = (tiled.tile(), tiled.writer.counter());
        tiled.write(tile, &last, counter);
        last = vec![(counter, 1)];
    }
    for _ in 0..tasks / 10 {
        let (rows, counter) = (tiled.interval(ROWS), tiled.writer.counter());
        tiled.read(rows, &last, counter);
    }
    tiled.writer.finish(0)
}

/// Phases in each of which the matrix is written by so many disjoint tiles and then read; a phase waits for the one before.
pub fn phases(tasks: usize, tiles: usize, seed: u64) -> String {
    let mut tiled = TiledMatrix::new("ACTIVATION", seed);
    let mut last: Vec<Ready> = Vec::new();
    while tiled.writer.tasks.len() < tasks {
        let (written, read) = (tiled.writer.counter(), tiled.writer.counter());
        for tile in tiled.split([0, ROWS, 0, COLUMNS], tiles) {
            tiled.write(tile, &last, written);
        }
        let readers = tiles.div_ceil(4);
        for _ in 0..readers {
            let rows = tiled.interval(ROWS);
            tiled.read(rows, &[(written, tiles)], read);
        }
        last = vec![(written, tiles), (read, readers)];
    }
    tiled.writer.finish(0)
}

/// Tiles anywhere and of any size, in no order.
pub fn unordered(tasks: usize, seed: u64) -> String {
    let mut tiled = TiledMatrix::new("ACTIVATION", seed);
    for _ in 0..tasks {
        let (tile, counter) = (tiled.tile(), tiled.writer.counter());
        tiled.write(tile, &[], counter);
    }
    tiled.writer.finish(0)
}

/// Copies of one buffer to another, in no order; every fourth copies back from there.
pub fn copies(tasks: usize) -> String {
    let mut tiled = TiledMatrix::new("ACTIVATION", 0);
    for index in 0..tasks {
        let (mut from, mut to) = (tiled.source, tiled.matrix);
        if index % 4 == 3 {
            (from, to) =
                (tiled.matrix, tiled.writer.buffer("ACTIVATION", "F32", &format!("[{ROWS},{COLUMNS}]")));
        }
        tiled.writer.task("COPY", &[from], to, &[], "{}");
    }
    tiled.writer.finish(0)
}

/// When the first of the tiles that overtake reads is written.
#[derive(Clone, Copy)]
pub enum FirstTile {
    /// In no order with the reads, like the others.
    Beside,
    /// After them.
    After,
    /// Not at all.
    Never,
}

/// Tasks that read any rows while others write disjoint tiles, which together are the whole and begin late; a first column is
/// written before the reads and once more after them. So every read races and is overtaken, and none lacks an element, unless the
/// first of the tiles is written after the reads, or never.
pub fn overtaken(readers: usize, tiles: usize, seed: u64, first_tile: FirstTile) -> String {
    let mut tiled = TiledMatrix::new("ACTIVATION", seed);
    let [first, second, read, last] = [0; 4].map(|_| tiled.writer.counter());
    let column = [0, ROWS, 0, 1];
    tiled.write(column, &[], first);
    for _ in 0..readers {
        let rows = tiled.interval(ROWS);
        tiled.read(rows, &[(first, 1)], read);
    }
    tiled.write(column, &[(read, readers)], second);
    let mut late = (first, 1);
    for _ in 0..3 {
        let own = tiled.writer.buffer("ACTIVATION", "F32", &format!("[{ROWS},{COLUMNS}]"));
        late = tiled.writer.task("COPY", &[tiled.source], own, &[late], "{}");
    }
    for (index, tile) in tiled.split([0, ROWS, 0, COLUMNS], tiles).into_iter().enumerate() {
        match first_tile {
            FirstTile::After if index == 0 => tiled.write(tile, &[(read, readers)], last),
            FirstTile::Never if index == 0 => {}
            _ => tiled.write(tile, &[late], last),
        }
    }
    tiled.writer.finish(0)
}

/// Tasks that read any rows of a cache, and others that write tiles anywhere after them, one after the other.
pub fn stale(readers: usize, tiles: usize, seed: u64) -> String {
    let mut tiled = TiledMatrix::new("KV_CACHE", seed);
    let read = tiled.writer.counter();
    for _ in 0..readers {
        let rows = tiled.interval(ROWS);
        tiled.read(rows, &[], read);
    }
    let mut last = (read, readers);
    for _ in 0..tiles {
        let (tile, counter) = (tiled.tile(), tiled.writer.counter());
        tiled.write(tile, &[last], counter);
        last = (counter, 1);
    }
    tiled.writer.finish(0)
}

/// Disjoint tiles, of which the first is `left_out` or is not, then a task that changes the whole in place, and a tile that is
/// written once more after it. The task waits for all tiles of a cache, and for the first column alone of other matrices.
pub fn in_place(kind: &str, tiles: usize, left_out: bool, again: usize, seed: u64) -> String {
    let mut tiled = TiledMatrix::new(kind, seed);
    let [written, column] = [0; 2].map(|_| tiled.writer.counter());
    tiled.write([0, ROWS, 0, 1], &[], column);
    let all = tiled.split([0, ROWS, 1, COLUMNS - 1], tiles);
    let first = if left_out { &all[1..] } else { &all[..] };
    for &tile in first {
        tiled.write(tile, &[], written);
    }
    let mut waits = vec![(column, 1)];
    if kind == "KV_CACHE" {
        waits.push((written, first.len()));
    }
    let changed = tiled.writer.task("GELU", &[tiled.matrix], tiled.matrix, &waits, "{}");
    let counter = tiled.writer.counter();
    waits.push(changed);
    tiled.write(all[again], &waits, counter);
    tiled.writer.finish(0)
}

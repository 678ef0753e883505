//! Both ways over the bridge.

mod current;
mod decoder;
mod exporting;
mod graphs;
mod importing;
mod ranks;
mod real;

//! What the tests share.

pub mod corpus;
pub mod driver;
pub mod fewer;
pub mod worker;
pub mod wrong;

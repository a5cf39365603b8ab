//! Memory from fixed-size blocks: a heap as the global allocator of a program, and pools that need no heap.
//!
//! ```
//! # #[cfg(feature = "heap")] {
//! #[global_allocator]
//! static GLOBAL: ashlar::Ashlar = ashlar::Ashlar;
//!
//! let squares: Vec<u64> = (0..1000).map(|i| i * i).collect();
//! assert_eq!(squares[999], 998_001);
//! # }
//! ```
//!
//! [`StaticPool`] needs no C++ compiler, no system and no `std`: it is what is left with
//! `default-features = false`.
#![no_std]
#![warn(missing_docs)]

#[cfg(feature = "heap")]
mod heap;
mod pool;
#[cfg(target_os = "linux")]
mod tag;

#[cfg(feature = "heap")]
pub use heap::Ashlar;
pub use pool::{PoolBox, StaticPool};
#[cfg(target_os = "linux")]
pub use tag::with_tag;

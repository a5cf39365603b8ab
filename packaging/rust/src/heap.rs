//! The heap of the process, by its C++ library.
use core::alloc::{GlobalAlloc, Layout};
use core::ptr;

extern "C" {
    fn ashlar_rust_alloc(size: usize, alignment: usize) -> *mut u8;
    fn ashlar_rust_alloc_zeroed(size: usize, alignment: usize) -> *mut u8;
    fn ashlar_rust_dealloc(block: *mut u8);
    fn ashlar_rust_realloc(block: *mut u8, size: usize) -> *mut u8;
    fn ashlar_trim() -> usize;
}

/// What every block is aligned to, also after `ashlar_rust_realloc` has moved it.
const GRANULE: usize = 16;

/// The heap of the process. All values of the type are the same heap.
///
/// Any thread may free what another one allocated. A process may fork. A free of what is no live block
/// ends the process with one line on standard error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ashlar;

// SAFETY: blocks do not overlap, have the size and alignment of their layout, and stay where they are
// until they are freed. Nothing here unwinds.
unsafe impl GlobalAlloc for Ashlar {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ashlar_rust_alloc(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        ashlar_rust_dealloc(block);
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ashlar_rust_alloc_zeroed(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if layout.align() <= GRANULE {
            return ashlar_rust_realloc(block, new_size);
        }
        let moved = ashlar_rust_alloc(new_size, layout.align());
        if !moved.is_null() {
            ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size));
            ashlar_rust_dealloc(block);
        }
        moved
    }
}

impl Ashlar {
    /// Gives the free memory of the heap, and of the calling thread's cache, back to the system now.
    /// Returns the bytes that went back. Otherwise that happens a second after their last use.
    pub fn trim(&self) -> usize {
        // SAFETY: it may be called by any thread at any time.
        unsafe { ashlar_trim() }
    }
}

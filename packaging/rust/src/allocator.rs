//! The trait of collections that take an allocator.
use allocator_api2::alloc::{AllocError, Allocator};
use core::alloc::Layout;
use core::ptr::{self, NonNull};

use crate::StaticPool;

/// What is in no block, because it has no bytes.
pub(crate) fn empty(layout: Layout) -> NonNull<[u8]> {
    // SAFETY: no alignment is 0.
    let place = unsafe { NonNull::new_unchecked(ptr::null_mut::<u8>().wrapping_add(layout.align())) };
    NonNull::slice_from_raw_parts(place, 0)
}

pub(crate) fn is_aligned(block: NonNull<u8>, to: Layout) -> bool {
    block.as_ptr() as usize % to.align() == 0
}

// SAFETY: blocks do not overlap, and stay where they are while the pool is borrowed. A pool that moved
// would take them along, so it is no allocator itself. Its references are the same one.
unsafe impl<T, const N: usize> Allocator for &StaticPool<T, N> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(empty(layout));
        }
        let room = StaticPool::<T, N>::BLOCK;
        if layout.size() > room.size() || layout.align() > room.align() {
            return Err(AllocError);
        }
        let block = self.take().ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(block.cast(), layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            self.give(block.cast());
        }
    }

    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        from: Layout,
        to: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if from.size() == 0 {
            return self.allocate(to);
        }
        self.shrink(block, from, to)
    }

    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        from: Layout,
        to: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let room = StaticPool::<T, N>::BLOCK;
        if to.size() == 0 {
            self.deallocate(block, from);
            return Ok(empty(to));
        }
        if to.size() > room.size() || to.align() > room.align() {
            return Err(AllocError);
        }
        Ok(NonNull::slice_from_raw_parts(self.whole(block.cast()).cast(), to.size()))
    }
}

#[cfg(feature = "heap")]
mod of_heaps {
    use super::*;
    use crate::{heap::Blocks, Ashlar, Heap};

    fn block_of(block: *mut u8, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let block = NonNull::new(block).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    macro_rules! allocator_by_blocks {
        ($heap:ty) => {
            // SAFETY: as of Blocks. Copies of an Ashlar are the same heap, and a Heap has none.
            unsafe impl Allocator for $heap {
                #[inline]
                fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                    if layout.size() == 0 {
                        return Ok(empty(layout));
                    }
                    block_of(self.take(layout), layout)
                }

                #[inline]
                fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                    if layout.size() == 0 {
                        return Ok(empty(layout));
                    }
                    block_of(self.take_zeroed(layout), layout)
                }

                #[inline]
                unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
                    if layout.size() != 0 {
                        self.give(block.as_ptr());
                    }
                }

                #[inline]
                unsafe fn grow(
                    &self,
                    block: NonNull<u8>,
                    from: Layout,
                    to: Layout,
                ) -> Result<NonNull<[u8]>, AllocError> {
                    if from.size() == 0 {
                        return self.allocate(to);
                    }
                    block_of(self.change(block.as_ptr(), from, to), to)
                }

                unsafe fn shrink(
                    &self,
                    block: NonNull<u8>,
                    from: Layout,
                    to: Layout,
                ) -> Result<NonNull<[u8]>, AllocError> {
                    if to.size() == 0 {
                        self.deallocate(block, from);
                        return Ok(empty(to));
                    }
                    block_of(self.change(block.as_ptr(), from, to), to)
                }
            }
        };
    }
    allocator_by_blocks!(Ashlar);
    allocator_by_blocks!(Heap);
}

//! Memory that goes together.
use allocator_api2::alloc::{AllocError, Allocator};
use core::alloc::Layout;
use core::cell::Cell;
use core::{fmt, mem};
use core::ptr::{self, NonNull};

use crate::allocator::{empty, is_aligned};

/// What is at the start of a piece of memory from the source.
struct Chunk {
    older: Option<NonNull<Chunk>>,
    layout: Layout,
}

const FIRST_BYTES: usize = 4096;
const LAST_BYTES: usize = 1 << 20;

/// Memory from another allocator, in large chunks: an allocation moves a pointer, and all of it is free
/// at once, by [`reset`](Arena::reset) or when the arena goes.
///
/// The newest block grows and shrinks in place, and its bytes are used again when it is freed; those of
/// other blocks wait for the reset. Chunks double, from 4 KiB to 1 MiB. When the source has no more, as a
/// [`Heap`](crate::Heap) whose budget is used up, that is an [`AllocError`].
///
/// ```
/// use allocator_api2::{boxed::Box, vec::Vec};
///
/// let mut frame = ashlar::Arena::new_in(allocator_api2::alloc::Global); // or Ashlar, or &heap
/// for round in 0..100 {
///     let mut words: Vec<u64, _> = Vec::new_in(&frame);
///     words.extend(0..1000);
///     let count = Box::new_in(words.len() + round, &frame);
///     assert!(*count >= 1000);
///     drop((words, count));
///     frame.reset();
/// }
/// ```
///
/// Nothing in an arena outlives it or its reset, and it belongs to one thread at a time:
/// ```compile_fail,E0502
/// use allocator_api2::{alloc::Global, boxed::Box};
/// let mut frame = ashlar::Arena::new_in(Global);
/// let kept = Box::new_in(1, &frame);
/// frame.reset();
/// assert_eq!(*kept, 1);
/// ```
/// ```compile_fail,E0277
/// use allocator_api2::{alloc::Global, boxed::Box};
/// let frame = ashlar::Arena::new_in(Global);
/// std::thread::scope(|scope| {
///     scope.spawn(|| Box::new_in(1, &frame));
/// });
/// ```
pub struct Arena<A: Allocator> {
    top: Cell<*mut u8>, // of the newest chunk: what is from here to its end is free
    end: Cell<*mut u8>,
    newest: Cell<Option<NonNull<Chunk>>>,
    source: A,
}

// SAFETY: its chunks are its own.
unsafe impl<A: Allocator + Send> Send for Arena<A> {}

impl<A: Allocator> Arena<A> {
    /// An arena without a chunk yet.
    pub const fn new_in(source: A) -> Self {
        Self {
            top: Cell::new(ptr::null_mut()),
            end: Cell::new(ptr::null_mut()),
            newest: Cell::new(None),
            source,
        }
    }

    /// All blocks are free. The newest chunk stays, and the others go back to the source.
    /// What was forgotten in the arena is not dropped.
    pub fn reset(&mut self) {
        if let Some(newest) = self.newest.get() {
            // SAFETY: nobody has a block any more.
            unsafe {
                self.give((*newest.as_ptr()).older.take());
                self.top.set(newest.as_ptr().add(1).cast());
            }
        }
    }

    /// Gives a chunk, and those that are older, to the source.
    unsafe fn give(&self, mut newest: Option<NonNull<Chunk>>) {
        while let Some(chunk) = newest {
            let Chunk { older, layout } = chunk.as_ptr().read();
            self.source.deallocate(chunk.cast(), layout);
            newest = older;
        }
    }

    /// The newest chunk's next bytes, if it has so many.
    #[inline]
    fn bump(&self, layout: Layout) -> Option<NonNull<[u8]>> {
        let top = self.top.get();
        let padding = (top as usize).wrapping_neg() & (layout.align() - 1);
        let room = self.end.get() as usize - top as usize;
        if padding > room || layout.size() > room - padding {
            return None;
        }
        let block = top.wrapping_add(padding);
        self.top.set(block.wrapping_add(layout.size()));
        // A size that is not 0 is in a chunk.
        Some(NonNull::slice_from_raw_parts(NonNull::new(block)?, layout.size()))
    }

    #[cold]
    fn bump_in_new_chunk(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        let needed = (layout.size().checked_add(layout.align()))
            .and_then(|bytes| bytes.checked_add(mem::size_of::<Chunk>()))
            .ok_or(AllocError)?;
        // SAFETY: a chunk in the list is whole.
        let last = self.newest.get().map_or(0, |chunk| unsafe { (*chunk.as_ptr()).layout.size() });
        let usual = last.saturating_mul(2).clamp(FIRST_BYTES, LAST_BYTES);
        let get = |bytes| {
            let layout = Layout::from_size_align(bytes, mem::align_of::<Chunk>()).map_err(|_| AllocError)?;
            Ok((self.source.allocate(layout)?.cast::<Chunk>(), layout))
        };
        let (chunk, layout_of_chunk) = get(usual.max(needed)).or_else(|_: AllocError| get(needed))?;
        let older = self.newest.get();
        // SAFETY: the chunk is as large as that.
        unsafe {
            chunk.as_ptr().write(Chunk { older, layout: layout_of_chunk });
            self.top.set(chunk.as_ptr().add(1).cast());
            self.end.set(chunk.as_ptr().cast::<u8>().add(layout_of_chunk.size()));
        }
        self.newest.set(Some(chunk));
        self.bump(layout).ok_or(AllocError)
    }

    /// The block, if it is the newest one, so that the bytes after it are free. A block without bytes is none.
    /// It is returned as the chunk's pointer: that of a Box may be for the object's bytes alone.
    #[inline]
    fn newest_block(&self, block: NonNull<u8>, layout: Layout) -> Option<NonNull<u8>> {
        let begin = NonNull::new(self.top.get().wrapping_sub(layout.size()))?;
        (layout.size() != 0 && begin == block).then_some(begin)
    }

    #[inline]
    unsafe fn move_block(
        &self,
        block: NonNull<u8>,
        from: Layout,
        to: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let moved = self.allocate(to)?;
        let bytes = from.size().min(to.size());
        moved.cast::<u8>().as_ptr().copy_from_nonoverlapping(block.as_ptr(), bytes);
        Ok(moved)
    }
}

impl<A: Allocator> Drop for Arena<A> {
    fn drop(&mut self) {
        // SAFETY: nobody has a block any more.
        unsafe { self.give(self.newest.get()) }
    }
}

impl<A: Allocator> fmt::Debug for Arena<A> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let room = self.end.get() as usize - self.top.get() as usize;
        write!(to, "Arena, {room} bytes left in its newest chunk")
    }
}

// SAFETY: blocks do not overlap and stay, since what frees the chunks needs the arena for itself. All
// references to an arena are the same allocator.
unsafe impl<A: Allocator> Allocator for &Arena<A> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(empty(layout));
        }
        match self.bump(layout) {
            Some(block) => Ok(block),
            None => self.bump_in_new_chunk(layout),
        }
    }

    #[inline]
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if let Some(begin) = self.newest_block(block, layout) {
            self.top.set(begin.as_ptr());
        }
    }

    #[inline]
    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        from: Layout,
        to: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let room = self.end.get() as usize - self.top.get() as usize;
        match self.newest_block(block, from) {
            Some(begin) if to.size() - from.size() <= room && is_aligned(begin, to) => {
                self.top.set(begin.as_ptr().add(to.size()));
                Ok(NonNull::slice_from_raw_parts(begin, to.size()))
            }
            _ => self.move_block(block, from, to),
        }
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
        if !is_aligned(block, to) {
            return self.move_block(block, from, to);
        }
        if let Some(begin) = self.newest_block(block, from) {
            self.top.set(begin.as_ptr().add(to.size()));
        }
        Ok(NonNull::slice_from_raw_parts(block, to.size()))
    }
}

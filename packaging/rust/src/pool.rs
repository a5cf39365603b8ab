//! Pools whose storage is in the object.
use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::fmt;
use core::hint;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};

/// An object, or the number of the next free block.
pub(crate) union Block<T> {
    _object: ManuallyDrop<T>,
    next: usize,
}

/// Blocks from `fresh` on were never used; those on the list that begins with `free` were given back.
struct State {
    free: usize, // as many as there are blocks: the list is empty
    fresh: usize,
    in_use: usize,
    peak: usize,
}

/// Room for `N` objects of one type, inside of this object: no heap, no system, constant time.
///
/// Any thread may make an object and drop what another one has made. A lock that spins guards the pool,
/// so an interrupt handler may not use a pool that it may interrupt.
///
/// ```
/// use ashlar::{PoolBox, StaticPool};
///
/// static MESSAGES: StaticPool<[u8; 64], 16> = StaticPool::new();
///
/// let mut message: PoolBox<[u8; 64], 16> = MESSAGES.create([0; 64]).expect("16 are in use");
/// message[0] = 7;
/// assert_eq!(MESSAGES.in_use(), 1);
/// drop(message);
/// assert_eq!(MESSAGES.in_use(), 0);
/// ```
///
/// With the feature `allocator-api2`, `&MESSAGES` is an allocator: whatever fits into a block gets one.
pub struct StaticPool<T, const N: usize> {
    is_locked: AtomicBool,
    state: UnsafeCell<State>,
    blocks: UnsafeCell<[MaybeUninit<Block<T>>; N]>, // by raw pointers alone: others have references into it
}

// SAFETY: the state and free blocks are used with the lock only, and objects go to other threads by a PoolBox.
unsafe impl<T: Send, const N: usize> Sync for StaticPool<T, N> {}

impl<T, const N: usize> StaticPool<T, N> {
    pub(crate) const BLOCK: Layout = Layout::new::<Block<T>>();

    /// An empty pool. O(1): the blocks are not touched before they are used.
    pub const fn new() -> Self {
        Self {
            is_locked: AtomicBool::new(false),
            state: UnsafeCell::new(State {
                free: N,
                fresh: 0,
                in_use: 0,
                peak: 0,
            }),
            blocks: UnsafeCell::new([const { MaybeUninit::uninit() }; N]),
        }
    }

    /// Moves `value` into a block. If all `N` are in use, returns the value. O(1).
    pub fn create(&self, value: T) -> Result<PoolBox<'_, T, N>, T> {
        match self.take() {
            None => Err(value),
            Some(block) => {
                let object = block.cast::<T>();
                // SAFETY: the block is this call's alone.
                unsafe { object.as_ptr().write(value) };
                Ok(PoolBox { object, pool: self })
            }
        }
    }

    /// How many objects there is room for.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// How many objects there are.
    pub fn in_use(&self) -> usize {
        self.with(|state| state.in_use)
    }

    /// How many objects there were at most: the `N` that would have been enough.
    pub fn peak(&self) -> usize {
        self.with(|state| state.peak)
    }

    /// A block that nobody else has.
    pub(crate) fn take(&self) -> Option<NonNull<Block<T>>> {
        self.with(|state| {
            let number = state.free.min(state.fresh);
            if number == N {
                return None;
            }
            // SAFETY: it is one of the N blocks.
            let block = unsafe { self.first_block().add(number) };
            if number == state.fresh {
                state.fresh += 1;
            } else {
                // SAFETY: what is on the list has a number in it.
                state.free = unsafe { (*block).next };
            }
            state.in_use += 1;
            state.peak = state.peak.max(state.in_use);
            NonNull::new(block)
        })
    }

    /// Takes a block back that nobody uses any more.
    pub(crate) fn give(&self, block: NonNull<Block<T>>) {
        self.with(|state| {
            let block = self.whole(block).as_ptr();
            // SAFETY: it is one of the N blocks.
            unsafe { (*block).next = state.free };
            state.free = (block as usize - self.first_block() as usize) / Self::BLOCK.size();
            state.in_use -= 1;
        });
    }

    /// The block at an address, as the pool's pointer: that of a Box may be for the object's bytes alone.
    pub(crate) fn whole(&self, block: NonNull<Block<T>>) -> NonNull<Block<T>> {
        let first = self.first_block().cast::<u8>();
        let place = first.wrapping_add(block.as_ptr() as usize - first as usize);
        // SAFETY: it is where the block is.
        unsafe { NonNull::new_unchecked(place.cast()) }
    }

    fn first_block(&self) -> *mut Block<T> {
        self.blocks.get().cast()
    }

    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        while self.is_locked.swap(true, Ordering::Acquire) {
            hint::spin_loop();
        }
        // SAFETY: the lock is this call's. What is done with it does not panic.
        let result = act(unsafe { &mut *self.state.get() });
        self.is_locked.store(false, Ordering::Release);
        result
    }
}

impl<T, const N: usize> Default for StaticPool<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> fmt::Debug for StaticPool<T, N> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "StaticPool of {N}, {} in use", self.in_use())
    }
}

/// An object in a block of a [`StaticPool`], to which the block goes back when this is dropped.
pub struct PoolBox<'a, T, const N: usize> {
    object: NonNull<T>,
    pool: &'a StaticPool<T, N>,
}

// SAFETY: it owns the object, as a Box does.
unsafe impl<T: Send, const N: usize> Send for PoolBox<'_, T, N> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize> Sync for PoolBox<'_, T, N> {}

impl<T, const N: usize> PoolBox<'_, T, N> {
    /// Moves the object out, and gives the block back.
    pub fn into_inner(this: Self) -> T {
        let this = ManuallyDrop::new(this);
        // SAFETY: nobody reads the object again.
        let object = unsafe { this.object.as_ptr().read() };
        this.pool.give(this.object.cast());
        object
    }
}

impl<T, const N: usize> Deref for PoolBox<'_, T, N> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the object lives as long as this.
        unsafe { self.object.as_ref() }
    }
}

impl<T, const N: usize> DerefMut for PoolBox<'_, T, N> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.object.as_mut() }
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for PoolBox<'_, T, N> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(to)
    }
}

impl<T, const N: usize> Drop for PoolBox<'_, T, N> {
    fn drop(&mut self) {
        /// Also when the object's own drop panics.
        struct Gives<'a, T, const N: usize>(&'a StaticPool<T, N>, NonNull<T>);
        impl<T, const N: usize> Drop for Gives<'_, T, N> {
            fn drop(&mut self) {
                self.0.give(self.1.cast());
            }
        }
        let gives = Gives(self.pool, self.object);
        // SAFETY: the object lives until here.
        unsafe { ptr::drop_in_place(gives.1.as_ptr()) };
    }
}

/* tests/spin/tagged_stack.pml: core/tagged_stack.hpp as a model for Spin: what several threads do to a stack of
 * block numbers, one shared access a step, in every order.
 *
 * TAG_VALUES   how many values the tag has. 256 stands for one that does not wrap while a thread is interrupted:
 *              all threads together change the head less often than that. 1 is a stack without a tag. 2 wraps.
 * THREADS      each does OPERATIONS pops or pushes of what it holds, whichever. Two with 5 and three with 2 are what
 *              the test checks; three with 3 are 7.3 million states (35 s, 0.4 GB), verified by hand.
 * Checked:     no block has two holders, and at the end each block is held or on the stack, once.
 * Not in it:   the memory order. Every access is seen by all at once (tests/interleave looks at what the order of
 *              the release and acquire operations hands over).
 */
#if !defined(TAG_VALUES) || !defined(THREADS) || !defined(OPERATIONS)
#error "choose: spin -DTAG_VALUES=256 -DTHREADS=2 -DOPERATIONS=4"
#endif
#define BLOCKS 3
#define NOBODY 255

/* The head's two halves; one word in the code, so both change in one step. A top is a block's number + 1. */
byte head_top;
byte head_tag;
byte links[BLOCKS];

byte holder[BLOCKS];
byte finished;

/* compare_exchange_weak: may fail for no reason; when it fails, the caller sees what the head is. */
inline exchange_head(seen_top, seen_tag, new_top, done) {
  atomic {
    if
    :: head_top == seen_top && head_tag == seen_tag ->
       printf("thread %d changes %d to %d\n", self, seen_top, new_top);
       head_top = new_top;
       head_tag = (head_tag + 1) % TAG_VALUES;
       done = true
    :: done = false;
       printf("thread %d sees %d\n", self, head_top);
       seen_top = head_top;
       seen_tag = head_tag
    fi
  }
}

inline load_head(seen_top, seen_tag) {
  atomic {
    printf("thread %d sees %d\n", self, head_top);
    seen_top = head_top;
    seen_tag = head_tag
  }
}

inline push(b) {
  load_head(top, tag);
  done = false;
  do
  :: !done ->
     links[b] = top;
     exchange_head(top, tag, b + 1, done)
  :: else -> break
  od
}

/* Leaves the block in `b`, or NOBODY when the stack was empty. */
inline pop(b) {
  load_head(top, tag);
  done = false;
  do
  :: !done && top != 0 ->
     below = links[top - 1];
     b = top - 1;
     exchange_head(top, tag, below, done)
  :: !done && top == 0 -> b = NOBODY; break
  :: done -> break
  od
}

inline check_the_end() {
  d_step {
    byte at = head_top;
    byte length = 0;
    do
    :: at != 0 ->
       assert(holder[at - 1] == NOBODY);
       length++;
       assert(length <= BLOCKS);
       at = links[at - 1]
    :: else -> break
    od;
    at = 0;
    do
    :: at < BLOCKS ->
       if
       :: holder[at] != NOBODY -> length++
       :: else
       fi;
       at++
    :: else -> break
    od;
    assert(length == BLOCKS);
    at = 0;
    length = 0
  }
}

proctype thread(byte self) {
  byte top, tag, below, b, n;
  bool done;
  do
  :: n < OPERATIONS ->
     n++;
     if
     :: pop(b);
        if
        :: b != NOBODY ->
           atomic {
             assert(holder[b] == NOBODY);
             holder[b] = self
           }
        :: else
        fi
     :: atomic {  /* any block that is ours goes back */
          if
          :: holder[0] == self -> b = 0
          :: holder[1] == self -> b = 1
          :: holder[2] == self -> b = 2
          :: else -> b = NOBODY
          fi;
          if
          :: b != NOBODY -> holder[b] = NOBODY
          :: else
          fi
        }
        if
        :: b != NOBODY -> push(b)
        :: else
        fi
     fi;
     atomic { b = 0; top = 0; tag = 0; below = 0; done = false }  /* what is dead is no new state */
  :: else -> break
  od;
  atomic {
    finished++;
    if
    :: finished == THREADS -> check_the_end()
    :: else
    fi
  }
}

init {
  byte i;
  atomic {
    holder[0] = NOBODY;
    holder[1] = NOBODY;
    holder[2] = NOBODY;
    links[1] = 1;
    links[2] = 2;
    head_top = 3;
    do
    :: i < THREADS -> run thread(i); i++
    :: else -> break
    od
  }
}

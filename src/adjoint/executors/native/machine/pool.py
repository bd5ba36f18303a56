"""The pool: threads that stay, and run the parts of one piece of work together.

It is machine code of its own, one for the process, which all other code calls:
`void @pool.run(ptr %function, ptr %context, i64 %parts, i64 %threads)` calls
`void function(ptr %context, i64 %part, i64 %worker)` once for each part, by as many threads as
there may be, and returns when all is done. The worker is 0 for the caller, and less than the number
of threads for all others, so that each may have memory of its own.

Whoever is there takes the next part, the caller too: where the other cores are busy, or a worker
does not wake soon enough, nobody waits for it. A worker that has nothing to do looks for work for
some twenty microseconds and then sleeps: looking costs a core, waking some microseconds. The pool
is taken by one caller at a time; another, or one within a part, computes all of its parts itself,
and so does a process where no thread can be started.

Before a fork of Python's all workers end. Where one comes nevertheless while they compute, the
child has none of them: the pool knows whose it is by the number of the process, and starts again.

Threads compute as the caller does: in its floating-point environment, and errors that they raise
are raised in it. Signals are left to the threads that Python knows.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Final

from adjoint.executors.native.machine.effort import Effort
from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.machine.symbols import define

# Nanoseconds of work from which it is shared. Handing parts to a thread that is awake takes less
# than one microsecond; waking one that sleeps takes the caller some five, and it comes after ten.
SHARED_TIME: Final = 15_000.0
MOST_THREADS: Final = 64
_RUN: Final = "pool.run"
_SIGNATURE: Final = "void @pool.run(ptr, ptr, i64, i64)"

_FUNCTIONS: Final = {
    "getpid": "i32 @getpid()",
    "sched_yield": "i32 @sched_yield()",
    "pthread_create": "i32 @pthread_create(ptr, ptr, ptr, ptr)",
    "pthread_join": "i32 @pthread_join(ptr, ptr)",
    "pthread_mutex_init": "i32 @pthread_mutex_init(ptr, ptr)",
    "pthread_mutex_lock": "i32 @pthread_mutex_lock(ptr)",
    "pthread_mutex_unlock": "i32 @pthread_mutex_unlock(ptr)",
    "pthread_cond_init": "i32 @pthread_cond_init(ptr, ptr)",
    "pthread_cond_wait": "i32 @pthread_cond_wait(ptr, ptr)",
    "pthread_cond_signal": "i32 @pthread_cond_signal(ptr)",
    "pthread_cond_broadcast": "i32 @pthread_cond_broadcast(ptr)",
    "pthread_sigmask": "i32 @pthread_sigmask(i32, ptr, ptr)",
    "sigfillset": "i32 @sigfillset(ptr)",
    "fegetenv": "i32 @fegetenv(ptr)",
    "fesetenv": "i32 @fesetenv(ptr)",
    "feclearexcept": "i32 @feclearexcept(i32)",
    "fetestexcept": "i32 @fetestexcept(i32)",
    "feraiseexcept": "i32 @feraiseexcept(i32)",
}


@cache
def has_pool() -> bool:
    """Whether this system has what the pool is made of."""
    known = machine().is_x86 or machine().triple.startswith(("aarch64", "arm64"))
    return known and all(machine().find(name) is not None for name in _FUNCTIONS)


def emit_pool(module: Module) -> str:
    """Declare the function that runs parts, and see that there is one; returns its name."""
    _started()
    return module.declare(_RUN, f"declare {_SIGNATURE} nounwind")


def provide(symbol: str) -> None:
    """Define a symbol, if it is that of the pool."""
    if symbol == _RUN and has_pool():
        _started()


@cache
def _started() -> None:
    code = machine().compile(pool_text(), Effort.QUICK)
    # Threads sleep in this code until the process has ended: nothing may free it before.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    define(_RUN, code.address(_RUN))
    if hasattr(os, "register_at_fork"):
        rest, disown = (
            ctypes.PYFUNCTYPE(None)(code.address(f"pool.{name}")) for name in ("rest", "disown")
        )
        os.register_at_fork(before=rest, after_in_child=disown)


def pool_text() -> str:
    """The module of the pool."""
    is_x86 = machine().is_x86
    pause = "@llvm.x86.sse2.pause()" if is_x86 else "@llvm.aarch64.hint(i32)"
    declared = [*_FUNCTIONS.values(), f"void {pause}"]
    return "\n".join(f"declare {text}" for text in declared) + _TEXT.format(
        most=MOST_THREADS,
        looks=_LOOKS,
        at_once=_LOOKS_AT_ONCE - 1,
        pause=pause.replace("i32", "i32 1"),  # "yield"
        # Invalid operations, divisions by zero and overflows, as <fenv.h> numbers them.
        errors=0x1 | 0x4 | 0x8 if is_x86 else 0x1 | 0x2 | 0x4,
        mask=3 if sys.platform == "darwin" else 2,  # SIG_SETMASK
    )


# How often a thread looks before it sleeps: 20 to 60 microseconds. Every so often it lets others
# run that wait for its core: where there are more threads than cores, it might look for the work of
# one that cannot run meanwhile.
_LOOKS: Final = 1000
_LOOKS_AT_ONCE: Final = 16

# owner: twice the number of the process, and one more while somebody has the pool. work: its
# number, how many parts it has and how many of them have been taken, in 32, 16 and 16 bits, so that
# a part is taken of just the work that was looked at; what is known of that stays as it is until
# all its parts are done. places: how many threads have a number as a worker of it, the caller too.
# some, all: the conditions that there is work, and that it is done.
_TEXT: Final = """
@pool.owner = internal global i64 0, align 128
@pool.work = internal global i64 0, align 128
@pool.done = internal global i64 0, align 128
@pool.function = internal global ptr null, align 128
@pool.context = internal global ptr null, align 8
@pool.threads = internal global i64 0, align 8
@pool.errors = internal global i32 0, align 8
@pool.environment = internal global [64 x i8] zeroinitializer, align 16
@pool.places = internal global i64 0, align 128
@pool.sleepers = internal global i64 0, align 128
@pool.waiting = internal global i32 0, align 8
@pool.ends = internal global i32 0, align 8
@pool.workers = internal global i64 0, align 8
@pool.threads.started = internal global [{most} x ptr] zeroinitializer, align 8
@pool.mutex = internal global [128 x i8] zeroinitializer, align 128
@pool.some = internal global [128 x i8] zeroinitializer, align 128
@pool.all = internal global [128 x i8] zeroinitializer, align 128

define void @pool.run(ptr %function, ptr %context, i64 %parts, i64 %threads) nounwind {{
entry:
  %process.32 = call i32 @getpid()
  %process = zext i32 %process.32 to i64
  %free = shl i64 %process, 1
  %taken = or i64 %free, 1
  %owner = load atomic i64, ptr @pool.owner monotonic, align 8
  %busy = icmp eq i64 %owner, %taken
  br i1 %busy, label %alone, label %take
take:
  %pair = cmpxchg ptr @pool.owner, i64 %owner, i64 %taken acq_rel monotonic
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %own, label %alone
alone:
  %i = phi i64 [ 0, %entry ], [ 0, %take ], [ %i.next, %alone ]
  call void %function(ptr %context, i64 %i, i64 0)
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %parts
  br i1 %i.more, label %alone, label %end
own:
  %ours = icmp eq i64 %owner, %free
  br i1 %ours, label %ready, label %begin
begin:
  call void @pool.begin()
  br label %ready
ready:
  call void @pool.grow(i64 %threads)
  store atomic ptr %function, ptr @pool.function monotonic, align 8
  store atomic ptr %context, ptr @pool.context monotonic, align 8
  store atomic i64 %threads, ptr @pool.threads monotonic, align 8
  store atomic i32 0, ptr @pool.errors monotonic, align 4
  store atomic i64 0, ptr @pool.done monotonic, align 8
  store atomic i64 1, ptr @pool.places monotonic, align 8
  %kept = call i32 @fegetenv(ptr @pool.environment)
  %word = load atomic i64, ptr @pool.work monotonic, align 8
  %number = lshr i64 %word, 32
  %number.next = add i64 %number, 1
  %number.high = shl i64 %number.next, 32
  %parts.high = shl i64 %parts, 16
  %work = or i64 %number.high, %parts.high
  store atomic i64 %work, ptr @pool.work seq_cst, align 8
  %sleepers = load atomic i64, ptr @pool.sleepers seq_cst, align 8
  %workers = load i64, ptr @pool.workers, align 8
  %awake = sub i64 %workers, %sleepers
  %wanted = sub i64 %threads, 1
  %missing = sub i64 %wanted, %awake
  %asleep = icmp ne i64 %sleepers, 0
  %lacks = icmp sgt i64 %missing, 0
  %wakes = and i1 %asleep, %lacks
  br i1 %wakes, label %lock, label %compute
lock:
  %w1 = call i32 @pthread_mutex_lock(ptr @pool.mutex)
  br label %wake
wake:
  %woken.before = phi i64 [ 0, %lock ], [ %woken.now, %wake ]
  %w2 = call i32 @pthread_cond_signal(ptr @pool.some)
  %woken.now = add i64 %woken.before, 1
  %wakes.more = icmp slt i64 %woken.now, %missing
  br i1 %wakes.more, label %wake, label %unlock
unlock:
  %w3 = call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  br label %compute
compute:
  %seen = call i64 @pool.help(i1 false)
  br label %look
look:
  %looks = phi i64 [ 0, %compute ], [ %looks.next, %on ]
  %done = load atomic i64, ptr @pool.done acquire, align 8
  %whole = icmp eq i64 %done, %parts
  br i1 %whole, label %judge, label %again
again:
  call void {pause}
  %looks.next = add i64 %looks, 1
  %looks.part = and i64 %looks.next, {at_once}
  %yields = icmp eq i64 %looks.part, 0
  br i1 %yields, label %yield, label %on
yield:
  %yielded = call i32 @sched_yield()
  br label %on
on:
  %looks.more = icmp ult i64 %looks.next, {looks}
  br i1 %looks.more, label %look, label %sleep
sleep:
  store atomic i32 1, ptr @pool.waiting seq_cst, align 4
  %s1 = call i32 @pthread_mutex_lock(ptr @pool.mutex)
  br label %ask
ask:
  %done.now = load atomic i64, ptr @pool.done seq_cst, align 8
  %whole.now = icmp eq i64 %done.now, %parts
  br i1 %whole.now, label %woken, label %wait
wait:
  %s2 = call i32 @pthread_cond_wait(ptr @pool.all, ptr @pool.mutex)
  br label %ask
woken:
  %s3 = call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  store atomic i32 0, ptr @pool.waiting monotonic, align 4
  br label %judge
judge:
  %errors = load atomic i32, ptr @pool.errors monotonic, align 4
  store atomic i64 %free, ptr @pool.owner release, align 8
  %well = icmp eq i32 %errors, 0
  br i1 %well, label %end, label %raise
raise:  ; which error it was does not matter: NumPy runs the program again
  %raised = call i32 @feraiseexcept(i32 1)
  br label %end
end:
  ret void
}}

; Take parts and compute them, until there are none; returns the number of the work. Whoever helps
; takes the next number as a worker of the work at hand, and another for other work.
define internal i64 @pool.help(i1 %helps) nounwind noinline {{
entry:
  br label %look
look:
  %worker = phi i64 [ 0, %entry ], [ %worker.kept, %take ], [ %worker.kept, %count ],
    [ %worker.kept, %announce ], [ %worker.kept, %signal ]
  %of = phi i64 [ -1, %entry ], [ %number, %take ], [ %number, %count ],
    [ %number, %announce ], [ %number, %signal ]
  %word = load atomic i64, ptr @pool.work acquire, align 8
  %number = lshr i64 %word, 32
  %part = and i64 %word, 65535
  %word.parts = lshr i64 %word, 16
  %parts = and i64 %word.parts, 65535
  %function = load atomic ptr, ptr @pool.function monotonic, align 8
  %context = load atomic ptr, ptr @pool.context monotonic, align 8
  %threads = load atomic i64, ptr @pool.threads monotonic, align 8
  %some = icmp ult i64 %part, %parts
  br i1 %some, label %ask, label %end
ask:
  %same = icmp eq i64 %of, %number
  %new = xor i1 %same, true
  %joins = and i1 %helps, %new
  br i1 %joins, label %join, label %among
join:
  %place = atomicrmw add ptr @pool.places, i64 1 monotonic
  br label %among
among:
  %worker.kept = phi i64 [ %worker, %ask ], [ %place, %join ]
  %goes = icmp ult i64 %worker.kept, %threads
  br i1 %goes, label %take, label %end
take:
  %word.next = add i64 %word, 1
  %pair = cmpxchg ptr @pool.work, i64 %word, i64 %word.next acq_rel monotonic
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %prepare, label %look
prepare:
  br i1 %helps, label %adopt, label %compute
adopt:
  %e1 = call i32 @fesetenv(ptr @pool.environment)
  %e2 = call i32 @feclearexcept(i32 {errors})
  br label %compute
compute:
  call void %function(ptr %context, i64 %part, i64 %worker.kept)
  br i1 %helps, label %tell, label %count
tell:
  %errors = call i32 @fetestexcept(i32 {errors})
  %before = atomicrmw or ptr @pool.errors, i32 %errors monotonic
  br label %count
count:
  %done = atomicrmw add ptr @pool.done, i64 1 seq_cst
  %done.now = add i64 %done, 1
  %last = icmp eq i64 %done.now, %parts
  %announces = and i1 %last, %helps
  br i1 %announces, label %announce, label %look
announce:
  %waiting = load atomic i32, ptr @pool.waiting seq_cst, align 4
  %waited = icmp ne i32 %waiting, 0
  br i1 %waited, label %signal, label %look
signal:
  %s1 = call i32 @pthread_mutex_lock(ptr @pool.mutex)
  %s2 = call i32 @pthread_cond_signal(ptr @pool.all)
  %s3 = call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  br label %look
end:
  ret i64 %number
}}

; What a worker does: work, look for more, sleep.
define internal ptr @pool.worker(ptr %nothing) nounwind {{
entry:
  br label %work
work:
  %seen = call i64 @pool.help(i1 true)
  %ends = load atomic i32, ptr @pool.ends acquire, align 4
  %ending = icmp ne i32 %ends, 0
  br i1 %ending, label %end, label %look
end:
  ret ptr null
look:
  %looks = phi i64 [ 0, %work ], [ %looks.next, %on ]
  %word = load atomic i64, ptr @pool.work acquire, align 8
  %number = lshr i64 %word, 32
  %same = icmp eq i64 %number, %seen
  br i1 %same, label %again, label %work
again:
  call void {pause}
  %looks.next = add i64 %looks, 1
  %looks.part = and i64 %looks.next, {at_once}
  %yields = icmp eq i64 %looks.part, 0
  br i1 %yields, label %yield, label %on
yield:
  %yielded = call i32 @sched_yield()
  br label %on
on:
  %looks.more = icmp ult i64 %looks.next, {looks}
  br i1 %looks.more, label %look, label %sleep
sleep:
  %s1 = call i32 @pthread_mutex_lock(ptr @pool.mutex)
  %s2 = atomicrmw add ptr @pool.sleepers, i64 1 seq_cst
  br label %ask
ask:
  %word.now = load atomic i64, ptr @pool.work seq_cst, align 8
  %number.now = lshr i64 %word.now, 32
  %same.now = icmp eq i64 %number.now, %seen
  br i1 %same.now, label %wait, label %woken
wait:
  %s3 = call i32 @pthread_cond_wait(ptr @pool.some, ptr @pool.mutex)
  br label %ask
woken:
  %s4 = atomicrmw sub ptr @pool.sleepers, i64 1 seq_cst
  %s5 = call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  br label %work
}}

; End all workers, unless they are at work: their next work has no parts, and is their last.
define void @pool.rest() nounwind {{
entry:
  %process.32 = call i32 @getpid()
  %process = zext i32 %process.32 to i64
  %free = shl i64 %process, 1
  %taken = or i64 %free, 1
  %pair = cmpxchg ptr @pool.owner, i64 %free, i64 %taken acq_rel monotonic
  %won = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %won, label %own, label %end
own:
  %workers = load i64, ptr @pool.workers, align 8
  %some = icmp ne i64 %workers, 0
  br i1 %some, label %announce, label %release
announce:
  store atomic i32 1, ptr @pool.ends monotonic, align 4
  %word = load atomic i64, ptr @pool.work monotonic, align 8
  %number = lshr i64 %word, 32
  %number.next = add i64 %number, 1
  %work = shl i64 %number.next, 32
  store atomic i64 %work, ptr @pool.work seq_cst, align 8
  %a1 = call i32 @pthread_mutex_lock(ptr @pool.mutex)
  %a2 = call i32 @pthread_cond_broadcast(ptr @pool.some)
  %a3 = call i32 @pthread_mutex_unlock(ptr @pool.mutex)
  br label %join
join:
  %i = phi i64 [ 0, %announce ], [ %i.next, %join ]
  %at = getelementptr ptr, ptr @pool.threads.started, i64 %i
  %thread = load ptr, ptr %at, align 8
  %j = call i32 @pthread_join(ptr %thread, ptr null)
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %workers
  br i1 %more, label %join, label %ended
ended:
  store i64 0, ptr @pool.workers, align 8
  store atomic i32 0, ptr @pool.ends monotonic, align 4
  br label %release
release:
  store atomic i64 %free, ptr @pool.owner release, align 8
  br label %end
end:
  ret void
}}

; In the child of a fork: a process that forks in turn may be given the number of one that is gone.
define void @pool.disown() nounwind {{
entry:
  store atomic i64 0, ptr @pool.owner release, align 8
  ret void
}}

; A pool without workers, at first and in the child of a fork.
define internal void @pool.begin() nounwind noinline {{
entry:
  store atomic i64 0, ptr @pool.work monotonic, align 8
  store atomic i64 0, ptr @pool.sleepers monotonic, align 8
  store atomic i32 0, ptr @pool.waiting monotonic, align 4
  store atomic i32 0, ptr @pool.ends monotonic, align 4
  store i64 0, ptr @pool.workers, align 8
  %b1 = call i32 @pthread_mutex_init(ptr @pool.mutex, ptr null)
  %b2 = call i32 @pthread_cond_init(ptr @pool.some, ptr null)
  %b3 = call i32 @pthread_cond_init(ptr @pool.all, ptr null)
  ret void
}}

; Start the workers that are missing, with all signals blocked.
define internal void @pool.grow(i64 %threads) nounwind {{
entry:
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %wanted = sub i64 %threads, 1
  %workers = load i64, ptr @pool.workers, align 8
  %enough = icmp uge i64 %workers, %wanted
  br i1 %enough, label %end, label %block
block:
  %m1 = call i32 @sigfillset(ptr %all)
  %m2 = call i32 @pthread_sigmask(i32 {mask}, ptr %all, ptr %old)
  br label %start
start:
  %count = phi i64 [ %workers, %block ], [ %worker, %started ]
  %worker = add i64 %count, 1
  %thread = getelementptr ptr, ptr @pool.threads.started, i64 %count
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @pool.worker, ptr null)
  %fails = icmp ne i32 %error, 0
  br i1 %fails, label %restore, label %started
started:
  store i64 %worker, ptr @pool.workers, align 8
  %more = icmp ult i64 %worker, %wanted
  br i1 %more, label %start, label %restore
restore:
  %m4 = call i32 @pthread_sigmask(i32 {mask}, ptr %old, ptr null)
  br label %end
end:
  ret void
}}
"""

"""Tasks: parts of one piece of work, each a thread's.

A task is a function of a block of memory that says what it is to do. Threads are started for all
but the first; that takes some twenty microseconds, so that only long work is shared.
"""

from __future__ import annotations

from typing import Final

from adjoint.executors.native.machine.module import Module


def emit_runner(module: Module) -> None:
    """Add `@run_tasks`: the first task here, each other in a thread, and wait for all."""
    if "pthread_create" in module.declarations:
        return
    module.declare("pthread_create", "declare i32 @pthread_create(ptr, ptr, ptr, ptr)")
    module.declare("pthread_join", "declare i32 @pthread_join(ptr, ptr)")
    module.functions.append(_RUNNER)


_RUNNER: Final = """
define internal void @run_tasks(ptr %function, ptr %tasks, i64 %stride, i64 %count) {
entry:
  %threads = alloca ptr, i64 %count, align 64
  %running = alloca i8, i64 %count, align 64
  br label %start
start:
  %i = phi i64 [1, %entry], [%next, %start]
  %thread = getelementptr ptr, ptr %threads, i64 %i
  %offset = mul i64 %i, %stride
  %task = getelementptr i8, ptr %tasks, i64 %offset
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr %function, ptr %task)
  %runs = icmp eq i32 %error, 0
  %flag = zext i1 %runs to i8
  %flag.at = getelementptr i8, ptr %running, i64 %i
  store i8 %flag, ptr %flag.at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %start, label %own
own:
  %mine = call ptr %function(ptr %tasks)
  br label %wait
wait:
  %j = phi i64 [1, %own], [%after, %joined]
  %state.at = getelementptr i8, ptr %running, i64 %j
  %state = load i8, ptr %state.at
  %was = icmp ne i8 %state, 0
  br i1 %was, label %join, label %here
join:
  %handle.at = getelementptr ptr, ptr %threads, i64 %j
  %handle = load ptr, ptr %handle.at
  %ended = call i32 @pthread_join(ptr %handle, ptr null)
  br label %joined
here:
  %late = mul i64 %j, %stride
  %late.task = getelementptr i8, ptr %tasks, i64 %late
  %done.here = call ptr %function(ptr %late.task)
  br label %joined
joined:
  %after = add i64 %j, 1
  %again = icmp slt i64 %after, %count
  br i1 %again, label %wait, label %end
end:
  ret void
}
"""

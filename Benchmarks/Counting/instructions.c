// Counts the instructions of a program that runs under callgrind. Loaded into it with LD_PRELOAD; the clients call by name.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

// From here on the instructions of all threads are counted.
void instructions_begin(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

// Writes what was counted into the file that callgrind was given, with ".1" behind its name.
void instructions_end(void) {
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
}

// Valgrind writes into the set of signals that it is given. libdispatch's set is in memory that can't be written.
int sigsuspend(const sigset_t *mask) {
  sigset_t copy = *mask;
  return (int)syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
}

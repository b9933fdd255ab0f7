#include "CLinux.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <termios.h>

// The signals that end a program at a terminal.
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ending_count = sizeof ending / sizeof *ending };

// The terminal whose echo is off; -1 for none.
static atomic_int hidden_terminal = -1;
static struct termios shown;
// The actions of the signals before.
static struct sigaction earlier[ending_count];

// Only calls that are safe in a signal handler (POSIX 2.4.3).
static void show(void) {
  int terminal = atomic_exchange(&hidden_terminal, -1);
  if (terminal < 0) return;
  // A process in the background would be stopped.
  sigset_t output, before;
  sigemptyset(&output);
  sigaddset(&output, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &output, &before);
  tcsetattr(terminal, TCSANOW, &shown);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// The handler was reset when it was called (SA_RESETHAND), and the signal waits until it returns: it ends the process then.
static void show_and_end(int number) {
  show();
  raise(number);
}

int clinux_hide_typing(int terminal) {
  static atomic_flag is_registered = ATOMIC_FLAG_INIT;
  struct termios hidden;
  if (atomic_load(&hidden_terminal) >= 0) {
    errno = EBUSY;
    return -1;
  }
  if (tcgetattr(terminal, &shown) != 0) return -1;
  // Other threads may end the program.
  if (!atomic_flag_test_and_set(&is_registered)) atexit(show);
  hidden = shown;
  hidden.c_lflag &= ~(tcflag_t)ECHO;
  atomic_store(&hidden_terminal, terminal);
  for (int index = 0; index < ending_count; index++) {
    struct sigaction *present = &earlier[index];
    // A signal that is ignored, or that the program handles, stays so. SIGQUIT may have a handler of Swift's runtime, which
    // prints where the threads are and asks at the terminal what to do.
    if (sigaction(ending[index], NULL, present) != 0 || present->sa_handler == SIG_IGN) continue;
    if (present->sa_handler != SIG_DFL && ending[index] != SIGQUIT) continue;
    struct sigaction action = {.sa_handler = show_and_end, .sa_flags = SA_RESETHAND};
    sigfillset(&action.sa_mask);
    sigaction(ending[index], &action, NULL);
  }
  while (tcsetattr(terminal, TCSAFLUSH, &hidden) != 0) {
    if (errno == EINTR) continue;
    int failure = errno;
    clinux_show_typing();
    errno = failure;
    return -1;
  }
  return 0;
}

void clinux_show_typing(void) {
  show();
  for (int index = 0; index < ending_count; index++) {
    struct sigaction present;
    if (sigaction(ending[index], NULL, &present) != 0 || present.sa_handler != show_and_end) continue;
    sigaction(ending[index], &earlier[index], NULL);
  }
}

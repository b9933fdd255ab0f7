#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

int clinux_take_lease(int fd, pid_t thread) {
  // First: the kernel keeps an owner that is there, and would else choose the whole process.
  struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = thread};
  if (fcntl(fd, F_SETOWN_EX, &owner) != 0) return -1;
  return fcntl(fd, F_SETLEASE, F_RDLCK);
}

int clinux_has_lease(int fd) { return fcntl(fd, F_GETLEASE) == F_RDLCK; }

int clinux_end_lease(int fd) { return fcntl(fd, F_SETLEASE, F_UNLCK); }

static sigset_t lease_signals(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGIO);
  return signals;
}

pid_t clinux_take_lease_signals(void) {
  sigset_t signals = lease_signals();
  if (pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0) return -1;
  return (pid_t)syscall(SYS_gettid);
}

void clinux_await_lease_signal(long long nanoseconds) {
  sigset_t signals = lease_signals();
  struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
  sigtimedwait(&signals, NULL, nanoseconds < 0 ? NULL : &limit);
}

void clinux_send_lease_signal(pid_t thread) { syscall(SYS_tgkill, getpid(), thread, SIGIO); }

ssize_t clinux_get_attribute(int fd, const char *name, void *value, size_t capacity) {
  return fgetxattr(fd, name, value, capacity);
}

int clinux_set_attribute(int fd, const char *name, const void *value, size_t count) {
  return fsetxattr(fd, name, value, count, 0);
}

int clinux_remove_attribute(int fd, const char *name) { return fremovexattr(fd, name); }

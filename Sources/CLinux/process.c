#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <unistd.h>

int clinux_spawn_detached(const char *path, char *const argv[], char *const envp[], int output, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int result = posix_spawn_file_actions_init(&actions);
  if (result != 0) return result;
  result = posix_spawnattr_init(&attributes);
  if (result != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return result;
  }

  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  // These two cannot be changed, and the kernel refuses to reset them.
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  if (result == 0) result = posix_spawnattr_setsigmask(&attributes, &none);
  if (result == 0) result = posix_spawnattr_setsigdefault(&attributes, &all);
  if (result == 0) {
    result = posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  if (result == 0) result = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (result == 0 && output >= 0) {
    result = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (result == 0) result = posix_spawn_file_actions_adddup2(&actions, output, 2);
  }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  // This project opens all files close-on-exec; this closes those that a library or the parent process left open.
  if (result == 0) result = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
  if (result == 0) result = posix_spawn(pid, path, &actions, &attributes, argv, envp);

  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

int clinux_limit_computing(pid_t pid, unsigned seconds) {
  struct rlimit limit = {.rlim_cur = seconds, .rlim_max = seconds};
  return prlimit(pid, RLIMIT_CPU, &limit, NULL);
}

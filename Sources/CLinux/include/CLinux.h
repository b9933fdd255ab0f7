/// Functions of Linux that Swift's Glibc module does not import.
#ifndef CLINUX_H
#define CLINUX_H

#include <sys/types.h>

#include "glib.h"
#include "gssapi.h"

/// The process at the other end of a Unix socket, as the kernel recorded it when it connected.
struct clinux_peer {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};

/// Reads SO_PEERCRED of `fd` into `peer`. Returns 0, or -1 with errno set.
int clinux_peer_credentials(int fd, struct clinux_peer *peer);

/// Starts `path` in a session of its own, with default signal handlers and an empty signal mask, standard input from
/// /dev/null, standard output and error to `output` (or to where ours go when it is -1), and no other file open.
/// Returns 0 and the process in `pid`, or an errno value.
int clinux_spawn_detached(const char *path, char *const argv[], char *const envp[], int output, pid_t *pid);

/// The kernel ends the process `pid` when it has computed for `seconds`, whether we still live or not. Returns 0, or -1
/// with errno set.
int clinux_limit_computing(pid_t pid, unsigned seconds);

/// Nanoseconds since the machine started, suspended time included. The wall clock has no influence on it.
long long clinux_boot_nanoseconds(void);

/// Takes or (with `exclusive` 0) gives back the lock of the open file `fd`. Returns 0, or -1 with errno set,
/// EWOULDBLOCK when another open file has it.
int clinux_lock(int fd, int exclusive);

/// A netlink socket on which the kernel tells of every change to links, addresses and routes. Non-blocking.
/// Returns the descriptor, or -1 with errno set.
int clinux_open_route_monitor(void);

/// Asks the kernel over which interface it sends to `destination`, an address of `length` 4 or 16 bytes. `source`, of
/// the same length, is the address it would be sent from; it may be null.
/// Returns the interface's index; 0 when the address is this machine's own; -1 with errno set when there is no route or
/// no answer.
int clinux_route_interface(const void *destination, const void *source, unsigned length);

#endif

// A link between two networks of this machine, with a delay, loss and a rate: two network namespaces with one TUN device each,
// and between them this process. Neither network leads anywhere else.
//
// usage: link SERVER-ADDRESS CLIENT-ADDRESS DELAY-MS LOSS-PERCENT RATE-MBIT QUEUE-KIB SEED
//
// Prints the paths of the user namespace and of the server's and the client's network, for nsenter(1), and then carries
// packets until SIGTERM, when it prints what it carried and lost. Ends with a sentence where that is not permitted.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { largest_packet = 1500, ring_packets = 8192, read_at_once = 64 };

typedef struct {
  uint64_t due;
  size_t length;
  uint8_t bytes[largest_packet];
} packet;

// One way of the link. Packets leave in the order in which they came: each has the same delay.
typedef struct {
  const char *name;
  int from, to;
  packet *ring;
  uint64_t first, next;
  // When the last packet that was taken will have left the queue.
  uint64_t free_at;
  uint64_t random;
  uint64_t carried, lost, overflowed;
} way;

static uint64_t delay_ns, queue_ns;
static double loss, ns_per_byte;
static volatile sig_atomic_t is_over;

static void end(int signal) { is_over = signal; }

static void need(int result, const char *what) {
  if (result >= 0) return;
  fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000ull + time.tv_nsec;
}

// MARK: Namespaces

static void write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  need(file, path);
  need(write(file, text, strlen(text)), path);
  close(file);
}

static void begin_user_namespace(void) {
  unsigned user = getuid(), group = getgid();
  char map[64];
  need(unshare(CLONE_NEWUSER), "no user namespace");
  write_file("/proc/self/setgroups", "deny");
  snprintf(map, sizeof map, "0 %u 1", user);
  write_file("/proc/self/uid_map", map);
  snprintf(map, sizeof map, "0 %u 1", group);
  write_file("/proc/self/gid_map", map);
}

// A new network with the loopback device and one that leads to the other end. Returns the device; `network` becomes a
// reference to the network.
//
// The queue of the device is long: packets are to be lost by the link alone. TCP uses the congestion control that Linux
// comes with, whichever this machine has chosen: a route says it where the setting of the network may not be changed.
static int begin_network(const char *address, const char *other, int *network) {
  need(unshare(CLONE_NEWNET), "no network namespace");
  *network = open("/proc/self/ns/net", O_RDONLY);
  need(*network, "no network namespace");
  int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  need(device, "/dev/net/tun");
  struct ifreq interface = {.ifr_name = "far0", .ifr_flags = IFF_TUN | IFF_NO_PI};
  need(ioctl(device, TUNSETIFF, &interface), "no TUN device");
  char command[512];
  snprintf(command, sizeof command,
           "ip link set lo up && ip address add %s peer %s dev far0 && ip link set far0 mtu %d txqueuelen 10000 up && "
           "ip route replace %s dev far0 src %s congctl cubic",
           address, other, largest_packet, other, address);
  if (system(command) != 0) {
    fprintf(stderr, "link: the network could not be set up\n");
    exit(1);
  }
  return device;
}

// MARK: Packets

// A number from 0 to 1 (xorshift64*).
static double draw(way *self) {
  self->random ^= self->random >> 12;
  self->random ^= self->random << 25;
  self->random ^= self->random >> 27;
  return (double)((self->random * 0x2545F4914F6CDD1Dull) >> 11) / 9007199254740992.0;
}

static void take(way *self, uint64_t time) {
  for (int count = 0; count < read_at_once; count++) {
    if (self->next - self->first == ring_packets) return;
    packet *space = &self->ring[self->next % ring_packets];
    ssize_t length = read(self->from, space->bytes, sizeof space->bytes);
    if (length <= 0) return;
    if (self->free_at < time) self->free_at = time;
    if (self->free_at - time > queue_ns) {
      self->overflowed++;
      continue;
    }
    self->free_at += (uint64_t)((double)length * ns_per_byte);
    // It has taken its time on the link before it is lost.
    if (draw(self) < loss) {
      self->lost++;
      continue;
    }
    space->length = (size_t)length;
    space->due = self->free_at + delay_ns;
    self->next++;
  }
}

static void hand_out(way *self, uint64_t time) {
  for (; self->first != self->next; self->first++, self->carried++) {
    packet *first = &self->ring[self->first % ring_packets];
    if (first->due > time) return;
    // The device is up as long as this process runs; a packet that is no packet of IP may be refused.
    if (write(self->to, first->bytes, first->length) < 0) self->overflowed++;
  }
}

static void carry(way *ways) {
  while (!is_over) {
    uint64_t time = now(), due = time + 1000000000;
    struct pollfd files[2];
    for (int index = 0; index < 2; index++) {
      way *self = &ways[index];
      take(self, time);
      hand_out(self, time);
      uint64_t waiting = self->next - self->first;
      if (waiting > 0 && self->ring[self->first % ring_packets].due < due)
        due = self->ring[self->first % ring_packets].due;
      files[index] = (struct pollfd){.fd = waiting == ring_packets ? -1 : self->from, .events = POLLIN};
    }
    time = now();
    uint64_t wait = due > time ? due - time : 0;
    struct timespec limit = {.tv_sec = (time_t)(wait / 1000000000), .tv_nsec = (long)(wait % 1000000000)};
    ppoll(files, 2, &limit, NULL);
  }
}

static void tell(const way *self) {
  fprintf(stderr, "link: %llu packets to the %s, %llu lost, %llu more than the queue holds\n",
          (unsigned long long)self->carried, self->name, (unsigned long long)self->lost,
          (unsigned long long)self->overflowed);
}

int main(int count, char **arguments) {
  if (count != 8) {
    fprintf(stderr, "usage: link SERVER-ADDRESS CLIENT-ADDRESS DELAY-MS LOSS-PERCENT RATE-MBIT QUEUE-KIB SEED\n");
    return 2;
  }
  delay_ns = (uint64_t)(atof(arguments[3]) * 1e6);
  loss = atof(arguments[4]) / 100;
  ns_per_byte = 8e3 / atof(arguments[5]);
  queue_ns = (uint64_t)(atof(arguments[6]) * 1024 * ns_per_byte);
  uint64_t seed = strtoull(arguments[7], NULL, 10);

  signal(SIGTERM, end);
  signal(SIGINT, end);
  prctl(PR_SET_TIMERSLACK, 1);
  begin_user_namespace();
  int networks[2];
  int server = begin_network(arguments[1], arguments[2], &networks[0]);
  int client = begin_network(arguments[2], arguments[1], &networks[1]);
  way ways[2] = {
      {.name = "client", .from = server, .to = client, .random = seed * 0x9E3779B97F4A7C15ull + 1},
      {.name = "server", .from = client, .to = server, .random = seed * 0x9E3779B97F4A7C15ull + 2},
  };
  for (int index = 0; index < 2; index++) {
    ways[index].ring = calloc(ring_packets, sizeof(packet));
    if (!ways[index].ring) return 1;
    // The first numbers of seeds that are alike are alike.
    for (int number = 0; number < 64; number++) draw(&ways[index]);
  }
  printf("/proc/%d/ns/user /proc/%d/fd/%d /proc/%d/fd/%d\n", getpid(), getpid(), networks[0], getpid(), networks[1]);
  fflush(stdout);
  carry(ways);
  for (int index = 0; index < 2; index++) tell(&ways[index]);
  return 0;
}

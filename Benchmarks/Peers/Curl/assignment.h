/// The command line and the answer that every client of the benchmarks shares, for the clients in C.
#ifndef ASSIGNMENT_H
#define ASSIGNMENT_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct assignment {
  bool large;
  bool upload;
  bool http2;
  const char *mode;
  const char *url;
  const char *ca;
  const char *proxy;
  const char *tunnel;
  const char *directory;
  long long bytes;
  int connections;
  int concurrent;
  /// Hosts among which the small GETs are divided; above 1, they are addresses of the loopback network.
  int hosts;
  /// The number of the first GET of this thread, which says where its host is among them.
  int first;
  /// Threads that share the connections and the GETs, each with a multi handle of its own.
  int threads;
  double warmup;
  double seconds;
  /// Threads that hand on the end of each GET, one after the other, before its caller gets it.
  int relays;
  /// A large load is repeated until so many seconds are over.
  double least;
  /// The file to upload.
  const char *source;
};

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("client: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static struct assignment read_assignment(int count, char **arguments) {
  struct assignment result = {.connections = 1, .hosts = 1, .threads = 1, .warmup = 0.5, .seconds = 2, .directory = "/tmp"};
  if (count < 2) fail("small or large?");
  result.large = strcmp(arguments[1], "large") == 0;
  result.upload = strcmp(arguments[1], "upload") == 0;
  for (int i = 2; i + 1 < count; i += 2) {
    const char *name = arguments[i], *value = arguments[i + 1];
    if (!strcmp(name, "--mode")) result.mode = value;
    else if (!strcmp(name, "--url")) result.url = value;
    else if (!strcmp(name, "--ca")) result.ca = value;
    else if (!strcmp(name, "--proxy")) result.proxy = value;
    else if (!strcmp(name, "--tunnel")) result.tunnel = value;
    else if (!strcmp(name, "--directory")) result.directory = value;
    else if (!strcmp(name, "--bytes")) result.bytes = atoll(value);
    else if (!strcmp(name, "--connections")) result.connections = atoi(value);
    else if (!strcmp(name, "--concurrent")) result.concurrent = atoi(value);
    else if (!strcmp(name, "--hosts")) result.hosts = atoi(value);
    else if (!strcmp(name, "--threads")) result.threads = atoi(value);
    else if (!strcmp(name, "--relays")) result.relays = atoi(value);
    else if (!strcmp(name, "--least")) result.least = atof(value);
    else if (!strcmp(name, "--source")) result.source = value;
    else if (!strcmp(name, "--warmup")) result.warmup = atof(value);
    else if (!strcmp(name, "--protocol")) result.http2 = !strcmp(value, "h2");
    else if (!strcmp(name, "--seconds")) result.seconds = atof(value);
    else fail("what is %s?", name);
  }
  if (!result.mode || !result.url || result.bytes <= 0) fail("--mode, --url and --bytes are needed");
  if (result.connections < 1 || result.connections > 4096) fail("--connections is 1 to 4096");
  if (result.concurrent == 0) result.concurrent = result.connections;
  if (result.hosts < 1 || result.hosts > 250) fail("--hosts is 1 to 250");
  if (result.threads < 1 || result.threads > result.connections) fail("--threads is 1 to the number of connections");
  if (result.relays < 0 || result.relays > 16) fail("--relays is 0 to 16");
  if (result.concurrent < 1 || result.concurrent > 100000) fail("--concurrent is 1 to 100000");
  return result;
}

static inline void answer(double value, long long peak_bytes) {
  printf("{\"value\": %f, \"peakRSS\": %lld}\n", value, peak_bytes);
}

/// The same with the microseconds that the threads of this process ran for a response.
static inline void answer_with_processor(double value, long long peak_bytes, double microseconds) {
  printf("{\"value\": %f, \"peakRSS\": %lld, \"figures\": {\"processor\": %f}}\n", value, peak_bytes, microseconds);
}

#endif

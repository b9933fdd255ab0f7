/// What the clients over libcurl share: a handle as it is set up, what becomes of a response, and their own figures.
#ifndef LOADING_H
#define LOADING_H

#include "assignment.h"
#include <curl/curl.h>
#include <sys/resource.h>
#include <time.h>

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/// Where a response body goes; which fields are used depends on the mode.
struct sink {
  long long received;
  char *memory;
  size_t capacity;
  FILE *file;
};

static inline size_t count_bytes(char *data, size_t size, size_t count, void *context) {
  (void)data;
  ((struct sink *)context)->received += (long long)(size * count);
  return size * count;
}

static inline CURL *make_handle(const struct assignment *assignment, struct sink *sink, curl_write_callback write) {
  CURL *handle = curl_easy_init();
  if (!handle) fail("curl_easy_init");
  curl_easy_setopt(handle, CURLOPT_URL, assignment->url);
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)(assignment->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, write);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, sink);
  curl_easy_setopt(handle, CURLOPT_PRIVATE, sink);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, assignment->large ? 512L * 1024 : 16L * 1024);
  // Otherwise libcurl changes the process's handling of SIGPIPE and back at each turn of each handle: two system calls, which
  // cost more than all the rest where there are many handles, and are not allowed where there are threads.
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  if (assignment->proxy) curl_easy_setopt(handle, CURLOPT_PROXY, assignment->proxy);
  if (assignment->tunnel) {
    curl_easy_setopt(handle, CURLOPT_PROXY, assignment->tunnel);
    curl_easy_setopt(handle, CURLOPT_HTTPPROXYTUNNEL, 1L);
  }
  if (assignment->ca) curl_easy_setopt(handle, CURLOPT_CAINFO, assignment->ca);
  return handle;
}

static inline void verify(CURL *handle, CURLcode result, const struct assignment *assignment, const struct sink *sink) {
  long status = 0;
  if (result != CURLE_OK) fail("%s", curl_easy_strerror(result));
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) fail("status %ld instead of 200", status);
  if (sink->received != assignment->bytes) fail("%lld bytes instead of %lld", sink->received, assignment->bytes);
}

/// Moves every transfer on; returns how many are still running.
static inline int turn(CURLM *multi) {
  int running = 0;
  if (curl_multi_perform(multi, &running) != CURLM_OK) fail("curl_multi_perform");
  return running;
}

static inline long long peak_resident_bytes(void) {
  char line[256];
  long long kilobytes = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmHWM: %lld", &kilobytes) == 1) break;
  if (status) fclose(status);
  return kilobytes * 1024;
}

/// Seconds that the threads of this process have run, or this thread alone.
static inline double processor_seconds(int threads) {
  struct rusage usage;
  if (getrusage(threads, &usage) != 0) fail("getrusage: %s", strerror(errno));
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

#endif

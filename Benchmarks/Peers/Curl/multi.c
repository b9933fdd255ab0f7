/// Loads through libcurl's multi interface, from C: as close to the library as a program gets.
#include "assignment.h"
#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

static double now(void) {
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

static size_t count_bytes(char *data, size_t size, size_t count, void *context) {
  (void)data;
  ((struct sink *)context)->received += (long long)(size * count);
  return size * count;
}

static size_t keep_bytes(char *data, size_t size, size_t count, void *context) {
  struct sink *sink = context;
  size_t length = size * count, end = (size_t)sink->received + length;
  if (end > sink->capacity) {
    sink->capacity = end > 2 * sink->capacity ? end : 2 * sink->capacity;
    sink->memory = realloc(sink->memory, sink->capacity);
    if (!sink->memory) fail("out of memory");
  }
  memcpy(sink->memory + sink->received, data, length);
  sink->received += (long long)length;
  return length;
}

static size_t write_bytes(char *data, size_t size, size_t count, void *context) {
  struct sink *sink = context;
  size_t written = fwrite(data, size, count, sink->file);
  sink->received += (long long)(written * size);
  return written * size;
}

static CURL *make_handle(const struct assignment *assignment, struct sink *sink, curl_write_callback write) {
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

static void verify(CURL *handle, CURLcode result, const struct assignment *assignment, const struct sink *sink) {
  long status = 0;
  if (result != CURLE_OK) fail("%s", curl_easy_strerror(result));
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) fail("status %ld instead of 200", status);
  if (sink->received != assignment->bytes) fail("%lld bytes instead of %lld", sink->received, assignment->bytes);
}

/// Moves every transfer on; returns how many are still running.
static int turn(CURLM *multi) {
  int running = 0;
  if (curl_multi_perform(multi, &running) != CURLM_OK) fail("curl_multi_perform");
  return running;
}

/// Leads the GET with this number to its host, as the clients in Swift do: 127.1.0.1 and so on, at the URL's port.
static void choose_host(CURL *handle, const struct assignment *assignment, int number) {
  if (assignment->hosts == 1) return;
  char host[32];
  snprintf(host, sizeof host, "127.1.0.%d", number % assignment->hosts + 1);
  CURLU *url = curl_url();
  if (!url || curl_url_set(url, CURLUPART_URL, assignment->url, 0) || curl_url_set(url, CURLUPART_HOST, host, 0))
    fail("%s has no host", assignment->url);
  // The handle refers to the parts of the URL as long as it loads; they are freed with the process.
  curl_easy_setopt(handle, CURLOPT_CURLU, url);
}

static double small_gets(const struct assignment *assignment) {
  CURLM *multi = curl_multi_init();
  struct sink *sinks = calloc((size_t)assignment->concurrent, sizeof *sinks);
  if (!multi || !sinks) fail("out of memory");
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)assignment->connections);
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)assignment->connections);
  for (int i = 0; i < assignment->concurrent; i++) {
    CURL *handle = make_handle(assignment, &sinks[i], count_bytes);
    choose_host(handle, assignment, assignment->first + i);
    curl_multi_add_handle(multi, handle);
  }

  long long responses = 0, before = 0;
  double counting_from = now() + assignment->warmup, end = counting_from + assignment->seconds, started = 0;
  for (;;) {
    turn(multi);
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
      CURL *handle = message->easy_handle;
      struct sink *sink;
      curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)&sink);
      verify(handle, message->data.result, assignment, sink);
      sink->received = 0;
      responses++;
      curl_multi_remove_handle(multi, handle);
      curl_multi_add_handle(multi, handle);
    }
    double time = now();
    if (!started && time >= counting_from) {
      started = time;
      before = responses;
    }
    if (time >= end) return (double)(responses - before) / (time - started);
    // What was added anew is due at once; poll only when nothing is.
    long timeout = -1;
    curl_multi_timeout(multi, &timeout);
    if (timeout != 0) curl_multi_poll(multi, NULL, 0, 100, NULL);
  }
}

/// One thread's part of the small GETs, and their rate.
struct part {
  struct assignment assignment;
  double rate;
  pthread_t thread;
};

static void *run_part(void *context) {
  struct part *part = context;
  part->rate = small_gets(&part->assignment);
  return NULL;
}

/// Small GETs in as many threads as asked for. The connections and the GETs are divided among them.
static double small_gets_in_threads(const struct assignment *assignment) {
  int threads = assignment->threads;
  if (threads == 1) return small_gets(assignment);
  struct part *parts = calloc((size_t)threads, sizeof *parts);
  if (!parts) fail("out of memory");
  for (int i = 0; i < threads; i++) {
    parts[i].assignment = *assignment;
    parts[i].assignment.first = assignment->concurrent * i / threads;
    parts[i].assignment.connections = assignment->connections * (i + 1) / threads - assignment->connections * i / threads;
    parts[i].assignment.concurrent = assignment->concurrent * (i + 1) / threads - assignment->concurrent * i / threads;
    if (pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) != 0) fail("pthread_create");
  }
  double rate = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(parts[i].thread, NULL);
    rate += parts[i].rate;
  }
  free(parts);
  return rate;
}

static double large_get(const struct assignment *assignment) {
  struct sink sink = {0};
  curl_write_callback write;
  if (!strcmp(assignment->mode, "memory")) {
    write = keep_bytes;
  } else if (!strcmp(assignment->mode, "delegate")) {
    write = count_bytes;
  } else if (!strcmp(assignment->mode, "file")) {
    char path[4096];
    snprintf(path, sizeof path, "%s/libcurl.download", assignment->directory);
    sink.file = fopen(path, "wb");
    if (!sink.file) fail("%s: %s", path, strerror(errno));
    write = write_bytes;
  } else {
    fail("no large loads through %s", assignment->mode);
  }

  double start = now();
  CURLM *multi = curl_multi_init();
  CURL *handle = make_handle(assignment, &sink, write);
  curl_multi_add_handle(multi, handle);
  long long loads = 0;
  for (;;) {
    while (turn(multi)) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    int left;
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (!message) fail("the transfer ended without a result");
    verify(handle, message->data.result, assignment, &sink);
    loads++;
    if (now() - start >= assignment->least) break;
    sink.received = 0;
    curl_multi_remove_handle(multi, handle);
    curl_multi_add_handle(multi, handle);
  }
  if (sink.file && fclose(sink.file) != 0) fail("closing the file: %s", strerror(errno));
  return (double)(loads * assignment->bytes) / 1e6 / (now() - start);
}

static long long peak_resident_bytes(void) {
  char line[256];
  long long kilobytes = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmHWM: %lld", &kilobytes) == 1) break;
  if (status) fclose(status);
  return kilobytes * 1024;
}

int main(int count, char **arguments) {
  struct assignment assignment = read_assignment(count, arguments);
  signal(SIGPIPE, SIG_IGN);
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) fail("curl_global_init");
  double value = assignment.large ? large_get(&assignment) : small_gets_in_threads(&assignment);
  answer(value, peak_resident_bytes());
  return 0;
}

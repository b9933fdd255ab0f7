/// Loads through libcurl's multi interface, from C: as close to the library as a program gets.
#define _GNU_SOURCE
#include "loading.h"
#include <pthread.h>
#include <signal.h>

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

/// What one thread has done while it counted.
struct count {
  long long responses;
  double seconds;
  /// Seconds that the thread ran.
  double used;
};

static struct count small_gets(const struct assignment *assignment) {
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
  double counting_from = now() + assignment->warmup, end = counting_from + assignment->seconds, started = 0, used = 0;
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
      used = processor_seconds(RUSAGE_THREAD);
    }
    if (time >= end) return (struct count){responses - before, time - started, processor_seconds(RUSAGE_THREAD) - used};
    // What was added anew is due at once; poll only when nothing is.
    long timeout = -1;
    curl_multi_timeout(multi, &timeout);
    if (timeout != 0) curl_multi_poll(multi, NULL, 0, 100, NULL);
  }
}

/// One thread's part of the small GETs.
struct part {
  struct assignment assignment;
  struct count count;
  pthread_t thread;
};

static void *run_part(void *context) {
  struct part *part = context;
  part->count = small_gets(&part->assignment);
  return NULL;
}

/// Small GETs in as many threads as asked for. The connections and the GETs are divided among them.
static void answer_small_gets(const struct assignment *assignment) {
  int threads = assignment->threads;
  struct part *parts = calloc((size_t)threads, sizeof *parts);
  if (!parts) fail("out of memory");
  for (int i = 0; i < threads; i++) {
    parts[i].assignment = *assignment;
    parts[i].assignment.first = assignment->concurrent * i / threads;
    parts[i].assignment.connections = assignment->connections * (i + 1) / threads - assignment->connections * i / threads;
    parts[i].assignment.concurrent = assignment->concurrent * (i + 1) / threads - assignment->concurrent * i / threads;
    // The last part is that of this thread.
    if (i + 1 < threads && pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) != 0) fail("pthread_create");
  }
  run_part(&parts[threads - 1]);
  double rate = 0, used = 0;
  long long responses = 0;
  for (int i = 0; i < threads; i++) {
    if (i + 1 < threads) pthread_join(parts[i].thread, NULL);
    rate += (double)parts[i].count.responses / parts[i].count.seconds;
    responses += parts[i].count.responses;
    used += parts[i].count.used;
  }
  free(parts);
  if (responses == 0) fail("no response came while they were counted");
  answer_with_processor(rate, peak_resident_bytes(), used * 1e6 / (double)responses);
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

int main(int count, char **arguments) {
  struct assignment assignment = read_assignment(count, arguments);
  signal(SIGPIPE, SIG_IGN);
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) fail("curl_global_init");
  if (assignment.large) answer(large_get(&assignment), peak_resident_bytes());
  else answer_small_gets(&assignment);
  return 0;
}

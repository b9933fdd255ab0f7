/// Small GETs through libcurl's multi interface with callers in other threads, as every API has them whose callers are not its
/// event loop: what of the distance to `multi.c` is changes of threads.
///
/// One thread runs libcurl and nothing else. A caller hands each of its GETs to it, and gets the end of each handed back. A
/// thread is woken only where it sleeps, and takes everything that waits for it. `--mode` says who calls:
///
/// - `queue`: one thread, as the queue on which a session calls its delegate and its completion handlers
/// - `executor`: as many threads as there are processors, the first free one for each end, as the tasks of Swift have them
/// - `callers`: a thread for each GET, which waits for its end, as an API that blocks has them
///
/// `--relays` puts so many threads between the loop and the callers, each of which hands on what it gets.
#define _GNU_SOURCE
#include "loading.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct line;

struct get {
  CURL *handle;
  struct sink sink;
  CURLcode result;
  /// Where its caller waits for the end.
  struct line *ends;
  struct get *next;
};

/// GETs that wait for a thread, the first one first.
struct line {
  pthread_mutex_t lock;
  struct get *first, *last;
  /// One for each GET. To add one is a system call only where a thread sleeps; a condition variable takes two.
  sem_t filled;
};

static const struct assignment *assignment;
static struct line *relays;
/// What the loop has to begin, and what wakes it.
static struct line begun = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int wakes;
static atomic_llong responses;

/// Returns whether it is the first one in the line.
static bool append(struct line *line, struct get *get) {
  get->next = NULL;
  pthread_mutex_lock(&line->lock);
  bool is_first = !line->first;
  if (is_first) line->first = get;
  else line->last->next = get;
  line->last = get;
  pthread_mutex_unlock(&line->lock);
  return is_first;
}

static void hand_over(struct get *get, struct line *line) {
  append(line, get);
  if (sem_post(&line->filled) != 0) fail("sem_post: %s", strerror(errno));
}

/// Waits until there is one.
static struct get *take_first(struct line *line) {
  while (sem_wait(&line->filled) != 0)
    if (errno != EINTR) fail("sem_wait: %s", strerror(errno));
  pthread_mutex_lock(&line->lock);
  struct get *get = line->first;
  line->first = get->next;
  pthread_mutex_unlock(&line->lock);
  return get;
}

/// Does not wait.
static struct get *take_all(struct line *line) {
  pthread_mutex_lock(&line->lock);
  struct get *first = line->first;
  line->first = NULL;
  pthread_mutex_unlock(&line->lock);
  return first;
}

static void begin(struct get *get) {
  get->sink.received = 0;
  // The loop takes all that there are: only the first one wakes it.
  if (append(&begun, get) && write(wakes, &(uint64_t){1}, sizeof(uint64_t)) < 0) fail("write: %s", strerror(errno));
}

/// Looks at the ends of GETs, and begins the next one for each.
static void *call(void *context) {
  struct line *ends = context;
  for (;;) {
    struct get *get = take_first(ends);
    verify(get->handle, get->result, assignment, &get->sink);
    atomic_fetch_add_explicit(&responses, 1, memory_order_relaxed);
    begin(get);
  }
  return NULL;
}

static void *relay(void *context) {
  struct line *line = context;
  bool is_last = line == &relays[assignment->relays - 1];
  for (;;) {
    struct get *get = take_first(line);
    hand_over(get, is_last ? get->ends : line + 1);
  }
  return NULL;
}

static void *run_loop(void *context) {
  (void)context;
  CURLM *multi = curl_multi_init();
  if (!multi) fail("out of memory");
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)assignment->connections);
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)assignment->connections);
  for (;;) {
    for (struct get *get = take_all(&begun), *next; get; get = next) {
      next = get->next;
      curl_multi_add_handle(multi, get->handle);
    }
    turn(multi);
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
      CURL *handle = message->easy_handle;
      struct get *get;
      curl_easy_getinfo(handle, CURLINFO_PRIVATE, (char **)&get);
      get->result = message->data.result;
      curl_multi_remove_handle(multi, handle);
      hand_over(get, assignment->relays ? relays : get->ends);
    }
    long timeout = -1;
    curl_multi_timeout(multi, &timeout);
    if (timeout == 0) continue;
    struct curl_waitfd wake = {.fd = wakes, .events = CURL_WAIT_POLLIN};
    curl_multi_poll(multi, &wake, 1, 100, NULL);
    uint64_t count;
    if (wake.revents && read(wakes, &count, sizeof count) < 0) fail("read: %s", strerror(errno));
  }
  return NULL;
}

static void start(void *(*function)(void *), void *context) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, function, context) != 0) fail("pthread_create");
}

static struct line *make_lines(int count) {
  struct line *lines = calloc((size_t)count, sizeof *lines);
  if (!lines) fail("out of memory");
  for (int i = 0; i < count; i++) {
    pthread_mutex_init(&lines[i].lock, NULL);
    if (sem_init(&lines[i].filled, 0, 0) != 0) fail("sem_init: %s", strerror(errno));
  }
  return lines;
}

static void sleep_for(double seconds) {
  struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) continue;
}

int main(int count, char **arguments) {
  struct assignment read = read_assignment(count, arguments);
  assignment = &read;
  bool is_executor = !strcmp(read.mode, "executor"), is_callers = !strcmp(read.mode, "callers");
  if (read.large || read.upload || (!is_executor && !is_callers && strcmp(read.mode, "queue")))
    fail("no such loads through %s", read.mode);
  signal(SIGPIPE, SIG_IGN);
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) fail("curl_global_init");
  wakes = eventfd(0, EFD_CLOEXEC);
  if (wakes < 0) fail("eventfd: %s", strerror(errno));

  int lines = is_callers ? read.concurrent : 1;
  struct line *ends = make_lines(lines);
  struct get *gets = calloc((size_t)read.concurrent, sizeof *gets);
  if (!gets) fail("out of memory");
  for (int i = 0; i < read.concurrent; i++) {
    gets[i].handle = make_handle(&read, &gets[i].sink, count_bytes);
    gets[i].ends = &ends[i % lines];
    curl_easy_setopt(gets[i].handle, CURLOPT_PRIVATE, &gets[i]);
    begin(&gets[i]);
  }
  relays = make_lines(read.relays ? read.relays : 1);
  for (int i = 0; i < read.relays; i++) start(relay, &relays[i]);
  long threads = is_executor ? sysconf(_SC_NPROCESSORS_ONLN) : lines;
  for (long i = 0; i < threads; i++) start(call, &ends[i % lines]);
  start(run_loop, NULL);

  sleep_for(read.warmup);
  double from = now(), used_before = processor_seconds(RUSAGE_SELF);
  long long before = atomic_load(&responses);
  sleep_for(read.seconds);
  double time = now() - from, used = processor_seconds(RUSAGE_SELF) - used_before;
  long long counted = atomic_load(&responses) - before;
  if (counted <= 0) fail("no response came while they were counted");
  answer_with_processor((double)counted / time, peak_resident_bytes(), used * 1e6 / (double)counted);
  // The other threads end with the process.
  fflush(stdout);
  _exit(0);
}

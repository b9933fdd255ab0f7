/// Runs the curl program and answers as the other clients do: its own account of the time, the kernel's of its memory.
#include "assignment.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// Starts curl with these arguments and gives what it writes.
static FILE *start_curl(char *const arguments[], pid_t *child) {
  int output[2];
  if (pipe(output) != 0) fail("pipe: %s", strerror(errno));
  *child = fork();
  if (*child < 0) fail("fork: %s", strerror(errno));
  if (*child == 0) {
    dup2(output[1], STDOUT_FILENO);
    close(output[0]);
    close(output[1]);
    execvp("curl", arguments);
    fail("curl: %s", strerror(errno));
  }
  close(output[1]);
  FILE *reader = fdopen(output[0], "r");
  if (!reader) fail("fdopen: %s", strerror(errno));
  return reader;
}

static void load_large(const struct assignment *assignment) {
  char path[4096] = "/dev/null";
  if (!strcmp(assignment->mode, "file"))
    snprintf(path, sizeof path, "%s/curl.download", assignment->directory);
  else if (strcmp(assignment->mode, "delegate") != 0)
    fail("no large loads through %s", assignment->mode);
  char *arguments[] = {
    "curl", "--silent", "--show-error", assignment->http2 ? "--http2" : "--http1.1", "--output", path, "--write-out",
    "%{time_total} %{size_download} %{http_code}\n", (char *)assignment->url, assignment->ca ? "--cacert" : NULL,
    (char *)assignment->ca, NULL,
  };
  pid_t child;
  FILE *reader = start_curl(arguments, &child);
  double seconds = 0;
  long long bytes = 0;
  int http_status = 0, status = 0;
  if (fscanf(reader, "%lf %lld %d", &seconds, &bytes, &http_status) != 3) fail("curl said nothing");
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child || status != 0) fail("curl ended with status %d", status);
  if (http_status != 200) fail("status %d instead of 200", http_status);
  if (bytes != assignment->bytes) fail("%lld bytes instead of %lld", bytes, assignment->bytes);
  answer((double)bytes / 1e6 / seconds, (long long)usage.ru_maxrss * 1024);
}

static void upload(const struct assignment *assignment) {
  if (!assignment->source) fail("--source is needed");
  char *arguments[] = {
    "curl", "--silent", "--show-error", assignment->http2 ? "--http2" : "--http1.1", "--upload-file",
    (char *)assignment->source, "--write-out", "%{time_total} %{size_upload} %{http_code}\n", (char *)assignment->url,
    assignment->ca ? "--cacert" : NULL, (char *)assignment->ca, NULL,
  };
  pid_t child;
  FILE *reader = start_curl(arguments, &child);
  double seconds = 0;
  long long bytes = 0;
  int http_status = 0, status = 0;
  if (fscanf(reader, "%lf %lld %d", &seconds, &bytes, &http_status) != 3) fail("curl said nothing");
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child || status != 0) fail("curl ended with status %d", status);
  if (http_status != 201 && http_status != 204) fail("status %d instead of 201", http_status);
  if (bytes != assignment->bytes) fail("%lld bytes instead of %lld", bytes, assignment->bytes);
  answer((double)bytes / 1e6 / seconds, (long long)usage.ru_maxrss * 1024);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/// curl is given more URLs than it can load, writes a line for each, and is ended when the time is over.
static void load_small(const struct assignment *assignment) {
  if (strcmp(assignment->mode, "parallel") != 0) fail("no small loads through %s", assignment->mode);
  if (assignment->connections > 300) fail("curl opens 300 connections at most");
  char url[4096], most[16];
  snprintf(url, sizeof url, "%s?[1-100000000]", assignment->url);
  snprintf(most, sizeof most, "%d", assignment->connections);
  char *arguments[] = {
    "curl", "--silent", "--show-error", "--no-progress-meter", "--http1.1", "--parallel", "--parallel-immediate",
    "--parallel-max", most, "--output", "/dev/null", "--write-out", "%{size_download} %{http_code}\n", url, NULL,
  };
  pid_t child;
  FILE *reader = start_curl(arguments, &child);
  double begin = 0, started = now();
  long long counted = 0, bytes;
  int http_status;
  while (fscanf(reader, "%lld %d", &bytes, &http_status) == 2) {
    if (http_status != 200) fail("status %d instead of 200", http_status);
    if (bytes != assignment->bytes) fail("%lld bytes instead of %lld", bytes, assignment->bytes);
    double time = now();
    if (begin == 0) {
      if (time - started >= assignment->warmup) begin = time;
      continue;
    }
    counted += 1;
    if (time - begin < assignment->seconds) continue;
    kill(child, SIGKILL);
    struct rusage usage;
    int status;
    if (wait4(child, &status, 0, &usage) != child) fail("curl is lost");
    answer((double)counted / (time - begin), (long long)usage.ru_maxrss * 1024);
    return;
  }
  fail("curl ended too early");
}

int main(int count, char **arguments) {
  struct assignment assignment = read_assignment(count, arguments);
  if (assignment.large)
    load_large(&assignment);
  else if (assignment.upload)
    upload(&assignment);
  else
    load_small(&assignment);
  return 0;
}

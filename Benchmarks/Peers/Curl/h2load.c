/// Runs h2load and answers as the other clients do: its own count of requests a second, the kernel's of its memory.
#include "assignment.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
  struct assignment assignment = read_assignment(count, arguments);
  if (assignment.large || !assignment.http2) fail("h2load only loads small files over HTTP/2");
  char streams[16], seconds[32], warmup[32];
  snprintf(streams, sizeof streams, "%d", assignment.connections);
  // Whole seconds are all that it takes.
  snprintf(seconds, sizeof seconds, "%d", assignment.seconds < 1 ? 1 : (int)(assignment.seconds + 0.5));
  snprintf(warmup, sizeof warmup, "%dms", (int)(assignment.warmup * 1000));

  int output[2];
  if (pipe(output) != 0) fail("pipe: %s", strerror(errno));
  pid_t child = fork();
  if (child < 0) fail("fork: %s", strerror(errno));
  if (child == 0) {
    dup2(output[1], STDOUT_FILENO);
    close(output[0]);
    close(output[1]);
    execlp("h2load", "h2load", "--clients=1", "--threads=1", "--max-concurrent-streams", streams, "--duration", seconds,
           "--warm-up-time", warmup, assignment.url, (char *)NULL);
    fail("h2load: %s", strerror(errno));
  }
  close(output[1]);

  // "finished in 2.00s, 61234.50 req/s, 64.12MB/s" and "status codes: 122469 2xx, 0 3xx, 0 4xx, 0 5xx"
  double rate = 0;
  long long good = 0, other = 0, redirected = 0, refused = 0, failed = 0;
  char line[1024];
  FILE *reader = fdopen(output[0], "r");
  while (reader && fgets(line, sizeof line, reader)) {
    sscanf(line, "finished in %*[^,], %lf req/s", &rate);
    if (sscanf(line, "status codes: %lld 2xx, %lld 3xx, %lld 4xx, %lld 5xx", &good, &redirected, &refused, &failed) == 4)
      other = redirected + refused + failed;
  }
  int status = 0;
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child || status != 0) fail("h2load ended with status %d", status);
  if (good == 0 || other > 0 || rate <= 0) fail("h2load: %lld good answers, %lld others", good, other);
  answer(rate, (long long)usage.ru_maxrss * 1024);
  return 0;
}

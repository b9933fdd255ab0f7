/// Runs the curl program and answers as the other clients do: its own account of the time, the kernel's of its memory.
#include "assignment.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
  struct assignment assignment = read_assignment(count, arguments);
  if (!assignment.large) fail("the curl program only loads large files");
  char path[4096] = "/dev/null";
  if (!strcmp(assignment.mode, "file"))
    snprintf(path, sizeof path, "%s/curl.download", assignment.directory);
  else if (strcmp(assignment.mode, "delegate") != 0)
    fail("no large loads through %s", assignment.mode);

  int output[2];
  if (pipe(output) != 0) fail("pipe: %s", strerror(errno));
  pid_t child = fork();
  if (child < 0) fail("fork: %s", strerror(errno));
  if (child == 0) {
    dup2(output[1], STDOUT_FILENO);
    close(output[0]);
    close(output[1]);
    const char *version = assignment.http2 ? "--http2" : "--http1.1";
    const char *report = "%{time_total} %{size_download} %{http_code}\n";
    if (assignment.ca)
      execlp("curl", "curl", "--silent", "--show-error", version, "--cacert", assignment.ca, "--output", path,
             "--write-out", report, assignment.url, (char *)NULL);
    else
      execlp("curl", "curl", "--silent", "--show-error", version, "--output", path, "--write-out", report,
             assignment.url, (char *)NULL);
    fail("curl: %s", strerror(errno));
  }
  close(output[1]);

  double seconds = 0;
  long long bytes = 0;
  int http_status = 0, status = 0;
  FILE *reader = fdopen(output[0], "r");
  if (!reader || fscanf(reader, "%lf %lld %d", &seconds, &bytes, &http_status) != 3) fail("curl said nothing");
  struct rusage usage;
  if (wait4(child, &status, 0, &usage) != child || status != 0) fail("curl ended with status %d", status);
  if (http_status != 200) fail("status %d instead of 200", http_status);
  if (bytes != assignment.bytes) fail("%lld bytes instead of %lld", bytes, assignment.bytes);
  answer((double)bytes / 1e6 / seconds, (long long)usage.ru_maxrss * 1024);
  return 0;
}

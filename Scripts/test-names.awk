# Lists the tests that Swift test files declare, one `Suite/test` a line, nested suites as `Outer/Inner/test`.
# A test is a function with @Test above or before it; its suite is the type around it, found by indentation.

function forget_types_at(depth) {
  while (level > 0 && depths[level] >= depth) level--
}

function suite_path(    path, i) {
  path = ""
  for (i = 1; i <= level; i++) path = path (path == "" ? "" : "/") names[i]
  return path
}

FNR == 1 { level = 0; marked = 0 }

{ line = $0; sub(/[ \t]*\/\/.*/, "", line) }

line ~ /^[ \t]*$/ { next }

line ~ /@Test/ { marked = 1 }

line ~ /^ *([@a-zA-Z_]+(\([^)]*\))? +)*(struct|class|actor|enum|extension) +[A-Za-z_`]/ {
  match(line, /[^ ]/)
  depth = RSTART
  name = line
  sub(/^ *([@a-zA-Z_]+(\([^)]*\))? +)*(struct|class|actor|enum|extension) +/, "", name)
  sub(/[^A-Za-z0-9_.`].*/, "", name)
  gsub(/`/, "", name)
  gsub(/\./, "/", name)
  forget_types_at(depth)
  depths[++level] = depth
  names[level] = name
}

marked && match(line, /func +(`[^`]+`|[A-Za-z_][A-Za-z0-9_]*)/) {
  name = substr(line, RSTART, RLENGTH)
  sub(/^func +/, "", name)
  gsub(/`/, "", name)
  marked = 0
  match(line, /[^ ]/)
  forget_types_at(RSTART)
  path = suite_path()
  if (path != "") {
    print path "/" name
    if (path ~ /\//) { sub(/.*\//, "", path); print path "/" name }
  }
}

-- Tries to read a file.
return {title = io.open("/etc/passwd"):read("a")}

// Finds log lines that a server should not write while it only answers requests.

/** Errors, requests that could not be served, and what is no line of the log; jobs and models are warned of here. */
export function unexpectedLines(output: string): readonly string[] {
  const expected = [/^$/, /^listening on /, /^admin key /, /^\{"level":40(?!.*"msg":"request refused")/];
  return output.split("\n").filter((line) => !expected.some((pattern) => pattern.test(line)));
}

// Finds log lines that a server should not write if it only answers requests.

/**
 * Returns errors, warnings about requests that could not be served, and lines that are not log lines. Other warnings,
 * about jobs and models, are expected.
 */
export function unexpectedLines(output: string): readonly string[] {
  const expected = [/^$/, /^listening on /, /^admin key /, /^\{"level":40(?!.*"msg":"request refused")/];
  return output.split("\n").filter((line) => !expected.some((pattern) => pattern.test(line)));
}

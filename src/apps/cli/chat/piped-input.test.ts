import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

const program = `
  const { withInput } = await import(${JSON.stringify(new URL("./piped-input.js", import.meta.url).href)});
  process.stdout.write(await withInput(process.argv[1]));
`;

/**
 * Runs a shell command line. In it, "$@" is a program that prints a question with its piped input. Compares the output
 * with the expected one.
 *
 * @param shell command line that gives "$@" a standard input
 */
function check(shell: string, question: string, expected: string): void {
  const words = [process.execPath, "--input-type=module", "-e", program, "--", question];
  const { stdout, stderr } = spawnSync("bash", ["-c", shell, "bash", ...words], { encoding: "utf8" });
  assert.equal(stdout, expected, stderr);
}

test("appends text from a shell's pipe or file redirection to the question", () => {
  check(`printf 'one\\ntwo\\n' | "$@"`, "Which words?", "Which words?\n\none\ntwo");
  check(`"$@" <<< three`, "Which word?", "Which word?\n\nthree");
});

test("leaves the question unchanged without input, and replaces the word - with the input", () => {
  check(`"$@" < /dev/null`, "Hello", "Hello");
  check(`printf '' | "$@"`, "Hello", "Hello");
  check(`"$@" <&-`, "Hello", "Hello");
  check(`printf 'Ann' | "$@"`, "Greet - warmly", "Greet Ann warmly");
});

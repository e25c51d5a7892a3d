// Tests, for each command that talks to a server, its errors in the two most frequent cases: no server, a wrong key.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandsOf, examples } from "./examples.ts";
import { createProgram } from "./program.ts";
import { listening, run } from "./testing/commands-under-test.ts";

/** Commands that are not tested: they read standard input until it ends, or start another program. */
const left = ["mcp", "demo", "start"];

/** Example command lines of commands that talk to a server, as lists of words without `hone`. */
const lines = commandsOf(createProgram())
  .filter(([words, command]) => !left.includes(words) && command.options.some(({ long }) => long === "--url"))
  .map(([words]) => {
    const example = (examples[words]?.[0] ?? "").replace(/ # .*$/, "").replace(/ > \S+$/, "");
    return [...example.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
      .map((match) => match.slice(1).find((word) => word !== undefined) ?? "")
      .slice(1);
  });

/** Checks that each command line prints only one line, to standard error, which mentions no details of HTTP. */
async function check(
  called: readonly (readonly string[])[],
  environment: Readonly<Record<string, string>>,
  expected: RegExp,
): Promise<void> {
  for (const words of called) {
    const { outputs, errors } = await run([words], environment);
    const name = words.join(" ");
    assert.match(errors, /^hone: [^\n]+\n$/, name);
    assert.doesNotMatch(errors, /\/v1|Authorization|Bearer|\n +at |HTTP|\b(?:GET|POST) /, name);
    if (!/conversations\.jsonl|pairs\.jsonl|agent-adapter/.test(errors)) assert.match(errors, expected, name);
    assert.deepEqual(outputs, ["status 1"], name);
  }
}

test("without a server, every command says how to start one", async () => {
  await check(
    lines,
    { HONE_URL: "http://127.0.0.1:1", HONE_API_KEY: "hone_x" },
    /^hone: No answer from http:\/\/127\.0\.0\.1:1 \(.+\)\. Start the server with `hone serve`, or name another address with --url or HONE_URL\.\n$/,
  );
});

test("with a wrong key, every command says where keys come from", async (t) => {
  // `open` and `top` work without a key, and `top` would not end.
  const called = lines.filter(([word]) => word !== "open" && word !== "top");
  // A server accepts only 30 unknown keys a minute.
  for (let start = 0; start < called.length; start += 25) {
    const { member } = await listening(t);
    const environment = { ...member, HONE_API_KEY: "hone_wrong" };
    const expected = /^hone: The key is unknown\. Set HONE_API_KEY, pass --key, or run /;
    await check(called.slice(start, start + 25), environment, expected);
  }
});

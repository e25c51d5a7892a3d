// Tests, with real processes, of commands whose output pipe is closed before they print.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";

/** Returns the exit status of `hone`, and what it wrote to the stream that is still open. */
async function runUnread(words: readonly string[], input = ""): Promise<{ status: unknown; said: string }> {
  const child = spawn(process.execPath, ["bin/hone.js", ...words], { stdio: "pipe" });
  child.stdout.destroy();
  child.stdin.end(input);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const [status] = await once(child, "close");
  return { status, said };
}

test("exits quietly with status 0 if its reader has closed the pipe", async () => {
  const quiet = { status: 0, said: "" };
  assert.deepEqual(await runUnread(["--version"]), quiet);
  assert.deepEqual(await runUnread(["serve", "--print-config"]), quiet);
  const many = `${JSON.stringify({ schema: {}, tests: [] })}\n`.repeat(200);
  assert.deepEqual(
    await runUnread(["schemas", "check", "--jsonl", "-", "--tokenizer", "models/hone-tiny"], many),
    quiet,
  );
});

test("reports a failure on standard error even if nobody reads standard output", async () => {
  const { status, said } = await runUnread(["models", "--url", "http://127.0.0.1:1"]);
  assert.equal(status, 1);
  assert.match(said, /^hone: /);
});

// Tests `hone traces dataset` against a server with traced chats, and the training job that the written file starts.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { basic, keys } from "../../../api/http/testing/fake-server.ts";
import { feedbackServer } from "../../../api/http/testing/feedback-server.ts";
import { commandProcess } from "../testing/command-process.ts";

const runOne = commandProcess();

test("shows what a training file of traces would have, then makes it and writes it", async (t) => {
  const server = await feedbackServer();
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const folder = mkdtempSync(join(tmpdir(), "hone-traces-"));
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const question = { role: "user", content: "Where is Paris?" };
  const calls = ["In France.", "In Texas.", "cut"].map((content, index) => ({
    project_id: "acme/games",
    id: `c${index}`,
    trace_id: `t${index}`,
    op_name: "chat",
    attributes: {},
    started_at: `2026-11-30T00:00:0${index}Z`,
    ended_at: `2026-11-30T00:00:0${index}Z`,
    inputs: { messages: [question] },
    output: {
      choices: [
        { message: { role: "assistant", content }, finish_reason: content === "cut" ? "length" : "stop" },
      ],
    },
    summary: {},
  }));
  const stored = await server.ask({
    method: "POST",
    url: "/v2/acme/games/calls/complete",
    headers: { authorization: basic(keys.member) },
    payload: { batch: calls },
  });
  assert.equal(stored.statusCode, 200, stored.body);
  const run = (...words: readonly string[]) =>
    runOne(["traces", "dataset", ...words], { environment: { HONE_URL: url, HONE_API_KEY: keys.member } });
  const rows = ["In France.", "In Texas."].map((content) => ({
    messages: [question, { role: "assistant", content }],
  }));
  const dry = await run("games", "--dry-run");
  assert.equal(
    dry.output,
    `a file would have 2 rows, of 3 calls\n${rows.map((row) => JSON.stringify(row)).join("\n")}\nleft out\n      1  the answer was cut off\n`,
  );
  const shown = JSON.parse((await run("acme/games", "--trace", "t1", "--dry-run", "--json")).output);
  assert.deepEqual([shown.row_count, shown.file_id, shown.rows], [1, null, [rows[1]]]);
  const file = join(folder, "rows.jsonl");
  const made = await run("games", "--until", "2026-11-30T00:00:01Z", "--out", file);
  assert.match(made.output, /^the file file-[0-9a-f-]{36} has 1 row, of 1 call\nwrote .*rows\.jsonl\n$/);
  assert.equal(readFileSync(file, "utf8"), `${JSON.stringify(rows[0])}\n`);

  const refusals = [
    [["games", "--out", file], /exists; name a new file/],
    [["games", "--dry-run", "--out", "x"], /--dry-run makes no file/],
    [["games", "--score-min", "1"], /--score-min needs --score/],
    [["games", "--kind", "preference"], /Preferences need a score/],
    [["games", "--score", "quality"], /file would be empty/],
    [["other/games"], /entity/],
  ] as const;
  for (const [words, message] of refusals) {
    const { errors, status } = await run(...words);
    assert.equal(status, 1, words.join(" "));
    assert.match(errors, message);
  }
});

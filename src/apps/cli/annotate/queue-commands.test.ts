// Tests of the annotation queue commands as users type them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { test } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { keys } from "../../../api/http/testing/fake-server.ts";
import { project, queueServer, toneQuestion } from "../../../api/http/testing/queue-server.ts";
import { commandProcess } from "../testing/command-process.ts";

const runOne = commandProcess();
/** Commands that read standard input run in this separate process, because a process has only one standard input. */
const annotating = commandProcess();

test("creates a queue, fills it, judges its items, and deletes it", async (t) => {
  const server = await queueServer({}, systemClock);
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  const environment = { HONE_URL: url, HONE_API_KEY: keys.member };
  const run = async (...words: readonly string[]): Promise<string> => {
    const { output, errors, status } = await runOne(words, { environment });
    assert.equal(status, 0, errors);
    return output;
  };
  const create = [
    "queues",
    "create",
    "games/tone",
    "--question",
    "tone=kind|rude: How?",
    "--annotators",
    "2",
  ];
  const id = (await run(...create)).trim();
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.equal(await run("queues", "add", "games/tone", "1", "2", "1"), "2 added, 1 already in the queue\n");
  assert.equal(
    await run("queues", "add", `acme/games/${id}`, "1", "--since", "2026-01-01"),
    "0 added, 1 already in the queue\n",
  );
  const query = '{"$expr": {"$eq": [{"$getField": "feedback_type"}, {"$literal": "none"}]}}';
  assert.deepEqual(JSON.parse(await run("queues", "add", "games/tone", "--feedback", query, "--json")), {
    added_count: 0,
    duplicates: 0,
  });
  const listed = await run("queues", "list", "games");
  assert.match(listed, new RegExp(`^id +name +items +completed .*\n${id} +tone +2 +0 +2 +tone\n$`));

  const given = await annotating(["annotate", "games/tone", "--as", "ann", "--json"], {
    environment,
    input: "12q",
  });
  assert.equal(given.status, 0, given.errors);
  const done = JSON.parse(given.output) as { readonly agreement: readonly object[] };
  assert.deepEqual(
    { ...done, agreement: done.agreement.length },
    {
      annotator: "ann",
      answered: 2,
      skipped: 0,
      queue_id: id,
      total_items: 2,
      completed_items: 0,
      annotators: [{ annotator: "ann", completed: 2, skipped: 0, in_progress: 0 }],
      agreement: 1,
    },
  );
  // With --json, the screen is on standard error.
  assert.match(given.errors, /How\?/);

  const path = `/annotation_queues/${id}`;
  for (const tone of ["kind", "kind"]) {
    const item = await server.take(path, { annotator: "bob" });
    await server.post(`${path}/items/${item.id}/answers`, { annotator: "bob", answers: { tone } });
  }
  assert.equal(
    await run("queues", "stats", "games/tone"),
    [
      "2 of 2 items are complete",
      "ann: 2 completed, 0 skipped, 0 in progress",
      "bob: 2 completed, 0 skipped, 0 in progress",
      "tone: 50 % of 2 people's answers to 2 items agree, Cohen's kappa 0.000",
      "",
    ].join("\n"),
  );
  const nothing = await runOne(["queues", "add", "games/tone"], { environment });
  assert.match(nothing.errors, /No items given; pass call ids/);
  assert.equal(await run("queues", "delete", "games/tone"), `deleted ${id}\n`);
  const gone = await runOne(["queues", "stats", "games/tone"], { environment });
  assert.equal(gone.status, 1);
  assert.match(
    gone.errors,
    /No annotation queue has the name "tone", .*\. `hone queues list acme\/games` lists them/,
  );
  const unnamed = await runOne(["annotate", "tone"], { environment });
  assert.match(unnamed.errors, /"tone" is not a queue name; write project\/queue/);
});

/** Linux program that runs a command in a pseudo-terminal. */
const script = "/usr/bin/script";
const inTerminal = {
  skip: process.platform === "linux" && existsSync(script) ? false : `there is no ${script}`,
  timeout: 60_000,
};

test(
  "answers on each key press in a terminal, and restores the terminal's settings at the end",
  inTerminal,
  async (t) => {
    const server = await queueServer({}, systemClock);
    const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
    t.after(() => server.close());
    const path = await server.newQueue({ questions: [toneQuestion] }, 2);
    const queue = `${project}/${path.split("/").at(-1)}`;
    const words = [process.execPath, "bin/hone.js", "annotate", queue, "--as", "ann"];
    // `stty` reports whether the command restored the terminal's line mode and echo.
    const line = `stty rows 24 cols 80; ${words.map((word) => `'${word}'`).join(" ")}; stty -a`;
    const child = spawn(script, ["-qec", line, "/dev/null"], {
      env: { ...process.env, HONE_URL: url, HONE_API_KEY: keys.member, TERM: "xterm" },
    });
    t.after(() => child.kill());
    const shown = shownBy(child.stdout);
    await shown.until(/0 of 2.*How does it sound\?.*1 kind {3}2 rude/s);
    child.stdin.write("2");
    await shown.until(/1 of 2/);
    child.stdin.write("x1");
    await shown.until(/No items left\./);
    child.stdin.write("q");
    await shown.until(/2 answered, 0 skipped; the queue has 2 of 2 items complete/);
    await shown.until(/ icanon .* echo /s);
    const { result } = await server.post("/feedback/query");
    assert.deepEqual(
      result.map(({ payload }) => payload),
      [{ value: "rude" }, { value: "kind" }],
    );
  },
);

/** Collects a stream's output; `until` waits for text that follows the previous match. */
function shownBy(stream: Readable) {
  let text = "";
  const waiting = new Set<() => void>();
  stream.setEncoding("utf8").on("data", (data: string) => {
    text += data;
    for (const look of waiting) look();
  });
  return {
    until: (pattern: RegExp): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          const match = pattern.exec(text);
          if (match === null) return;
          // The next search starts after this match.
          text = text.slice(match.index + match[0].length);
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

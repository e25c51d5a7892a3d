import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { createFeedbackService } from "../../../judge/feedback/feedback-service.ts";
import { fakeServer, keys } from "../../../api/http/testing/fake-server.ts";
import { commandProcess } from "../testing/command-process.ts";

const runOne = commandProcess();

test("adds, lists, queries, exports and summarizes feedback", async (t) => {
  const server = await fakeServer({
    services: ({ feedback, annotation, objects }) => ({
      feedback: createFeedbackService({
        store: feedback,
        queues: annotation,
        specs: objects,
        clock: systemClock,
      }),
    }),
  });
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const folder = mkdtempSync(join(tmpdir(), "hone-feedback-"));
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const environment = { HONE_URL: url, HONE_API_KEY: keys.member };
  const run = async (...words: readonly string[]) => {
    const { output, errors, status } = await runOne(["feedback", ...words], { environment });
    return { output, errors, status };
  };
  assert.equal((await run("list", "p")).output, "none\n");
  assert.deepEqual(await run("add", "p", "chatcmpl-7", "--emoji", "👍", "--id", "a"), {
    output: "a\n",
    errors: "",
    status: 0,
  });
  const rating = (stars: number) => ["--type", "rating", "--payload", `{"stars": ${stars}}`];
  const call = "hone:///acme/p/call/7";
  assert.equal((await run("add", "p", call, ...rating(4), "--id", "b", "--creator", "Ann")).output, "b\n");
  assert.equal((await run("add", "acme/p", call, ...rating(1), "--id", "c")).output, "c\n");
  const list = await run("list", "p", "--on", "7", "--type", "rating");
  assert.match(list.output, /^id +created_at +feedback_type +vendor_ref +payload +said_by\nc .*\nb .*Ann\n$/);
  assert.match(list.output, /rating +hone:\/\/\/acme\/p\/call\/7 +\{"stars":1\} +member-owner/);
  const least = '{"$gt": [{"$getField": "payload.stars"}, {"$literal": 0}]}';
  const fields = ["--fields", "id", "payload.stars"];
  const queried = await run("query", "p", "--query", least, "--sort", "payload.stars:desc", ...fields);
  assert.equal(queried.output, "id  payload.stars\nb   4\nc   1\n");
  assert.equal((await run("query", "p", "--query", least, "--count")).output, "2\n");
  const json = await run("query", "p", "--type", "vendor.reaction.1", "--json", ...fields);
  assert.deepEqual(JSON.parse(json.output), [{ id: "a", "payload.stars": null }]);

  const file = join(folder, "all.csv");
  const asCsv = ["--format", "csv", ...fields];
  assert.equal((await run("export", "p", ...asCsv, "--out", file)).output, `wrote ${file}\n`);
  assert.equal(readFileSync(file, "utf8"), "id,payload.stars\r\na,\r\nb,4\r\nc,1\r\n");
  assert.equal(
    (await run("export", "p", ...fields, "--after", "b")).output,
    '{"id":"c","payload.stars":1}\n',
  );
  assert.match((await run("export", "p", "--out", file)).errors, /exists; name a new file/);

  const stats = await run("stats", "p");
  assert.match(stats.output, /^3 records\nrating +2  █+\nvendor.reaction.1 +1  █+/);
  assert.match(
    stats.output,
    /payload.stars  2 number\n +mean 2.5  p50 2.5  p95 3.85\n +1  1  █+\n +4  1  █+\n/,
  );
  assert.match(stats.output, /payload.emoji  1 text\n +👍  1  █+$/m);
  assert.doesNotMatch(stats.output, /alias/);
  assert.equal((await run("stats", "p", "--type", "none")).output, "no feedback\n");
  const whole = JSON.parse((await run("stats", "p", "--json")).output) as { readonly total_count: number };
  assert.equal(whole.total_count, 3);

  assert.match(
    (await run("add", "p", call)).errors,
    /Give the feedback: --emoji <emoji>, --note <text>, or --type/,
  );
  assert.match(
    (await run("add", "p", call, "--type", "x", "--payload", "{")).errors,
    /--payload is not JSON/,
  );
  assert.match((await run("query", "p", "--query", "[]")).errors, /--query must be an operation/);
});

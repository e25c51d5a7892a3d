import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeServer, keys } from "../../../api/http/testing/fake-server.ts";
import { commandProcess } from "../testing/command-process.ts";

const runOne = commandProcess();

test("adds webhooks with a secret, lists them and their deliveries, replays deliveries and deletes webhooks", async (t) => {
  const server = await fakeServer();
  const url = await server.app.listen({ host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  const environment = { HONE_URL: url, HONE_API_KEY: keys.member };
  const run = async (...words: readonly string[]) => {
    const { output, errors, status } = await runOne(["webhooks", ...words], { environment });
    return { output, errors, status };
  };
  const events = ["--events", "feedback.created", "training_ended"];
  const added = await run("add", "http://127.0.0.1:1/", ...events);
  const [id = "", secret = ""] = added.output.split("\n");
  assert.match(secret, /^whsec_/);
  const list = await run();
  assert.match(list.output, /url +events +state +pending\n/);
  assert.match(
    list.output,
    new RegExp(`${id}  http://127.0.0.1:1/  feedback.created training_ended  working  0`),
  );
  assert.equal((await run("deliveries", id)).output, "none\n");
  assert.equal(
    (await run("replay", id, "--failed-since", "2026-11-26")).output,
    "0 deliveries will be resent\n",
  );
  assert.match((await run("replay", id)).errors, /either delivery_id or failed_since/);
  const refused = await run("add", "http://10.0.0.1/");
  assert.equal(refused.status, 1);
  assert.match(refused.errors, /10\.0\.0\.1 is not among the destinations/);
  const { output } = await run("delete", id, "--json");
  assert.deepEqual(JSON.parse(output), { id, deleted: true });
});

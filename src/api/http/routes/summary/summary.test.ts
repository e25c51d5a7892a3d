// The summary of the server over HTTP: its content, which keys see which jobs, and the stream of its changes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, keys, playJob } from "../../testing/fake-server.ts";
import { choice, post, withModel } from "../../testing/training-jobs-under-test.ts";

const url = "/v1/preview/summary";
const groups = [
  { trajectories: [{ messages_and_choices: [{ role: "user", content: "hi" }, choice], reward: 1 }] },
];

async function withRunningJob() {
  const { server, modelId } = await withModel();
  const { id } = (await post(server, { model_id: modelId, trajectory_groups: groups })).json<{
    id: string;
  }>();
  return { server, modelId, id, start: () => playJob(server, { step: null }) };
}

test("contains the parts, the base models, and the running jobs that the key can read", async () => {
  const { server, modelId, id, start } = await withRunningJob();
  await start();
  const read = async (key: string) =>
    (await server.ask({ method: "GET", url, headers: { authorization: bearer(key) } })).json();
  const seen = await read(keys.member);
  assert.equal(seen.parts.database, "ok");
  assert.deepEqual(
    seen.running_jobs.map((job: Record<string, unknown>) => [job["id"], job["model_id"], job["kind"]]),
    [[id, modelId, "rl"]],
  );
  assert.equal(seen.newest_job_id, id);
  const foreign = await read(keys.other);
  assert.deepEqual([foreign.running_jobs, foreign.newest_job_id], [[], null]);
  assert.equal((await server.ask({ method: "GET", url })).statusCode, 401);
});

test("streams the summary at once, and again after a change", async (t) => {
  const { server, id, start } = await withRunningJob();
  t.after(() => server.close());
  const address = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const answer = await fetch(address + url, {
    headers: { authorization: bearer(), accept: "text/event-stream" },
  });
  const reader = answer.body?.getReader();
  assert.ok(reader !== undefined);
  const decoder = new TextDecoder();
  let text = "";
  const readUntil = async (part: string): Promise<void> => {
    while (!text.includes(part)) {
      const { value, done } = await reader.read();
      assert.ok(!done, text);
      text += decoder.decode(value, { stream: true });
    }
  };
  await readUntil('"running_jobs":[]');
  await start();
  await readUntil(`"running_jobs":[{"id":"${id}"`);
  assert.equal(text.split("data: ").length - 1, 2, "sends nothing without a change");
  await reader.cancel();
});

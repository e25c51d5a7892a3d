// Tests a server on PostgreSQL as users run it: serving, training and storing, also after a restart and a temporary
// loss of the database.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cutLineTo } from "../src/store/database/testing/cut-line.ts";
import { createPostgres, withoutPostgres } from "../src/store/database/testing/postgres-databases.ts";
import { call, eventually, newDataFolder, removeDataFolder, startServer } from "./running-server.ts";
import { finish, model, registerModel, stepsOf, submitJob } from "./served-jobs.ts";

test(
  "hone serve stores everything in PostgreSQL, waits for it, and continues after a restart",
  { skip: withoutPostgres },
  async (t) => {
    const { url, drop } = await createPostgres();
    const line = await cutLineTo(url);
    const dataFolder = newDataFolder();
    const flags = [...model, "--database-url", line.url];
    let server = await startServer({ dataFolder, flags });
    t.after(async () => {
      line.mend();
      await server.terminate();
      await line.close();
      await drop();
      removeDataFolder(dataFolder);
    });
    const ask = async (method: string, path: string, body?: unknown): Promise<any> => {
      const answer = await call(server, method, path, { body });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    };
    const health = async (): Promise<string> => (await call(server, "GET", "/health")).body.state;
    const modelId = await registerModel(server, "learner");
    await finish(server, await submitJob(server, modelId, 2));
    const question = { role: "user", content: "NUL \0, half \ud83d, and 👩🏽‍💻" };
    const chat = { model: modelId, messages: [question], max_tokens: 4, seed: 1, temperature: 0 };
    const before = await ask("POST", "/v1/chat/completions", chat);
    const log = { trajectories: [{ messages_and_choices: [question, before.choices[0]], reward: 1 }] };
    await ask("POST", `/v1/preview/models/${modelId}/log`, { trajectory_groups: [log], split: "val" });
    const feedback = (id: string): object => ({
      id,
      project_id: "local/p",
      weave_ref: `hone:///local/p/call/${before.id}`,
      feedback_type: "note",
      payload: { note: `NUL \0 and half \ud83d of ${id}`, score: 0.5 },
    });
    const first = "01890000-0000-7000-8000-000000000001";
    const second = "01890000-0000-7000-8000-000000000002";
    const create = (id: string): Promise<any> =>
      call(server, "POST", "/feedback/create", { scheme: "Basic", body: feedback(id) });
    assert.equal((await create(first)).status, 200);

    line.cut();
    const delayed = create(second);
    await eventually("its health says that it waits", async () =>
      (await health()) === "waiting" ? true : null,
    );
    line.mend();
    await eventually("it is well again", async () => ((await health()) === "ready" ? true : null));
    // The server may refuse a request that was in progress when the connection broke. A client then sends it again.
    if ((await delayed).status !== 200) assert.equal((await create(second)).status, 200);

    assert.equal(await server.terminate(), 0);
    server = await startServer({ dataFolder, flags });
    assert.deepEqual(await stepsOf(server, modelId), [0, 1]);
    const after = await ask("POST", "/v1/chat/completions", chat);
    assert.deepEqual(after.choices, before.choices);
    const { body: found } = await call(server, "POST", "/feedback/query", {
      scheme: "Basic",
      body: {
        project_id: "local/p",
        query: {
          $expr: {
            $gte: [{ $convert: { input: { $getField: "payload.score" }, to: "double" } }, { $literal: 0.5 }],
          },
        },
        sort_by: [{ field: "id", direction: "asc" }],
      },
    });
    assert.deepEqual(
      found.result.map(({ id, payload }: { id: string; payload: { note: string } }) => [id, payload.note]),
      [first, second].map((id) => [id, `NUL \0 and half \ud83d of ${id}`]),
    );
  },
);

import assert from "node:assert/strict";
import { test } from "node:test";
import { basic, bearer, fakeServer, keys } from "../../testing/fake-server.ts";

const path = "/v1/preview/webhooks";
const url = "http://127.0.0.1:1/hook";

async function serverWithAsk(key: string = keys.member) {
  const server = await fakeServer();
  const ask = async (method: "GET" | "POST" | "DELETE", tail: string, body?: object) => {
    const answer = await server.ask({
      method,
      url: path + tail,
      headers: { authorization: bearer(key) },
      ...(body === undefined ? {} : { payload: body }),
    });
    return { status: answer.statusCode, body: answer.json() };
  };
  return { server, ask };
}

test("creates a webhook and shows its secret once, then reads, changes, disables, enables and deletes the webhook", async () => {
  const { server, ask } = await serverWithAsk();
  const asked = { url, events: ["feedback.created", "feedback.created"], feedback_type: "score" };
  const { status, body } = await ask("POST", "", asked);
  assert.equal(status, 200);
  const { secret, ...made } = body;
  assert.match(secret, /^whsec_[\w+/]{43}=$/);
  assert.deepEqual(
    [made.events, made.feedback_type, made.records_max, made.enabled, made.pending],
    [["feedback.created"], "score", 100, true, 0],
  );
  assert.deepEqual((await ask("GET", `/${made.id}`)).body, made);
  assert.deepEqual((await ask("GET", "")).body.data, [made]);
  const changed = await ask("POST", `/${made.id}`, { feedback_type: null, records_max: 7 });
  assert.deepEqual([changed.body.feedback_type, changed.body.records_max], [null, 7]);
  const disabled = await ask("POST", `/${made.id}`, { enabled: false });
  assert.deepEqual(
    [disabled.body.enabled, disabled.body.disabled_reason],
    [false, "It was disabled by a request."],
  );
  const refused = await ask("POST", `/${made.id}/replay`, { failed_since: "2026-01-01T00:00:00Z" });
  assert.equal(refused.status, 409);
  assert.match(refused.body.error.message, /disabled: It was disabled by a request\. Enable it first/);
  assert.equal((await ask("POST", `/${made.id}`, { enabled: true })).body.enabled, true);
  assert.deepEqual((await ask("DELETE", `/${made.id}`)).body, { id: made.id, deleted: true });
  assert.equal((await ask("GET", `/${made.id}`)).status, 404);
  await server.close();
});

test("stores, changes and removes a webhook's description", async () => {
  const { server, ask } = await serverWithAsk();
  const asked = { url, events: ["feedback.created"] };
  const plain = await ask("POST", "", asked);
  assert.equal(plain.body.description, null);
  const { body } = await ask("POST", "", { ...asked, description: "Tells the \0 team." });
  assert.equal(body.description, "Tells the \0 team.");
  const change = async (description: string | null) => ask("POST", `/${body.id}`, { description });
  assert.equal((await ask("POST", `/${body.id}`, { records_max: 7 })).body.description, body.description);
  assert.equal((await change("x".repeat(1000))).body.description.length, 1000);
  const { status, body: refusal } = await change("x".repeat(1001));
  assert.deepEqual([status, refusal.detail[0].loc], [422, ["body", "description"]]);
  assert.equal((await change(null)).body.description, null);
  assert.equal((await ask("GET", `/${body.id}`)).body.description, null);
  await server.close();
});

test("refuses invalid destinations and other entities' webhooks, with the path and the reason", async () => {
  const { server, ask } = await serverWithAsk();
  const fault = async (about: object) => {
    const { status, body } = await ask("POST", "", { url, events: ["feedback.created"], ...about });
    const [{ loc, msg }] = body.detail;
    return `${status} ${loc.join(".")}: ${msg}`;
  };
  assert.match(await fault({ url: "ftp://127.0.0.1/" }), /^422 body\.url: .*http or https/);
  assert.match(await fault({ url: "http://me:secret@127.0.0.1/" }), /^422 body\.url: .*password/);
  assert.match(
    await fault({ url: "http://10.0.0.1/" }),
    /^422 body\.url: 10\.0\.0\.1 is not among the destinations/,
  );
  assert.match(await fault({ events: ["feedback.read"] }), /^422 body\.events\.0/);
  assert.match(await fault({ events: [] }), /^422 body\.events/);
  assert.match(await fault({ secret: "whsec_short" }), /^422 body\.secret/);
  assert.match(await fault({ project_id: "nothing" }), /^422 body\.project_id/);
  assert.match(await fault({ entity: "other" }), /^403 body\.entity/);
  assert.match(await fault({ project_id: "other/p" }), /^403 body\.project_id/);
  await server.close();
});

test("lists deliveries, and replays them one by one or since a time", async () => {
  const { server, ask } = await serverWithAsk();
  const { body: made } = await ask("POST", "", { url, events: ["training_failed"] });
  const replay = async (body: object) => {
    const answer = await ask("POST", `/${made.id}/replay`, body);
    return answer.status === 200 ? answer.body : `${answer.status} ${answer.body.detail[0].loc.join(".")}`;
  };
  assert.equal(await replay({}), "422 body.delivery_id");
  assert.equal(
    await replay({ delivery_id: "a", failed_since: "2026-01-01T00:00:00Z" }),
    "422 body.delivery_id",
  );
  assert.equal(await replay({ failed_since: "yesterday" }), "422 body.failed_since");
  assert.equal(await replay({ delivery_id: "msg_1" }), "404 body.delivery_id");
  assert.deepEqual(await replay({ failed_since: "2026-01-01T00:00:00Z" }), { replayed: 0, has_more: false });
  assert.deepEqual((await ask("GET", `/${made.id}/deliveries`)).body.data, []);
  await server.close();
});

test("requires Bearer credentials", async () => {
  const { server } = await serverWithAsk();
  const answer = await server.ask({ method: "GET", url: path, headers: { authorization: basic() } });
  assert.equal(answer.statusCode, 401);
  await server.close();
});

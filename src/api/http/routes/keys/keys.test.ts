// API keys over HTTP: who may create them, what limited keys may do, and how keys are revoked and expire.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { FakeClock } from "../../../../base/domain/testing/fake-clock.ts";
import { basic, bearer, fakeServer, helloBody, keys } from "../../testing/fake-server.ts";

const path = "/v1/preview/keys";
const chats = "/v1/chat/completions";

interface Sent {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly url: string;
  readonly payload?: object;
}

async function serverWithAsk(t: TestContext) {
  const clock = new FakeClock();
  const server = await fakeServer({ clock });
  t.after(() => server.close());
  const ask = async (key: string, { method = "GET", ...request }: Sent) => {
    const isBasic = /^\/(feedback|annotation|calls)/.test(request.url);
    const authorization = isBasic ? basic(key) : bearer(key);
    const answer = await server.ask({ method, ...request, headers: { authorization } });
    return { status: answer.statusCode, body: answer.json() };
  };
  const admin = (request: Sent) => ask(keys.admin, request);
  const make = async (payload: object) => {
    const { status, body } = await admin({ method: "POST", url: path, payload });
    assert.equal(status, 200, JSON.stringify(body));
    return body as { readonly id: string; readonly key: string; readonly [field: string]: unknown };
  };
  return { server, clock, ask, admin, make };
}

test("creates a key and shows its secret once, then reads, lists, changes and revokes the key", async (t) => {
  const { admin, ask, make } = await serverWithAsk(t);
  const about = { name: "ci", entity: "acme", owner: "ann", scopes: ["read", "chat", "read"] };
  const { key: secret, ...made } = await make({ ...about, expires_at: "2999-01-01T00:00:00Z" });
  assert.match(secret, /^hone_\w{43}$/);
  assert.deepEqual(
    [made["name"], made["entity"], made["owner"], made["role"], made["scopes"], made["project"]],
    ["ci", "acme", "ann", "member", ["chat", "read"], null],
  );
  assert.deepEqual((await admin({ url: `${path}/${made.id}` })).body, made);
  const listed = await admin({ url: `${path}?entity=acme` });
  assert.deepEqual(
    listed.body.data.map(({ id }: { readonly id: string }) => id),
    [made.id, "member"],
  );
  assert.doesNotMatch(JSON.stringify(listed.body), new RegExp(secret));
  const own = await ask(secret, { url: "/v1/preview/key" });
  assert.deepEqual([own.body.id, own.body.scopes], [made.id, ["chat", "read"]]);
  const change = { scopes: null, expires_at: null, name: "nightly" };
  const changed = await admin({ method: "POST", url: `${path}/${made.id}`, payload: change });
  assert.deepEqual(
    [changed.body.name, changed.body.scopes, changed.body.expires_at],
    ["nightly", null, null],
  );
  const revoked = await admin({ method: "DELETE", url: `${path}/${made.id}` });
  assert.equal(revoked.status, 200);
  assert.match(revoked.body.revoked_at, /Z$/);
  assert.equal((await ask(secret, { url: "/v1/models" })).status, 401);
  for (const [method, tail] of [
    ["DELETE", ""],
    ["POST", ""],
    ["POST", "/rotate"],
  ] as const) {
    const again = await admin({
      method,
      url: `${path}/${made.id}${tail}`,
      ...(method === "POST" ? { payload: {} } : {}),
    });
    assert.deepEqual([again.status, again.body.detail[0].loc], [404, ["path", "key_id"]]);
  }
});

test("refuses an invalid key with the path and the reason", async (t) => {
  const { admin } = await serverWithAsk(t);
  const fault = async (payload: object, tail = ""): Promise<string> => {
    const { status, body } = await admin({ method: "POST", url: path + tail, payload });
    return `${status} ${body.detail[0].loc.join(".")}: ${body.detail[0].msg}`;
  };
  assert.match(await fault({ role: "owner" }), /^422 body\.role/);
  assert.match(await fault({ entity: "a/b" }), /^422 body\.entity: .*part of model names/);
  assert.match(await fault({ name: " " }), /^422 body\.name/);
  assert.match(await fault({ owner: "\0" }), /^422 body\.owner/);
  assert.match(await fault({ scopes: [] }), /^422 body\.scopes/);
  assert.match(await fault({ scopes: ["write"] }), /^422 body\.scopes\.0/);
  assert.match(await fault({ project: "a/b" }), /^422 body\.project: .*without its entity/);
  assert.match(await fault({ role: "admin", project: "p" }), /^422 body\.project: .*admin's key/);
  assert.match(await fault({ expires_at: "2001-01-01T00:00:00Z" }), /^422 body\.expires_at: .*later time/);
  assert.match(await fault({ expires_at: "soon" }), /^422 body\.expires_at/);
  assert.match(await fault({ project: "p" }, "/admin"), /^422 body\.project: .*admin's key/);
  assert.match(await fault({ grace_seconds: -1 }, "/member/rotate"), /^422 body\.grace_seconds/);
  assert.match(await fault({ grace_seconds: 1e9 }, "/member/rotate"), /^422 body\.grace_seconds/);
});

test("lets only administrators whose keys have no limits manage keys", async (t) => {
  const { ask, make } = await serverWithAsk(t);
  const reader = await make({ role: "admin", scopes: ["read", "train", "chat", "feedback"] });
  for (const key of [keys.member, reader.key]) {
    for (const request of [
      { url: path },
      { method: "POST", url: path, payload: {} },
      { method: "POST", url: `${path}/member/rotate`, payload: {} },
      { method: "DELETE", url: `${path}/member` },
    ] as const)
      assert.equal((await ask(key, request)).status, 403);
  }
});

test("opens the routes of a key's scopes, and names the scopes that other routes require", async (t) => {
  const { ask, make } = await serverWithAsk(t);
  const chat = { method: "POST", url: chats, payload: helloBody } as const;
  const record = { project_id: "acme/p", vendor_ref: "w:///acme/p/call/1", feedback_type: "t", payload: {} };
  const requests: Readonly<Record<string, Sent>> = {
    chat,
    served: { url: "/v1/models" },
    models: { url: "/v1/preview/models" },
    register: {
      method: "POST",
      url: "/v1/preview/models",
      payload: { project: "p", name: "m", base_model: "tiny", return_existing: true },
    },
    recorded: { url: "/v1/chat/completions" },
    files: { url: "/v1/files" },
    webhooks: { url: "/v1/preview/webhooks" },
    write: { method: "POST", url: "/feedback/create", payload: record },
    query: { method: "POST", url: "/feedback/query", payload: { project_id: "acme/p" } },
  };
  const opens = {
    chat: ["chat", "served"],
    train: ["served", "models", "register", "recorded", "files"],
    feedback: ["served", "recorded", "write", "query"],
    read: ["served", "models", "recorded", "files", "webhooks", "query"],
  } as const;
  for (const [scope, names] of Object.entries(opens)) {
    const { key } = await make({ entity: "acme", scopes: [scope] });
    const open: string[] = [];
    for (const [name, request] of Object.entries(requests)) {
      const { status, body } = await ask(key, request);
      assert.ok(status === 200 || status === 403, `${scope} ${name}: ${JSON.stringify(body)}`);
      if (status === 200) open.push(name);
      else assert.match(body.detail[0].msg, new RegExp(`This key is for \`${scope}\` only, and `));
    }
    assert.deepEqual(open, names, scope);
  }
  const { key } = await make({ entity: "acme", scopes: ["read"] });
  assert.match((await ask(key, chat)).body.error.message, /is for keys for `chat`\. Use another key/);
});

test("limits a key for one project to that project, in requests and in lists", async (t) => {
  const { ask, make } = await serverWithAsk(t);
  const register = (key: string, project: string) =>
    ask(key, {
      method: "POST",
      url: "/v1/preview/models",
      payload: { project, name: "m", base_model: "tiny" },
    });
  const other = (await register(keys.member, "other")).body.id;
  const { key } = await make({ entity: "acme", project: "games" });
  const refused = await register(key, "other");
  assert.deepEqual([refused.status, refused.body.detail[0].loc], [403, ["body", "project"]]);
  assert.match(refused.body.error.message, /outside the project "games", the only one that your key reaches/);
  const { id } = (await register(key, "games")).body;
  const listed = await ask(key, { url: "/v1/preview/models" });
  assert.deepEqual(
    listed.body.data.map((model: { readonly id: string }) => model.id),
    [id],
  );
  assert.deepEqual((await ask(key, { url: "/v1/preview/models?project=other" })).body.data, []);
  const served = await ask(key, { url: "/v1/models" });
  assert.doesNotMatch(JSON.stringify(served.body), /other/);
  assert.equal((await ask(key, { url: `/v1/preview/models/${other}` })).status, 403);
  assert.equal((await ask(key, { url: `/v1/preview/models/${id}` })).status, 200);
  const record = (project: string) => ({
    project_id: `acme/${project}`,
    vendor_ref: `w:///acme/${project}/call/1`,
    feedback_type: "t",
    payload: {},
  });
  for (const [project, status] of [
    ["games", 200],
    ["other", 403],
  ] as const) {
    const batch = { batch: [record(project)] };
    const wrote = await ask(key, { method: "POST", url: "/feedback/batch/create", payload: batch });
    assert.equal(wrote.status, status);
    assert.equal((await ask(key, { url: `/v1/chat/completions?project=acme/${project}` })).status, status);
  }
  assert.equal((await ask(key, { url: "/v1/preview/training-jobs" })).status, 200);
  for (const url of ["/v1/files", "/v1/preview/webhooks"]) {
    const whole = await ask(key, { url });
    assert.equal(whole.status, 403);
    assert.match(whole.body.error.message, /Use a key of the whole entity "acme"/);
  }
});

test("accepts both secrets of a rotated key for a while, then only the new one", async (t) => {
  const { clock, ask, admin, make } = await serverWithAsk(t);
  const { id, key: first } = await make({ name: "ci" });
  const rotate = async (grace_seconds: number): Promise<string> =>
    (await admin({ method: "POST", url: `${path}/${id}/rotate`, payload: { grace_seconds } })).body.key;
  const second = await rotate(60);
  const idsOf = (secrets: readonly string[]) =>
    Promise.all(
      secrets.map(async (secret) => {
        const { status, body } = await ask(secret, { url: "/v1/preview/key" });
        return status === 200 ? body.id : body.error.message;
      }),
    );
  assert.deepEqual(await idsOf([first, second]), [id, id]);
  await clock.advance(60_000);
  const [ended, still] = await idsOf([first, second]);
  assert.match(ended, /The key was rotated, and this secret is no longer valid/);
  assert.equal(still, id);
  const third = await rotate(0);
  const [, gone, holds] = await idsOf([first, second, third]);
  assert.match(gone, /this secret is no longer valid/);
  assert.equal(holds, id);
});

test("refuses an expired key with this reason, even while an answer runs, and does not count it as unknown", async (t) => {
  const { clock, server, ask, make } = await serverWithAsk(t);
  const expires = new Date(clock.now().getTime() + 10_000).toISOString();
  const { key } = await make({ expires_at: expires });
  assert.equal((await ask(key, { url: "/v1/models" })).status, 200);
  await clock.advance(10_000);
  for (let index = 0; index < 40; index++) {
    const { status, body } = await ask(key, { url: "/v1/models" });
    assert.equal(status, 401);
    assert.match(body.error.message, new RegExp(`The key expired at ${expires}`));
  }
  assert.ok(!server.audited.some(({ action }) => action === "failed-logins-slowed"));
});

test("records when a key was last used", async (t) => {
  const { clock, ask, admin, make } = await serverWithAsk(t);
  const { id, key, ...made } = await make({});
  assert.equal(made["last_used_at"], null);
  await ask(key, { url: "/v1/models" });
  await clock.advance(1000);
  const { body } = await admin({ url: `${path}/${id}` });
  assert.equal(body.last_used_at, clock.now().toISOString());
});

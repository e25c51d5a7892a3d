import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { AuditEntry } from "../../../base/telemetry/audit-log.ts";
import { basic, bearer, fakeServer, keys } from "../testing/fake-server.ts";

const item = { project_id: "acme/p", vendor_ref: "w:///acme/p/call/1", feedback_type: "t", payload: {} };

test("accepts one scheme in each part of the API, and names it in refusals", async () => {
  const server = await fakeServer();
  const model = async (authorization: string | undefined): Promise<readonly unknown[]> => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await server.ask({ method: "GET", url: "/v1/models", headers });
    return [answer.statusCode, answer.headers["www-authenticate"]];
  };
  const feedback = async (authorization: string | undefined): Promise<readonly unknown[]> => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await server.ask({ method: "POST", url: "/feedback/create", headers, payload: item });
    return [answer.statusCode, answer.headers["www-authenticate"]];
  };
  const wantsBearer = [401, 'Bearer realm="hone"'];
  const wantsBasic = [401, 'Basic realm="hone", charset="UTF-8"'];
  assert.deepEqual(await model(bearer()), [200, undefined]);
  assert.deepEqual(await model(`bearer ${keys.admin}`), [200, undefined]);
  for (const wrong of [undefined, basic(), "Bearer", "Bearer hone_nope", keys.admin, ""]) {
    assert.deepEqual(await model(wrong), wantsBearer, wrong);
  }
  assert.deepEqual(await feedback(basic()), [200, undefined]);
  const anyone = `Basic ${Buffer.from(`some:${keys.member}`).toString("base64")}`;
  assert.deepEqual(await feedback(anyone), [200, undefined]);
  const keyAlone = `Basic ${Buffer.from(keys.admin).toString("base64")}`;
  for (const wrong of [undefined, bearer(), basic("hone_nope"), keyAlone, "Basic ???"]) {
    assert.deepEqual(await feedback(wrong), wantsBasic, wrong);
  }
  await server.close();
});

test("checks credentials before it reads the body", async () => {
  const server = await fakeServer();
  const headers = { "content-type": "application/json" };
  const answer = await server.ask({ method: "POST", url: "/v1/chat/completions", headers, payload: "{" });
  assert.equal(answer.statusCode, 401);
  await server.close();
});

test("treats everyone as an administrator of the default entity while authentication is off", async () => {
  const server = await fakeServer({ auth: "off" });
  const payload = { messages: [{ role: "user", content: "Hi" }] };
  assert.equal((await server.ask({ method: "POST", url: "/v1/chat/completions", payload })).statusCode, 200);
  assert.deepEqual(server.chat.seen[0]?.caller, {
    keyId: "none",
    entity: "local",
    role: "admin",
    owner: "local",
    scopes: null,
    project: null,
  });
  await server.close();
});

test("audits changes and refused credentials with caller, address and outcome, but not reads", async () => {
  const server = await fakeServer();
  const ask = (method: "GET" | "POST" | "DELETE", url: string, authorization: string, payload?: object) =>
    server.ask({
      method,
      url,
      headers: { authorization, "x-request-id": "r" },
      ...(payload === undefined ? {} : { payload }),
    });
  await ask("GET", "/v1/models", bearer());
  await ask("POST", "/v1/chat/completions", bearer(), { messages: [{ role: "user", content: "Hi" }] });
  await ask("POST", "/nowhere", bearer(), {});
  await ask("GET", "/v1/models?key=hone_secret", bearer("hone_secret"));
  await ask("DELETE", "/v1/preview/models/7", bearer(keys.member));
  await ask("POST", "/feedback/create", basic(keys.member), item);
  const said = server.audited.map(({ keyId, entity, address, action, outcome, requestId }) =>
    [keyId, entity, address, action, outcome, requestId].join(" "),
  );
  assert.deepEqual(said, [
    "  127.0.0.1 GET /v1/models 401 r",
    "member acme 127.0.0.1 DELETE /v1/preview/models/7 404 r",
    "member acme 127.0.0.1 POST /feedback/create 200 r",
  ]);
  await server.close();
});

/** Returns a server whose audit log stores a durable line only when the test allows it. */
async function auditedServer() {
  const fault = new ServiceError({
    code: "unavailable",
    obstacle: "failing-audit-log",
    message: "The disk is slow.",
  });
  const lines: string[] = [];
  const waiting: { readonly resolve: () => void; readonly reject: (error: Error) => void }[] = [];
  const state = { isFailing: false };
  const audit = {
    record: ({ action, outcome }: AuditEntry) => void lines.push(`behind: ${action} ${outcome}`),
    recordDurably: async ({ action, outcome }: AuditEntry) => {
      await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
      lines.push(`${action} ${outcome}`);
    },
    fault: () => (state.isFailing ? fault : null),
  };
  const server = await fakeServer({ wrap: (dependencies) => ({ ...dependencies, audit }) });
  const ask = async (method: "POST" | "DELETE", url: string, authorization: string, payload?: object) => {
    const answer = await server.ask({ method, url, headers: { authorization }, ...(payload && { payload }) });
    return { status: answer.statusCode, text: answer.body };
  };
  /**
   * Waits until the server writes a durable line to the audit log. Returns functions that complete this write or make
   * it fail.
   */
  const nextLine = async () => {
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    return waiting.shift() ?? assert.fail("one is there");
  };
  const purge = () => ask("POST", "/feedback/purge", basic(keys.member), purged);
  return { server, fault, lines, state, ask, nextLine, purge };
}

const purged = { project_id: "acme/p", query: { $expr: { $eq: [{ $getField: "id" }, { $literal: "x" }] } } };

test("answers a change only once its audit line is on disk", async () => {
  const { server, lines, nextLine, purge } = await auditedServer();
  let status = 0;
  const answered = purge().then((answer) => (status = answer.status));
  const line = await nextLine();
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(status, 0);
  line.resolve();
  assert.equal(await answered, 200);
  assert.deepEqual(lines, ["POST /feedback/purge 200"]);
  await server.close();
});

test("answers 503 if a change's audit line cannot be written, and says that the change was made", async () => {
  const { server, fault, nextLine, purge } = await auditedServer();
  const answered = purge();
  (await nextLine()).reject(fault);
  const { status, text } = await answered;
  assert.equal(status, 503);
  assert.match(
    text,
    /The change was made, but its line in the audit log is not on the disk yet.*The disk is slow/,
  );
  await server.close();
});

test("makes no change while the audit log fails, but answers reads, new records and refused logins", async () => {
  const { server, fault, lines, state, ask, nextLine, purge } = await auditedServer();
  state.isFailing = true;
  const refused = await purge();
  assert.equal(refused.status, 503);
  assert.match(refused.text, /The disk is slow/);
  const deleted = await ask("DELETE", "/v1/preview/models/7", bearer(keys.member));
  assert.equal(deleted.status, 503);
  const query = { project_id: item.project_id };
  assert.equal((await ask("POST", "/feedback/query", basic(keys.member), query)).status, 200);
  assert.equal((await ask("POST", "/feedback/create", basic(keys.member), item)).status, 200);
  const unknown = ask("POST", "/feedback/purge", basic("hone_unknown"), purged);
  (await nextLine()).reject(fault);
  assert.equal((await unknown).status, 401);
  assert.deepEqual(lines, [
    "behind: POST /feedback/purge 503",
    "behind: DELETE /v1/preview/models/7 503",
    "behind: POST /feedback/create 200",
  ]);
  await server.close();
});

test("answers a refused login only once its audit line is on disk", async () => {
  const { server, lines, ask, nextLine } = await auditedServer();
  let status = 0;
  const answered = ask("POST", "/feedback/create", basic("hone_unknown"), item).then(
    (answer) => (status = answer.status),
  );
  const line = await nextLine();
  assert.equal(status, 0);
  line.resolve();
  assert.equal(await answered, 401);
  assert.deepEqual(lines, ["POST /feedback/create 401"]);
  await server.close();
});

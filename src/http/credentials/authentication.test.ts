import assert from "node:assert/strict";
import { test } from "node:test";
import { basic, bearer, fakeServer, keys } from "../testing/fake-server.ts";

const item = { project_id: "acme/p", vendor_ref: "w:///acme/p/call/1", feedback_type: "t", payload: {} };

test("each part of the API takes its own scheme, and names it to whoever sends the other", async () => {
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

test("credentials are asked for before the body is looked at", async () => {
  const server = await fakeServer();
  const headers = { "content-type": "application/json" };
  const answer = await server.ask({ method: "POST", url: "/v1/chat/completions", headers, payload: "{" });
  assert.equal(answer.statusCode, 401);
  await server.close();
});

test("where authentication is off everyone is an administrator of the default entity", async () => {
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

test("changes and refused credentials are audited with who, from where and how it ended; reads are not", async () => {
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

// Tests of name resolution for a new webhook. Only listed names are resolved, within limits, and errors reveal no
// addresses.
import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { test } from "node:test";
import type { Caller } from "../../base/domain/access.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { readEgressAllowlist } from "./egress-allowlist.ts";
import { nameResolver } from "./resolve-name.ts";
import { webhookSettings } from "./settings.ts";
import { serveNames, type NameServer } from "./testing/name-server.ts";
import { createWebhookService } from "./webhook-service.ts";

function callerOf(entity: string): Caller {
  return { keyId: entity, entity, role: "member", owner: entity, scopes: null, project: null };
}

async function serviceOf(server: NameServer, allowed: readonly string[]) {
  const clock = new FakeClock();
  const service = createWebhookService({
    store: (await storesInMemory(clock)).webhooks,
    clock,
    allowed: readEgressAllowlist(allowed),
    settings: webhookSettings.with(),
    resolve: nameResolver({ servers: [server.address], hostsFile: "/none", resolverFile: "/none" }),
  });
  const create = async (host: string, entity = "team"): Promise<string> => {
    const choice = {
      projectId: null,
      feedbackType: null,
      recordsMax: 1,
      description: null,
      secret: null,
      entity: null,
    };
    const request = { ...choice, url: `http://${host}/`, events: ["feedback.created"] as const };
    return (await service.create(request, callerOf(entity))).url;
  };
  return { clock, create };
}

test("does not resolve an unlisted name, even if a network is listed", async (t) => {
  const server = await serveNames(t, { "db.corp.test": ["10.0.0.3"], "hooks.test": ["10.0.0.4"] });
  const { create } = await serviceOf(server, ["10.0.0.0/8", "hooks.test"]);
  await assert.rejects(create("db.corp.test"), { code: "invalid", message: /is not among the destinations/ });
  assert.deepEqual(server.asked, []);
  assert.equal(await create("10.0.0.3"), "http://10.0.0.3/");
  assert.deepEqual(server.asked, []);
  assert.equal(await create("hooks.test"), "http://hooks.test/");
});

test("does not reveal the addresses of a name", async (t) => {
  const server = await serveNames(t, { "meta.corp.test": ["169.254.169.254", "fd00:ec2:0:0:0:0:0:254"] });
  const { create } = await serviceOf(server, ["*.corp.test"]);
  await assert.rejects(create("meta.corp.test"), (error: Error) => {
    assert.match(error.message, /^meta\.corp\.test resolves to no address that this server may send to/);
    assert.doesNotMatch(`${error.message} ${JSON.stringify(error)}`, /169\.254|ec2/);
    return true;
  });
});

test("limits how many names an entity resolves at a time, and how long each may take", async (t) => {
  const server = await serveNames(t, { "a.slow.test": "silent", "good.test": ["10.0.0.1"] });
  const { clock, create } = await serviceOf(server, ["*.slow.test", "good.test"]);
  const results = Promise.allSettled([1, 2, 3, 4].map(() => create("a.slow.test")));
  await server.came("a.slow.test");
  await assert.rejects(create("good.test"), { code: "overloaded", message: /4 URLs of "team"/ });
  assert.equal(await create("good.test", "other"), "http://good.test/");
  await clock.advance(5000);
  for (const result of await results) {
    assert.equal(result.status, "rejected");
    assert.match(String(result.reason), /a\.slow\.test was not resolved within 5 s/);
  }
  await nextTurn();
  assert.equal(await create("good.test"), "http://good.test/");
});

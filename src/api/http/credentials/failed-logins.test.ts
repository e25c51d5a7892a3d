import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { AuditEntry } from "../../../base/telemetry/audit-log.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { basic, bearer, fakeServer, keys } from "../testing/fake-server.ts";
import { FailedLogins, networkOf } from "./failed-logins.ts";

const path = "/v1/preview/base-models";

async function slowingServer() {
  const clock = new FakeClock();
  const server = await fakeServer({ isOwn: true, clock, settings: { failedLoginsPerMinute: 3 } });
  const ask = (authorization: string, remoteAddress = "10.0.0.1") =>
    server.ask({ method: "GET", url: path, headers: { authorization }, remoteAddress });
  const statuses = async (count: number, ...how: Parameters<typeof ask>): Promise<readonly number[]> => {
    const found: number[] = [];
    for (let index = 0; index < count; index++) found.push((await ask(...how)).statusCode);
    return found;
  };
  return { clock, server, ask, statuses };
}

test("answers further unknown keys from an address with 429 until the minute is over", async () => {
  const { clock, server, ask, statuses } = await slowingServer();
  assert.deepEqual(await statuses(5, bearer("hone_guess")), [401, 401, 401, 429, 429]);
  await clock.advance(20_500);
  const slowed = await ask(bearer("hone_guess"));
  assert.equal(slowed.statusCode, 429);
  assert.equal(slowed.headers["retry-after"], "40");
  assert.match(
    slowed.body,
    /More than 3 unknown keys or invalid tokens came from this address .* Try again in 40 s/,
  );
  await clock.advance(39_499);
  assert.deepEqual(await statuses(1, bearer("hone_guess")), [429]);
  await clock.advance(1);
  assert.deepEqual(await statuses(4, bearer("hone_guess")), [401, 401, 401, 429]);
  await server.close();
});

test("accepts a known key from a slowed address, and slows no other address", async () => {
  const { server, statuses } = await slowingServer();
  await statuses(10, bearer("hone_guess"));
  assert.deepEqual(await statuses(5, bearer(keys.member)), [200, 200, 200, 200, 200]);
  assert.deepEqual(await statuses(1, bearer("hone_guess")), [429]);
  assert.deepEqual(await statuses(1, bearer("hone_guess"), "10.0.0.2"), [401]);
  await server.close();
});

test("counts failures of both schemes together, but not missing credentials or a wrong scheme", async () => {
  const { server, ask, statuses } = await slowingServer();
  for (const wrong of ["", basic(keys.member), "Bearer a b", "Digest x"]) await statuses(4, wrong);
  assert.deepEqual(await statuses(2, bearer("hone_guess")), [401, 401]);
  const feedback = { method: "POST", url: "/feedback/history", remoteAddress: "10.0.0.1" } as const;
  const guess = { ...feedback, headers: { authorization: basic("hone_guess") }, payload: {} };
  assert.equal((await server.ask(guess)).statusCode, 401);
  assert.equal((await server.ask(guess)).statusCode, 429);
  assert.equal((await ask("")).statusCode, 401);
  await server.close();
});

test("counts a revoked key as an unknown key", async () => {
  const { server, statuses } = await slowingServer();
  await server.keyStore.revoke("other", new Date(0));
  assert.deepEqual(await statuses(4, bearer(keys.other)), [401, 401, 401, 429]);
  await server.close();
});

test("writes one audit line a minute for a slowed address, and counts each unknown key in the metrics", async () => {
  const { clock, server, statuses } = await slowingServer();
  await statuses(50, bearer("hone_guess"));
  await clock.advance(60_000);
  await statuses(5, bearer("hone_guess"));
  const said = server.audited.map(({ address, action, outcome }) => `${address} ${action} ${outcome}`);
  const refused = `10.0.0.1 GET ${path} 401`;
  const slowed = "10.0.0.1 failed-logins-slowed 429";
  assert.deepEqual(said, [refused, refused, refused, slowed, refused, refused, refused, slowed]);
  const metrics = (await server.ask({ method: "GET", url: "/metrics" })).body;
  assert.match(metrics, /hone_http_failed_logins_total\{answer="refused"\} 6/);
  assert.match(metrics, /hone_http_failed_logins_total\{answer="slowed"\} 49/);
  await server.close();
});

test("remembers ten thousand addresses, and drops the one whose minute began first", async () => {
  const audited: AuditEntry[] = [];
  const audit = { record: (entry: AuditEntry) => void audited.push(entry) };
  const metrics = createMetrics({ processMetrics: false });
  const logins = new FailedLogins({ clock: new FakeClock(), audit, metrics }, 1);
  const count = (address: string): void => logins.count({ address, requestId: "r" });
  for (let index = 0; index < 10_000; index++)
    count(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
  assert.throws(() => count("10.0.0.0"), { code: "overloaded", retryAfterSeconds: 60 });
  count("11.0.0.0");
  assert.equal(logins.addressCount, 10_000);
  count("10.0.0.0");
  assert.throws(() => count("11.0.0.0"));
  assert.equal(audited.length, 2);
});

test("counts by network: the 64-bit prefix of an IPv6 address, or an IPv4 address in any notation", () => {
  const table = {
    "10.1.2.3": "10.1.2.3",
    "::ffff:10.1.2.3": "10.1.2.3",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2",
    "2001:db8:1:2::9": "2001:db8:1:2",
    "2001:db8::9": "2001:db8:0:0",
    "::1": "0:0:0:0",
    "fe80::1%eth0": "fe80:0:0:0",
  };
  for (const [address, network] of Object.entries(table)) assert.equal(networkOf(address), network, address);
});

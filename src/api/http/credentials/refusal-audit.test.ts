import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { AuditEntry } from "../../../base/telemetry/audit-log.ts";
import { bearer, fakeServer, keys } from "../testing/fake-server.ts";
import { RefusalAudit } from "./refusal-audit.ts";

/**
 * Returns an audit and the lines that it has written, each as action, address and count. The audit writes at most two
 * lines per address and minute.
 */
function bench() {
  const clock = new FakeClock();
  const lines: string[] = [];
  const record = ({ action, address, count }: AuditEntry): void =>
    void lines.push([action, address, count].filter((part) => part !== undefined).join(" "));
  const recordDurably = async (entry: AuditEntry): Promise<void> => record(entry);
  const refusals = new RefusalAudit({ record, recordDurably }, clock, 2);
  const refuse = (address: string): void =>
    void refusals.record({
      time: clock.now(),
      keyId: null,
      entity: null,
      address,
      action: "GET /",
      outcome: "401",
      requestId: "r",
    });
  return { clock, lines, refusals, refuse };
}

test("writes a line for each of an address's first refusals, and one line for the others when the minute is over", async () => {
  const { clock, lines, refuse } = bench();
  for (const address of ["a", "a", "a", "b", "a"]) refuse(address);
  assert.deepEqual(lines, ["GET / a", "GET / a", "GET / b"]);
  await clock.advance(59_999);
  refuse("a");
  assert.equal(lines.length, 3);
  await clock.advance(1);
  assert.deepEqual(lines.splice(3), ["more-refused a 3"]);
  refuse("a");
  assert.deepEqual(lines.splice(3), ["GET / a"]);
  await clock.advance(60_000);
  assert.deepEqual([lines.length, clock.sleepingCount], [3, 0]);
});

test("writes at most a thousand lines a minute for all addresses together", () => {
  const { lines, refuse } = bench();
  for (let index = 0; index < 1001; index++) refuse(`address ${index}`);
  assert.equal(lines.length, 1000);
});

test("writes the line with the counted refusals when the server stops", async () => {
  const clock = new FakeClock();
  const server = await fakeServer({ clock, settings: { failedLoginsPerMinute: 2 } });
  const ask = (authorization: string) =>
    server.ask({ method: "GET", url: "/v1/models", headers: { authorization } });
  for (let index = 0; index < 5; index++) await ask("");
  await ask(bearer(keys.member));
  assert.deepEqual(
    server.audited.map(({ action, count }) => [action, count]),
    [
      ["GET /v1/models", undefined],
      ["GET /v1/models", undefined],
    ],
  );
  await server.close();
  const last = server.audited.at(-1);
  assert.deepEqual(
    [server.audited.length, last?.action, last?.count, last?.outcome],
    [3, "more-refused", 3, "401"],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceOf, serviceOfParts, type Service } from "./lifecycle.ts";
import { ServiceError } from "./service-error.ts";
import { checkService, type ServiceUnderTest } from "./testing/check-service.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const refusal = new ServiceError({ code: "invalid", message: "It cannot start." });

/** Returns a service that takes a while to start and to stop. */
function slow(fails = false): ServiceUnderTest {
  let count = 0;
  const service = serviceOf("slow thing", {
    start: async () => {
      count += 1;
      await turn();
      if (fails) throw refusal;
    },
    stop: async () => {
      await turn();
      count = Math.max(0, count - 1);
    },
  });
  return { service, upCount: () => count };
}

/** Returns a service that consists of several slow services. */
function composed(fails = false): ServiceUnderTest {
  const parts = [slow(), slow(fails), slow()];
  const service = serviceOfParts("whole", async (start) => {
    for (const part of parts) await start(part.service);
  });
  const upCount = (): number => Math.max(...parts.map((part) => Number(part.upCount())));
  return { service, upCount };
}

checkService({ name: "one life", make: () => slow(), failing: { code: "invalid", make: () => slow(true) } });
checkService({
  name: "parts",
  make: () => composed(),
  failing: { code: "invalid", make: () => composed(true) },
});

test("a service needs neither a start nor a stop", async () => {
  const service = serviceOf("nothing", {});
  await service.start();
  await service.stop();
});

/** Returns a service that logs its starts and stops, or fails to start or stop. */
function recorded(log: string[], name: string, life: { failsTo?: "start" | "stop" } = {}): Service {
  const act = async (what: "start" | "stop"): Promise<void> => {
    log.push(`${what} ${name}`);
    await turn();
    if (life.failsTo === what)
      throw new ServiceError({ code: "invalid", message: `${name} fails to ${what}` });
  };
  return serviceOf(name, { start: () => act("start"), stop: () => act("stop") });
}

test("starts parts in order, stops them in reverse, and leaves out those that never started", async () => {
  const log: string[] = [];
  const parts = [recorded(log, "a"), recorded(log, "b", { failsTo: "start" }), recorded(log, "c")];
  const service = serviceOfParts("whole", async (start) => {
    for (const part of parts) await start(part);
  });
  await assert.rejects(service.start(), /b fails to start/);
  await service.stop();
  assert.deepEqual(log, ["start a", "start b", "stop b", "stop a"]);
});

test("stops a part that comes too late to start", async () => {
  let isOpen = true;
  const late = serviceOf("file", { start: () => assert.fail(), stop: async () => void (isOpen = false) });
  const whole = serviceOfParts("whole", async (start) => {
    await turn();
    await start(late);
  });
  const started = assert.rejects(whole.start(), { code: "unavailable" });
  await whole.stop();
  await started;
  assert.equal(isOpen, false);
});

test("stops the other parts if one fails to stop", async () => {
  const log: string[] = [];
  const parts = [recorded(log, "a"), recorded(log, "b", { failsTo: "stop" }), recorded(log, "c")];
  const service = serviceOfParts("whole", async (start) => {
    for (const part of parts) await start(part);
  });
  await service.start();
  await assert.rejects(service.stop(), /b fails to stop/);
  assert.deepEqual(log.slice(3), ["stop c", "stop b", "stop a"]);
});

test("a stop does not wait for a hanging start, which learns of the stop by its signal", async () => {
  const endless = serviceOf("endless thing", {
    start: (signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  });
  const whole = serviceOfParts("whole", (start) => start(endless));
  const started = assert.rejects(whole.start(), {
    message: "The endless thing was stopped while it started.",
  });
  await turn();
  await whole.stop();
  await started;
});

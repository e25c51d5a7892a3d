// Real processes that do very little: they start, answer, become silent, and end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "../domain/clock.ts";
import { FakeClock } from "../domain/testing/fake-clock.ts";
import { ServiceError } from "../domain/service-error.ts";
import { startAhead, startChild, type Child, type ChildOptions } from "./child.ts";
import type { SmallProtocol } from "./testing/small-child.ts";

type Event = SmallProtocol["event"];

const children: Child<SmallProtocol>[] = [];
after(() => Promise.all(children.map((child) => child.kill())));

interface Given extends Partial<SmallProtocol["load"]>, Partial<ChildOptions<SmallProtocol>> {
  readonly signal?: AbortSignal;
}

async function start(given: Given = {}): Promise<Child<SmallProtocol>> {
  const { start: how = "ready", stop = "at once", signal = new AbortController().signal, ...rest } = given;
  const child = await startChild<SmallProtocol>(
    {
      module: new URL("./testing/small-child.js", import.meta.url),
      name: "small process",
      load: { start: how, stop },
      clock: systemClock,
      startDeadlineMs: 60_000,
      silenceDeadlineMs: 60_000,
      onEvent: () => undefined,
      ...rest,
    },
    { signal },
  );
  children.push(child);
  return child;
}

/** Waits until this many sleeps are pending on the clock. Before that, no deadline is running. */
async function sleepers(clock: FakeClock, count: number): Promise<void> {
  while (clock.sleepingCount !== count) await new Promise((resolve) => setImmediate(resolve));
}

test("is ready with an answer, takes requests and emits events", async () => {
  let onEvent: (event: Event) => void = () => undefined;
  const echoed = new Promise<Event>((resolve) => (onEvent = resolve));
  const child = await start({ onEvent });
  assert.equal(child.ready.greeting, "hello");
  assert.equal(typeof child.id, "number");
  child.setWorking(true);
  child.send({ kind: "echo", text: Uint8Array.of(1, 2) });
  assert.deepEqual(await echoed, { echo: Uint8Array.of(1, 2) });
});

test("reuses a process started ahead only for the next start of its module", async () => {
  const module = new URL("./testing/small-child.js?ahead", import.meta.url);
  const started = startAhead(module);
  const [first, second] = [await start({ module }), await start({ module })];
  assert.equal(first.id, started.pid);
  assert.notEqual(second.id, started.pid);
  assert.equal(first.ready.greeting, "hello");
});

test("prefers the process started ahead whose hint matches the load", async () => {
  const module = new URL("./testing/small-child.js?hints", import.meta.url);
  const [one, other] = [startAhead(module, { model: "one" }), startAhead(module, { model: "other" })];
  const taken = await start({ module, hint: { model: "other" } });
  assert.deepEqual([taken.id, taken.ready.hint], [other.pid, { model: "other" }]);
  const left = await start({ module, hint: { model: "third" } });
  assert.deepEqual([left.id, left.ready.hint], [one.pid, { model: "one" }], "else any");
});

test("starts without the supplement and waits for it to be ready; a failed supplement fails the start", async () => {
  const child = await start({ start: "supplemented", supplement: Promise.resolve("late") });
  assert.equal(child.ready.greeting, "late");
  const supplement = Promise.reject(new ServiceError({ code: "unsupported", message: "No such thing." }));
  await assert.rejects(start({ start: "supplemented", supplement }), { code: "unsupported" });
});

test("replaces a process started ahead that has ended", async () => {
  const module = new URL("./testing/small-child.js?ended", import.meta.url);
  const started = startAhead(module);
  const ended = once(started, "close");
  started.stderr?.resume();
  started.ref();
  started.kill("SIGKILL");
  await ended;
  assert.equal((await start({ module })).ready.greeting, "hello");
});

test("explains a failed start and leaves no process", async () => {
  const check = async (how: SmallProtocol["load"]["start"], code: string, message: RegExp): Promise<void> => {
    await assert.rejects(start({ start: how }), (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  };
  await check("refuse", "unsupported", /^Not this one\.$/);
  await check("break", "internal", /^The process could not load its input; the log says why\.$/);
  await check("die", "unavailable", /^The small process ended with code 3 while it started\.$/);
  await assert.rejects(start({ start: "break" }), (error) => {
    assert.ok(error instanceof ServiceError && error.cause instanceof Error);
    assert.match(error.cause.stack ?? "", /a secret of the implementation/);
    return true;
  });
});

test("gives up a start after its deadline, or when its signal aborts", async () => {
  const clock = new FakeClock();
  const late = assert.rejects(start({ start: "hang", clock, startDeadlineMs: 1000 }), {
    code: "timeout",
    message: "The small process was not ready within 1000 ms.",
  });
  await sleepers(clock, 1);
  await clock.advance(1000);
  await late;

  const controller = new AbortController();
  const aborted = assert.rejects(start({ start: "hang", clock, signal: controller.signal }), /enough/);
  await sleepers(clock, 1);
  controller.abort(new Error("enough"));
  await aborted;
  await assert.rejects(start({ signal: controller.signal }), /enough/);
  assert.equal(clock.sleepingCount, 0);
});

test("reports with the heap's size that a process ran out of memory", async (t) => {
  const before = process.env["NODE_OPTIONS"];
  process.env["NODE_OPTIONS"] = "--max-old-space-size=30";
  t.after(() => {
    if (before === undefined) delete process.env["NODE_OPTIONS"];
    else process.env["NODE_OPTIONS"] = before;
  });
  const child = await start();
  child.setWorking(true);
  assert.equal(child.ranOutOfMemory, false);
  child.send({ kind: "exhaust" });
  assert.match(
    await child.exited,
    /^ran out of memory \(its JavaScript heap, full at \d\d MB\) and was ended by SIGABRT$/,
  );
  assert.equal(child.ranOutOfMemory, true);
});

test("describes a death once", async () => {
  const one = await start();
  one.setWorking(true);
  one.send({ kind: "die" });
  assert.equal(await one.exited, "ended with code 4");
  const other = await start();
  other.setWorking(true);
  process.kill(other.id ?? 0, "SIGKILL");
  assert.equal(await other.exited, "was ended by SIGKILL");
  assert.equal(other.id, null);
  // All calls to a dead process succeed without an error.
  other.send({ kind: "die" });
  other.setWorking(true);
  await Promise.all([other.kill(), other.stop(1000)]);
});

test("kills a process with work that is silent beyond the deadline, but none without work", async () => {
  const clock = new FakeClock();
  let onEvent: () => void = () => undefined;
  const child = await start({ clock, silenceDeadlineMs: 1000, onEvent: () => onEvent() });
  const echo = async (): Promise<void> => {
    const echoed = new Promise<void>((resolve) => (onEvent = resolve));
    child.setWorking(true);
    child.send({ kind: "echo", text: Uint8Array.of() });
    await Promise.race([echoed, child.exited.then((how) => assert.fail(how))]);
  };
  await clock.advance(5000);
  child.setWorking(true);
  await clock.advance(600);
  await echo();
  await clock.advance(999);
  await echo();
  child.setWorking(false);
  assert.equal(clock.sleepingCount, 0);
  await clock.advance(5000);
  await echo();
  await clock.advance(1000);
  assert.equal(await child.exited, "was silent for 1000 ms while it had work, and was ended");
});

test("ends on request after its last event, and all stops wait for the same end", async () => {
  const events: Event[] = [];
  const child = await start({ onEvent: (event) => events.push(event) });
  await Promise.all([child.stop(60_000), child.stop(60_000)]);
  assert.deepEqual(events, [{ farewell: 1 }, { farewell: 2 }, { farewell: 3 }]);
  assert.equal(await child.exited, "ended with code 0");
  await child.stop(60_000);
});

test("kills a process that does not end in time", async () => {
  const clock = new FakeClock();
  const child = await start({ clock, stop: "never" });
  const stopped = child.stop(1000);
  await sleepers(clock, 1);
  await clock.advance(1000);
  await stopped;
  assert.equal(await child.exited, "did not end within 1000 ms, and was ended");
});

for (const [title, mode] of [
  ["ends when its parent is killed", "stay"],
  ["does not keep a parent alive that has no work for it", "leave"],
  ["does not keep a parent alive that started it ahead", "leave one ahead"],
] as const) {
  test(title, async () => {
    const script = fileURLToPath(new URL("./testing/orphan-parent.js", import.meta.url));
    const parent = spawn(process.execPath, [script, mode], { stdio: ["ignore", "pipe", "pipe"] });
    const closed = once(parent, "close");
    await once(parent.stdout, "data");
    if (mode === "stay") parent.kill("SIGKILL");
    // The grandchild inherits standard error, which therefore closes only when both processes are gone.
    await closed;
  });
}

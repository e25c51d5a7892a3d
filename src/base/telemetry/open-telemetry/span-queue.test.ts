// Spans on their way: batches, a queue of bounded length, and what becomes of those that do not come through.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { FakeClock } from "../../domain/testing/fake-clock.ts";
import { createMetrics } from "../metrics.ts";
import { silentLogger } from "../testing/silent-logger.ts";
import { sendingWatches } from "./sending-watch.ts";
import { SpanQueue } from "./span-queue.ts";

/** Of a span the queue looks at nothing else. */
const span = (traceFlags = 1): ReadableSpan =>
  ({ spanContext: () => ({ traceFlags, traceId: "", spanId: "" }) }) as unknown as ReadableSpan;

type Done = Parameters<SpanExporter["export"]>[1];

/** A queue of at most 5 spans, in batches of 2, to an exporter whose answers the test gives. */
function opened(onExport: (count: number) => void = () => undefined) {
  let exportCount = 0;
  const clock = new FakeClock();
  const metrics = createMetrics({ processMetrics: false });
  const lines: string[] = [];
  const logger = {
    ...silentLogger,
    warn: (_: object, message: string) => void lines.push(`warn ${message}`),
    info: (fields: object, message: string) => void lines.push(`info ${message} ${JSON.stringify(fields)}`),
  };
  const watch = sendingWatches(
    { metrics, logger },
    { traces: "http://u:p@c:1/v1?key=k", metrics: null },
  ).traces;
  const exports: { readonly count: number; readonly done: Done }[] = [];
  const exporter = {
    export: (spans: ReadableSpan[], done: Done) => {
      exportCount += 1;
      onExport(exportCount);
      exports.push({ count: spans.length, done });
    },
    shutdown: async () => undefined,
  };
  const settings = { countMax: 5, batchMax: 2, delayMs: 1000 };
  const queue = new SpanQueue({ exporter, settings, clock, watch });
  const lost = async (): Promise<readonly string[]> =>
    [...(await metrics.expose()).text.matchAll(/signal="traces",reason="(.*)"\} ([1-9]\d*)/g)].map(
      ([, reason, count]) => `${count} ${reason}`,
    );
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { queue, clock, exports, lines, lost, settle };
}

test("few spans wait for others, a batch goes at once, and one batch is on its way at a time", async () => {
  const { queue, clock, exports, settle } = opened();
  queue.onEnd(span());
  await settle();
  assert.equal(exports.length, 0);
  await clock.advance(1000);
  await settle();
  assert.deepEqual(
    exports.map(({ count }) => count),
    [1],
  );
  for (let index = 0; index < 4; index++) queue.onEnd(span());
  await settle();
  assert.deepEqual([exports.length, queue.length], [1, 4]);
  exports[0]?.done({ code: 0 });
  await settle();
  assert.deepEqual(
    exports.map(({ count }) => count),
    [1, 2],
  );
  exports[1]?.done({ code: 0 });
  await settle();
  exports[2]?.done({ code: 0 });
  await queue.forceFlush();
  assert.deepEqual([exports.map(({ count }) => count), queue.length], [[1, 2, 2], 0]);
});

test("what finds no room is lost and counted, and so is what is not taken; the log says each change once", async () => {
  const { queue, exports, lines, lost, settle } = opened();
  for (let index = 0; index < 2; index++) queue.onEnd(span());
  await settle();
  for (let index = 0; index < 9; index++) queue.onEnd(span());
  assert.deepEqual([queue.length, await lost()], [5, ["4 queue full"]]);
  for (let batch = 0; batch < 2; batch++) {
    exports[batch]?.done({ code: 1, error: new Error("away") });
    await settle();
  }
  assert.deepEqual(await lost(), ["4 queue full", "4 not taken"]);
  exports[2]?.done({ code: 0 });
  await settle();
  assert.deepEqual(lines, [
    "warn telemetry cannot be sent; what does not fit in the queue is lost",
    'info telemetry is sent again {"signal":"traces","url":"http://c:1/v1","lostCount":8}',
  ]);
});

test("an exporter that throws loses its batch, and the next one goes", async () => {
  const { queue, exports, lost, settle } = opened((count) => {
    if (count === 1) throw new Error("it cannot be written");
  });
  for (let index = 0; index < 4; index++) queue.onEnd(span());
  await settle();
  exports[0]?.done({ code: 0 });
  await queue.forceFlush();
  assert.deepEqual([exports.length, await lost()], [1, ["2 not taken"]]);
});

test("what nobody sampled is not sent", async () => {
  const { queue } = opened();
  queue.onEnd(span(0));
  assert.equal(queue.length, 0);
});

test("a shutdown sends what waits, and what comes later or is abandoned is counted", async () => {
  const { queue, exports, lost, settle } = opened();
  for (let index = 0; index < 5; index++) queue.onEnd(span());
  const over = queue.shutdown();
  queue.onEnd(span());
  await settle();
  exports[0]?.done({ code: 0 });
  await settle();
  assert.equal(queue.length, 1);
  queue.abandon();
  exports[1]?.done({ code: 0 });
  await over;
  assert.deepEqual(
    [exports.map(({ count }) => count), await lost()],
    [
      [2, 2],
      ["1 queue full", "1 stopped"],
    ],
  );
});

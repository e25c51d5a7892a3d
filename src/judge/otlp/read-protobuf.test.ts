// Values of each type, malformed spans, and refused bodies. Other tests decode the exports of real libraries.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryWriter, WireType } from "../../lib/protobuf/wire.ts";
import { readProtobuf } from "./read-protobuf.ts";
import { readSpans } from "./read-spans.ts";

const limits = { depthMax: 64, valuesMax: 1000 };

/** Returns a message with one length-delimited field. */
function wrapped(field: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(content).finish();
}

const ids = [Buffer.alloc(16, 0xab), Buffer.alloc(8, 0xcd)];

/** Returns a request with one span. The span has an attribute with this value. */
function requestWith(value: Uint8Array): Uint8Array {
  const attribute = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .string("a")
    .tag(2, WireType.LengthDelimited)
    .bytes(value)
    .finish();
  const span = new BinaryWriter()
    .tag(1, WireType.LengthDelimited)
    .bytes(ids[0])
    .tag(2, WireType.LengthDelimited)
    .bytes(ids[1])
    .tag(5, WireType.LengthDelimited)
    .string("s")
    .tag(7, WireType.Bit64)
    .fixed64("1795998899815000000")
    .tag(8, WireType.Bit64)
    .fixed64("1795998899815000001")
    .tag(9, WireType.LengthDelimited)
    .bytes(attribute)
    .finish();
  return wrapped(1, wrapped(2, wrapped(2, span)));
}

test("decodes every type of attribute value", () => {
  const valueOf = (bytes: Uint8Array) =>
    readSpans(readProtobuf(requestWith(bytes), limits)).spans[0].attributes["a"];
  assert.equal(valueOf(new BinaryWriter().tag(3, WireType.Varint).int64(-5).finish()), -5);
  assert.equal(
    valueOf(new BinaryWriter().tag(3, WireType.Varint).int64("9007199254740993").finish()),
    "9007199254740993",
  );
  assert.equal(valueOf(new BinaryWriter().tag(4, WireType.Bit64).double(0.5).finish()), 0.5);
  assert.equal(valueOf(new BinaryWriter().tag(2, WireType.Varint).bool(true).finish()), true);
  assert.equal(valueOf(wrapped(7, Buffer.from("hi"))), "aGk=");
  assert.deepEqual(valueOf(wrapped(5, wrapped(1, wrapped(1, Buffer.from("x"))))), ["x"]);
  const { traceId, id, startNanos, endNanos } = readSpans(readProtobuf(requestWith(Buffer.alloc(0)), limits))
    .spans[0];
  assert.deepEqual([traceId, id], ["ab".repeat(16), "cd".repeat(8)]);
  assert.deepEqual([startNanos, endNanos], [1795998899815000000n, 1795998899815000001n]);
});

test("refuses bytes that are no message, and messages beyond the limits", () => {
  const refused = (bytes: Uint8Array, message: RegExp) =>
    assert.throws(() => readProtobuf(bytes, limits), { code: "invalid", message });
  refused(Buffer.from("not protobuf"), /not an OTLP message/);
  const whole = requestWith(wrapped(1, Buffer.from("text")));
  for (let length = 1; length < whole.length; length++)
    refused(whole.subarray(0, length), /not an OTLP message/);
  let deep: Uint8Array = Buffer.alloc(0);
  for (let depth = 0; depth < 100; depth++) deep = wrapped(5, wrapped(1, deep));
  refused(requestWith(deep), /at most 64 levels/);
  refused(
    Buffer.concat(Array.from({ length: 1001 }, () => wrapped(1, Buffer.alloc(0)))),
    /more than 1000 values/,
  );
});

test("leaves out malformed spans with the reason, and keeps the others", () => {
  const good = {
    traceId: "AB".repeat(16),
    spanId: "cd".repeat(8),
    name: "s",
    startTimeUnixNano: "1",
    endTimeUnixNano: 2,
    status: { code: 2 },
  };
  const spans = [
    good,
    { ...good, traceId: "0".repeat(32) },
    { ...good, spanId: "xy" },
    { ...good, name: null },
    { ...good, startTimeUnixNano: "soon" },
    { ...good, attributes: Array.from({ length: 10_001 }, () => ({ key: "a" })) },
  ];
  const read = readSpans({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  assert.deepEqual(
    read.spans.map(({ traceId, error }) => [traceId, error]),
    [["ab".repeat(16), "The span failed without a message."]],
  );
  assert.deepEqual(
    read.rejected.map((reason) => reason.split(" ", 1)[0]),
    ["traceId", "spanId", "name", "startTimeUnixNano", "attributes"],
  );
  assert.throws(() => readSpans({ resourceSpans: {} }), {
    code: "invalid",
    message: /resourceSpans must be a list/,
  });
});
